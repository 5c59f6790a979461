// Preloaded, it gives a program the locale of ZEROLOSS_TEST_LOCALE, for C and for C++, before main: so does a
// host that embeds the library, as Qt does.
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <locale>

namespace {

const bool taken = [] {
  const char* name = std::getenv("ZEROLOSS_TEST_LOCALE");
  if (name == nullptr) return false;
  if (std::setlocale(LC_ALL, name) == nullptr) {
    std::fprintf(stderr, "there is no locale %s\n", name);
    std::_Exit(77);
  }
  std::locale::global(std::locale(name));
  return true;
}();

}  // namespace
