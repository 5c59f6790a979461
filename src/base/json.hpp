#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// JSON values: built, written, parsed and read.
namespace zeroloss::internal {

/// What is not JSON, or not the JSON that was expected.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// null, a truth value, a number, text, an array or an object, whose keys keep their order. A list of pairs
/// that begin with text is an object, any other list an array: Json{{"x", 1}, {"y", {2, 3}}}.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(std::nullptr_t) {}
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(static_cast<std::uint64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  template <class T>
  Json(const std::optional<T>& value) {
    if (value) *this = Json(*value);
  }
  template <class T>
  Json(const std::vector<T>& values) : value_(Array(values.begin(), values.end())) {}
  Json(Array values) : value_(std::move(values)) {}
  Json(Object values) : value_(std::move(values)) {}
  Json(std::initializer_list<Json> values);

  static Json array(std::initializer_list<Json> values = {}) { return Json(Array(values)); }
  static Json object() { return Json(Object()); }

  /// The value of a key, null where there was none; null becomes an object.
  Json& operator[](std::string_view key);
  /// At the end of an array; null becomes one.
  void push_back(Json value);

  /// With a key or an item a line, indented by so many spaces, or in one line. Doubles have as many digits as
  /// it takes to read them back; what is not finite is null. Bytes that are not UTF-8 are replaced.
  std::string dump(int indent = -1) const;

  /// Throws JsonError: not JSON, a key that occurs twice in an object, nested more than `deepest` deep.
  static Json parse(std::string_view text, int deepest = 1000);

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }

  /// Below: JsonError where the value is of another kind, or has no such key.
  const Array& items() const&;
  const Object& members() const&;
  Array items() && { return items(); }  ///< of a passing value: a loop over it may go on
  Object members() && { return members(); }
  const Json* find(std::string_view key) const;  ///< null if an object has no such key
  const Json& at(std::string_view key) const;

  /// bool, int, std::int64_t, std::uint64_t, double (any number) or std::string.
  template <class T>
  T as() const;
  template <class T>
  std::vector<T> list() const {
    std::vector<T> values;
    for (const Json& item : items()) values.push_back(item.as<T>());
    return values;
  }

 private:
  friend struct Written;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

}  // namespace zeroloss::internal
