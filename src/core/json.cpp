#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "zeroloss/core/parse.hpp"
#include "zeroloss/core/text.hpp"

namespace zeroloss::internal {

using Native = nlohmann::ordered_json;

/// The other library writes and parses; it is in no header, for it takes long to compile.
struct Written {
  template <class T>
  static Native native(const T& value) {
    return value;
  }
  static Native native(const Json::Array& items) {
    Native array = Native::array();
    for (const Json& item : items) array.push_back(native(item));
    return array;
  }
  static Native native(const Json::Object& members) {
    Native object = Native::object();
    auto& all = object.get_ref<Native::object_t&>();
    for (const auto& [key, value] : members)
      all.Native::object_t::Container::emplace_back(key, native(value));
    return object;
  }
  static Native native(const Json& json) {
    return std::visit([](const auto& value) { return native(value); }, json.value_);
  }
};

namespace {

/// Where reading ended, at a byte that is counted from 1, and what stands there.
std::string not_json(std::string_view text, std::size_t byte) {
  if (byte == 0 || byte > text.size()) return "not JSON: it ends too early";
  const std::string_view before = text.substr(0, byte - 1);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t column = byte - (before.rfind('\n') + 1);  // npos + 1 is 0
  return fmt::format("not JSON: line {}, column {}: '{}' is not expected", line, column,
                     excerpt(text.substr(byte - 1, 20)));
}

[[noreturn]] void expected(const char* what) { throw JsonError(std::string("expected ") + what); }

/// Builds a value from what the other library's parser comes upon.
class Reader {
 public:
  Reader(std::string_view text, int deepest) : text_(text), deepest_(static_cast<std::size_t>(deepest)) {}
  Json value() && { return std::move(value_); }

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  /// Its own value, and the point in `digits`, are of the locale that the program is in.
  bool number_float(double, std::string digits) {
    const std::size_t point = digits.find_first_not_of("+-0123456789eE");
    if (point != std::string::npos) digits[point] = '.';
    const double value = parsed_number(digits).value();
    if (!std::isfinite(value)) too_large();
    return add(value);
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Native::binary_t&) { return false; }  // is never in text
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool start_object(std::size_t) { return start(true); }
  bool start_array(std::size_t) { return start(false); }
  bool end_object() {
    Json::Object members = std::move(open_.back().members);
    std::vector<std::string_view> names;
    for (const auto& [name, value] : members) names.emplace_back(name);
    std::ranges::sort(names);
    if (const auto same = std::ranges::adjacent_find(names); same != names.end())
      throw JsonError("'" + excerpt(*same) + "' occurs twice");
    open_.pop_back();
    return add(std::move(members));
  }
  bool end_array() {
    Json::Array items = std::move(open_.back().items);
    open_.pop_back();
    return add(std::move(items));
  }
  bool parse_error(std::size_t, const std::string&, const Native::exception& error) const {
    if (const auto* place = dynamic_cast<const Native::parse_error*>(&error))
      throw JsonError(not_json(text_, place->byte));
    too_large();
  }

 private:
  struct Open {
    bool object = false;
    Json::Object members{};
    Json::Array items{};
    std::string key{};  // of the value to come
  };

  [[noreturn]] static void too_large() { throw JsonError("not JSON: a number that is too large"); }
  void check_depth() const {
    if (open_.size() > deepest_) throw JsonError("nested too deep");
  }
  bool start(bool object) {
    check_depth();
    open_.push_back({.object = object});
    return true;
  }
  bool add(Json value) {
    check_depth();
    if (open_.empty())
      value_ = std::move(value);
    else if (open_.back().object)
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    else
      open_.back().items.push_back(std::move(value));
    return true;
  }

  std::string_view text_;
  std::size_t deepest_;
  std::vector<Open> open_;
  Json value_;
};

}  // namespace

Json::Json(std::initializer_list<Json> values) {
  const auto is_member = [](const Json& value) {
    const auto* pair = std::get_if<Array>(&value.value_);
    return pair != nullptr && pair->size() == 2 && pair->front().is_text();
  };
  if (!std::ranges::all_of(values, is_member)) {
    value_ = Array(values);
    return;
  }
  Object members;
  for (const Json& value : values) {
    const Array& pair = std::get<Array>(value.value_);
    members.emplace_back(std::get<std::string>(pair[0].value_), pair[1]);
  }
  value_ = std::move(members);
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object();
  auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) expected("an object");
  const auto found = std::ranges::find(*members, key, &Object::value_type::first);
  return found != members->end() ? found->second : members->emplace_back(std::string(key), Json()).second;
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  auto* items = std::get_if<Array>(&value_);
  if (items == nullptr) expected("an array");
  items->push_back(std::move(value));
}

std::string Json::dump(int indent) const {
  return Written::native(*this).dump(indent, ' ', false, Native::error_handler_t::replace);
}

Json Json::parse(std::string_view text, int deepest) {
  Reader reader(text, deepest);
  Native::sax_parse(text, &reader);
  return std::move(reader).value();
}

const Json::Array& Json::items() const& {
  if (!is_array()) expected("a list");
  return std::get<Array>(value_);
}

const Json::Object& Json::members() const& {
  if (!is_object()) expected("an object");
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view key) const {
  const auto found = std::ranges::find(members(), key, &Object::value_type::first);
  return found == members().end() ? nullptr : &found->second;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* value = find(key)) return *value;
  throw JsonError("no '" + std::string(key) + "'");
}

template <>
bool Json::as<bool>() const {
  if (!std::holds_alternative<bool>(value_)) expected("true or false");
  return std::get<bool>(value_);
}

template <>
std::uint64_t Json::as<std::uint64_t>() const {
  if (!std::holds_alternative<std::uint64_t>(value_)) expected("a whole number >= 0");
  return std::get<std::uint64_t>(value_);
}

template <>
std::int64_t Json::as<std::int64_t>() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  const auto* value = std::get_if<std::uint64_t>(&value_);
  if (value == nullptr || *value > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    expected("a whole number");
  return static_cast<std::int64_t>(*value);
}

template <>
int Json::as<int>() const {
  const auto value = as<std::int64_t>();
  if (value != static_cast<int>(value)) expected("a small whole number");
  return static_cast<int>(value);
}

template <>
double Json::as<double>() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  expected("a number");
}

template <>
std::string Json::as<std::string>() const {
  if (!is_text()) expected("text");
  return std::get<std::string>(value_);
}

}  // namespace zeroloss::internal
