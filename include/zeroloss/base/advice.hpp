#pragma once
#include <functional>
#include <string>

namespace zeroloss {

/// What a message advises, between backticks: `name` or `name=value` is an option by its name in C++,
/// `name(value)` a call. Programs over the library say it in words of their own: a flag, a keyword.
struct Advice {
  std::string name, value;
  bool call = false;
};

/// The message with every piece of advice as `word` puts it. Backticks around anything else stay.
std::string advised(const std::string& message, const std::function<std::string(const Advice&)>& word);

}  // namespace zeroloss
