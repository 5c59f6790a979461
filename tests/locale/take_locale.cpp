// Preloaded, it gives a program the locale of ZEROLOSS_TEST_LOCALE, for C and for C++, before main: so does a
// host that embeds the library, as Qt does. Messages of the system stay English. Where
// ZEROLOSS_TEST_LOCALE_OF is set only programs whose name begins with it take the locale.
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale>

namespace {

const bool taken = [] {
  const char* name = std::getenv("ZEROLOSS_TEST_LOCALE");
  const char* of = std::getenv("ZEROLOSS_TEST_LOCALE_OF");
  if (name == nullptr ||
      (of != nullptr && std::strncmp(program_invocation_short_name, of, std::strlen(of)) != 0))
    return false;
  if (std::setlocale(LC_ALL, name) == nullptr) {
    std::fprintf(stderr, "there is no locale %s\n", name);
    std::_Exit(77);
  }
  std::locale::global(std::locale(name));
  std::setlocale(LC_MESSAGES, "C");
  return true;
}();

}  // namespace
