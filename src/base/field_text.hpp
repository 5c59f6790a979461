#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "zeroloss/base/fields.hpp"

/// Values of fields as text: of identities, tables and command lines.
namespace zeroloss::internal {

template <class T>
inline constexpr bool kHasText = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;

/// Numbers with all their digits, true or false, text as it is.
template <class T>
requires kHasText<T> std::string text_of(const T& value) { return fmt::format("{}", value); }

inline std::string text_of(const std::filesystem::path& value) { return value.string(); }

template <class T>
requires kHasText<T> std::string text_of(const std::vector<T>& values, const char* between = ",") {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? between : "") + text_of(values[i]);
  return text;
}

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "";
}

/// A field as the command line has it: {"--max-steps", "10"}, {"--no-center"}.
template <class Value>
std::vector<std::string> flag_words(const Field& field, const Value& value) {
  std::string flag = field.name;
  std::ranges::replace(flag, '_', '-');
  if constexpr (std::is_same_v<Value, bool>)
    return {(value ? "--" : "--no-") + flag};
  else
    return {"--" + flag, text_of(value)};
}

/// A table's line of names, and a line of values; lists have no place in it. What is not known is empty.
template <class T>
std::string csv_names(const T& record) {
  std::string line;
  fields(record, [&]<class Value>(const Field& field, const Value&) {
    if constexpr (!requires(const Value& v) { v.begin(); } || std::is_same_v<Value, std::string>)
      line += fmt::format("{}{}", line.empty() ? "" : ",", field.name);
  });
  return line;
}

template <class T>
std::string csv_values(const T& record) {
  std::string line;
  bool first = true;
  fields(record, [&]<class Value>(const Field& field, const Value& value) {
    if constexpr (!requires(const Value& v) { v.begin(); } || std::is_same_v<Value, std::string>)
      line +=
          fmt::format("{}{}", std::exchange(first, false) ? "" : ",", field.has_value ? text_of(value) : "");
  });
  return line;
}

}  // namespace zeroloss::internal
