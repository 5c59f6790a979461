#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/text.hpp"

/// Options whose texts are a few words, which their fields know (Field::of).
namespace zeroloss::internal {

/// Whether `value` stands between the bars of "auto|weights|gram".
inline bool is_choice(std::string_view choices, std::string_view value) {
  while (true) {
    const auto bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

/// Throws std::invalid_argument, as `function`, for the first option that is none of its field's choices.
template <class S>
void check_choices(const char* function, const S& options) {
  fields(options, [&]<class Value>(const Field& field, const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
      if (*field.choices == '\0' || is_choice(field.choices, value)) return;
      std::string all;
      for (const char* c = field.choices; *c != '\0'; ++c) all += *c == '|' ? ", " : std::string(1, *c);
      throw std::invalid_argument(
          fmt::format("{}: {} must be one of {}; got \"{}\"", function, field.name, all, excerpt(value)));
    }
  });
}

}  // namespace zeroloss::internal
