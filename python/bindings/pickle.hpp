#pragma once
#include <nanobind/nanobind.h>

#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "zeroloss/core/fields.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/deep/certificate.hpp"

/// What pickles hold of a value: its fields, theirs, and so on down to what Python knows.
namespace zeroloss::python {

namespace nb = nanobind;

/// The members of a struct that has no fields().
template <class T>
struct Members;
template <>
struct Members<SamplePair> {
  static auto of(auto& p) { return std::tie(p.first, p.second, p.distance, p.antipodal); }
};
template <>
struct Members<Center> {
  static auto of(auto& c) { return std::tie(c.high, c.low); }
};

template <>
struct Members<Layer> {
  static auto of(auto& l) { return std::tie(l.activation, l.leak, l.W, l.b, l.residual, l.U, l.bU, l.scale); }
};
template <>
struct Members<PointType> {
  static auto of(auto& t) { return std::tie(t.type, t.by); }
};
template <>
struct Members<DeepNetwork> {
  static auto of(auto& n) {
    return std::tie(n.shift, n.shift_low, n.factor, n.layers, n.V, n.c, n.task, n.class_names, n.constant,
                    n.unit, n.encoding, n.single, n.behind, n.point_types);
  }
};
template <>
struct Members<VerifiedOutputs> {
  static auto of(auto& o) { return std::tie(o.f, o.error, o.single_error); }
};

template <class T>
concept HasMembers = requires(T& value) {
  Members<T>::of(value);
};
template <class T>
concept HasFields = requires(T& value) {
  fields(value, [](const Field&, auto&) {});
};

template <class T>
constexpr bool kOptional = false;
template <class T>
constexpr bool kOptional<std::optional<T>> = true;
template <class T>
constexpr bool kVector = false;
template <class T>
constexpr bool kVector<std::vector<T>> = true;
template <class T>
constexpr bool kPair = false;
template <class T, class U>
constexpr bool kPair<std::pair<T, U>> = true;

template <class T>
nb::object pickled(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return nb::int_(static_cast<int>(value));
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return nb::str(value.c_str());  // as a Path of Python's "" is "."
  } else if constexpr (std::is_same_v<T, Encoding>) {
    return nb::cast(encoding_text(value));
  } else if constexpr (kOptional<T>) {
    return value ? pickled(*value) : nb::object(nb::none());
  } else if constexpr (kPair<T>) {
    return nb::make_tuple(pickled(value.first), pickled(value.second));
  } else if constexpr (kVector<T> || HasMembers<T> || HasFields<T>) {
    nb::list parts;
    if constexpr (kVector<T>)
      for (const auto& item : value) parts.append(pickled<typename T::value_type>(item));
    else if constexpr (HasMembers<T>)
      std::apply([&](const auto&... member) { (parts.append(pickled(member)), ...); }, Members<T>::of(value));
    else
      fields(value, [&](const Field&, const auto& member) { parts.append(pickled(member)); });
    return parts;
  } else {
    return nb::cast(value);
  }
}

template <class T>
void unpickle(T& value, nb::handle state) {
  std::size_t k = 0;
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(nb::cast<int>(state));
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    value = nb::cast<std::string>(state);
  } else if constexpr (std::is_same_v<T, Encoding>) {
    value = read_encoding(nb::cast<std::string>(state));
  } else if constexpr (kOptional<T>) {
    if (state.is_none()) return value.reset();
    unpickle(value.emplace(), state);
  } else if constexpr (kPair<T>) {
    unpickle(value.first, state[0]);
    unpickle(value.second, state[1]);
  } else if constexpr (kVector<T>) {
    value.clear();  // of what it is by default
    for (nb::handle item : nb::cast<nb::list>(state)) {
      typename T::value_type element{};
      unpickle(element, item);
      value.push_back(std::move(element));
    }
  } else if constexpr (HasMembers<T>) {
    std::apply([&](auto&... member) { (unpickle(member, state[k++]), ...); }, Members<T>::of(value));
  } else if constexpr (HasFields<T>) {
    fields(value, [&](const Field&, auto& member) { unpickle(member, state[k++]); });
  } else {
    value = nb::cast<T>(state);
  }
}

template <class T>
T unpickled(nb::handle state) {
  T value{};
  unpickle(value, state);
  return value;
}

}  // namespace zeroloss::python
