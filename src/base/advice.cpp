#include "zeroloss/base/advice.hpp"

#include <string_view>

namespace zeroloss {
namespace {

constexpr const char* kNameLetters = "abcdefghijklmnopqrstuvwxyz_0123456789";

/// Whether the text between two backticks is advice.
bool parse(std::string_view text, Advice& advice) {
  const std::string_view name = text.substr(0, text.find_first_not_of(kNameLetters));
  std::string_view rest = text.substr(name.size());
  advice = {std::string(name), "", rest.starts_with('(')};
  if (name.empty() || (advice.call && !rest.ends_with(')'))) return false;
  if (!rest.empty() && !advice.call && !rest.starts_with('=')) return false;
  if (advice.call) rest.remove_suffix(1);
  if (!rest.empty()) advice.value = rest.substr(1);
  return true;
}

}  // namespace

std::string advised(const std::string& message, const std::function<std::string(const Advice&)>& word) {
  std::string said;
  std::size_t done = 0;
  for (std::size_t open = message.find('`'); open != std::string::npos; open = message.find('`', open)) {
    const std::size_t close = message.find('`', open + 1);
    if (close == std::string::npos) break;
    if (Advice advice; parse(std::string_view(message).substr(open + 1, close - open - 1), advice)) {
      said += message.substr(done, open - done) + word(advice);
      done = open = close + 1;
    } else {
      open = close;
    }
  }
  return said + message.substr(done);
}

}  // namespace zeroloss
