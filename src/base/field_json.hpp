#pragma once
#include <cmath>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "base/json.hpp"
#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/parse.hpp"

/// JSON from fields: for people's programs (told), and for checkpoints (stored).
namespace zeroloss::internal {

struct AnyVisitor {
  void operator()(const Field&, const auto&) const {}
};
/// A struct with a list of its fields.
template <class T>
concept Fielded = requires(const T& value) {
  fields(value, AnyVisitor{});
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
Json told(const T& value);

/// The fields that are told, at the end of an object. Values that are not known are null, as is an empty
/// text; what has no JSON (networks, ..) must be apart.
template <Fielded T>
void tell(Json& object, const T& value) {
  fields(value, [&](const Field& field, const auto& member) {
    if (field.serialized) object[field.json_key()] = field.has_value ? told(member) : Json();
  });
}

template <class T>
Json told(const T& value) {
  if constexpr (Fielded<T>) {
    Json object = Json::object();
    tell(object, value);
    return object;
  } else if constexpr (IsOptional<T>::value) {
    return value ? told(*value) : Json();
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return value;  // an empty name is a name
  } else if constexpr (IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(told(item));
    return array;
  } else if constexpr (std::is_same_v<T, Vector>) {
    return std::vector<double>(value.begin(), value.end());
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.empty() ? Json() : Json(value);
  } else if constexpr (std::is_enum_v<T>) {
    return name(value);
  } else if constexpr (std::is_constructible_v<Json, T>) {
    return Json(value);
  } else {
    return {};
  }
}

/// The same for what is read again: every number to the last bit, known or not, and texts as they are.
template <class T>
Json stored(const T& value) {
  if constexpr (Fielded<T>) {
    Json object = Json::object();
    fields(value, [&](const Field& field, const auto& member) {
      if (field.serialized) object[field.name] = stored(member);
    });
    return object;
  } else if constexpr (IsOptional<T>::value) {
    return value ? stored(*value) : Json();
  } else if constexpr (IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(stored(item));
    return array;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";  // which JSON does not have
  } else if constexpr (std::is_constructible_v<Json, T>) {
    return Json(value);
  } else {
    return {};
  }
}

/// What stored() wrote. Throws JsonError where something is missing or of another kind.
template <class T>
void restore(const Json& json, T& value) {
  if constexpr (Fielded<T>) {
    fields(value, [&](const Field& field, auto& member) {
      if (field.serialized) restore(json.at(field.name), member);
    });
  } else if constexpr (IsOptional<T>::value) {
    value.reset();
    if (!json.is_null()) restore(json, value.emplace());
  } else if constexpr (IsVector<T>::value) {
    value.clear();
    for (const Json& item : json.items()) restore(item, value.emplace_back());
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(json.as<int>());
  } else if constexpr (std::is_same_v<T, double>) {
    const auto text = json.is_text() ? parsed_number(json.as<std::string>()) : std::nullopt;
    value = text ? *text : json.as<double>();
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    value = json.as<std::string>();
  } else if constexpr (std::is_constructible_v<Json, T>) {
    value = json.as<T>();
  }
}

}  // namespace zeroloss::internal
