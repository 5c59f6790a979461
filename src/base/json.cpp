#include "base/json.hpp"

#include <fmt/format.h>
#include <locale.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {

using Native = nlohmann::ordered_json;

/// The other library writes and reads; it is in no header, for it takes long to compile.
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

  static Json own(Native& native) {
    if (native.is_object()) {
      Json::Object members;
      for (auto& [key, value] : native.get_ref<Native::object_t&>()) members.emplace_back(key, own(value));
      return Json(std::move(members));
    }
    if (native.is_array()) {
      Json::Array items;
      for (Native& item : native) items.push_back(own(item));
      return Json(std::move(items));
    }
    if (native.is_string()) return Json(std::move(native.get_ref<std::string&>()));
    if (native.is_boolean()) return Json(native.get<bool>());
    if (native.is_number_float()) return Json(native.get<double>());
    if (native.is_number_unsigned()) return Json(native.get<std::uint64_t>());
    if (native.is_number_integer()) return Json(native.get<std::int64_t>());
    return {};
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

/// The other library reads numbers as the locale has them: that of this thread is "C" meanwhile.
class CLocale {
 public:
  CLocale() : c_(newlocale(LC_ALL_MASK, "C", nullptr)), before_(uselocale(c_)) {}
  ~CLocale() {
    uselocale(before_);
    freelocale(c_);
  }
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  locale_t c_, before_;
};

[[noreturn]] void expected(const char* what) { throw JsonError(std::string("expected ") + what); }

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
  std::vector<std::vector<std::string>> names;  // of the objects that are open
  const auto watch = [&](int depth, Native::parse_event_t event, const Native& value) {
    using Event = Native::parse_event_t;
    if (depth > deepest) throw JsonError("nested too deep");
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::key) names.back().push_back(value.get<std::string>());
    if (event != Event::object_end) return true;
    std::ranges::sort(names.back());
    if (const auto same = std::ranges::adjacent_find(names.back()); same != names.back().end())
      throw JsonError("'" + excerpt(*same) + "' occurs twice");
    names.pop_back();
    return true;
  };
  try {
    const CLocale here;
    Native native = Native::parse(text, watch);
    return Written::own(native);
  } catch (const Native::parse_error& error) {
    throw JsonError(not_json(text, error.byte));
  } catch (const Native::exception&) {
    throw JsonError("not JSON: a number that is too large");
  }
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
