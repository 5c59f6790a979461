#pragma once
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/deep/certificate.hpp"
#include "zeroloss/linear/linear_resnet.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/network/network.hpp"
#include "zeroloss/train/fit.hpp"
#include "zeroloss/version.hpp"

/// Pickles store a value as a dict of its fields by name, nested down to types that Python has, beside the
/// number of the format and the version that wrote it. Content that does not fit is an error.
namespace zeroloss::python {

namespace nb = nanobind;

/// 1, of versions before this one: fields by their positions, without a number.
inline constexpr int kPickleFormat = 2;

/// The members of a struct that has no fields(), or of which pickles hold more, and what they are called.
template <class T>
struct Members;
template <>
struct Members<SamplePair> {
  static constexpr std::array names{"first", "second", "distance", "antipodal"};
  static auto of(auto& p) { return std::tie(p.first, p.second, p.distance, p.antipodal); }
};
template <>
struct Members<Standardization> {
  static constexpr std::array names{"scale", "origin", "bias", "how", "lengths", "automatic"};
  static auto of(auto& s) { return std::tie(s.scale, s.origin, s.bias, s.how, s.lengths, s.automatic); }
};
template <>
struct Members<VerifiedOutputs> {
  static constexpr std::array names{"f", "error", "single_error"};
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

/// How many values an enum has; they are pickled by their names.
template <class E>
constexpr int kValues = 0;
template <>
inline constexpr int kValues<Task> = 3;
template <>
inline constexpr int kValues<Status> = 7;
template <>
inline constexpr int kValues<DescentStatus> = 4;
template <>
inline constexpr int kValues<MemorizeStatus> = 3;

/// visit(name, member) for each member of a struct.
template <class T, class Visitor>
void each_member(T& value, const Visitor& visit) {
  using S = std::remove_const_t<T>;
  if constexpr (HasMembers<S>) {
    std::size_t k = 0;
    std::apply(
        [&](auto&... member) {
          static_assert(sizeof...(member) == Members<S>::names.size());
          (visit(Members<S>::names[k++], member), ...);
        },
        Members<S>::of(value));
  } else {
    fields(value, [&](const Field& field, auto& member) { visit(field.name, member); });
  }
}

template <class T>
nb::object pickled(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    static_assert(kValues<T> > 0);
    return nb::cast(name(value));
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return nb::str(value.c_str());  // as a Path of Python's "" is "."
  } else if constexpr (std::is_same_v<T, Encoding>) {
    return nb::cast(encoding_text(value));
  } else if constexpr (kOptional<T>) {
    return value ? pickled(*value) : nb::object(nb::none());
  } else if constexpr (kPair<T>) {
    return nb::make_tuple(pickled(value.first), pickled(value.second));
  } else if constexpr (kVector<T>) {
    nb::list parts;
    for (const auto& item : value) parts.append(pickled<typename T::value_type>(item));
    return parts;
  } else if constexpr (HasMembers<T> || HasFields<T>) {
    nb::dict parts;
    each_member(value, [&](const char* name, const auto& member) {
      if (parts.contains(name)) throw std::logic_error(fmt::format("two members are called {}", name));
      parts[name] = pickled(member);
    });
    return parts;
  } else {
    return nb::cast(value);
  }
}

/// What is wrong with the content of a pickle: it "has" this.
struct Unfit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
void unpickle(T& value, nb::handle state) {
  if constexpr (std::is_enum_v<T>) {
    const auto given = nb::cast<std::string>(state);
    int k = 0;
    while (k < kValues<T> && name(static_cast<T>(k)) != given) ++k;
    if (k == kValues<T>) throw Unfit(fmt::format("the unknown word '{}'", excerpt(given)));
    value = static_cast<T>(k);
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
  } else if constexpr (HasMembers<T> || HasFields<T>) {
    const auto parts = nb::cast<nb::dict>(state);
    std::size_t found = 0;
    each_member(value, [&](const char* name, auto& member) {
      if (!parts.contains(name)) throw Unfit(fmt::format("no '{}'", name));
      unpickle(member, parts[name]);
      ++found;
    });
    if (found != parts.size())
      throw Unfit(fmt::format("{} values of names that are not known", parts.size() - found));
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

/// The state of an object, of what pickled() made.
inline nb::dict versioned(nb::object content) {
  nb::dict state;
  state["format"] = kPickleFormat;
  state["version"] = ZEROLOSS_VERSION;
  state["content"] = std::move(content);
  return state;
}

/// What `make` makes of the content. DataError, naming the versions, for the state of another format or with
/// a content that is not this version's.
template <class Make>
void restored(const char* kind, nb::handle state, const Make& make) {
  const auto refuse = [&](const std::string& what) {
    throw DataError(
        fmt::format("a pickle of {} {}; make it again with this version, {}", kind, what, ZEROLOSS_VERSION));
  };
  nb::dict parts;
  if (!nb::try_cast(state, parts) || !parts.contains("format"))
    refuse("was written by an earlier version of zeroloss, whose pickles do not name what they hold");
  std::string version = "?";
  try {
    version = nb::cast<std::string>(parts["version"]);
    const int format = nb::cast<int>(parts["format"]);
    if (format != kPickleFormat)
      refuse(
          fmt::format("has format {} of zeroloss {}; {} is known", format, excerpt(version), kPickleFormat));
    make(nb::object(parts["content"]));
  } catch (const Unfit& error) {
    refuse(fmt::format("by zeroloss {} has {}", excerpt(version), error.what()));
  } catch (const nb::cast_error&) {
    refuse(fmt::format("by zeroloss {} has a value of another type than expected", excerpt(version)));
  } catch (const nb::python_error& error) {
    refuse(fmt::format("by zeroloss {} is damaged: {}", excerpt(version), excerpt(error.what())));
  }
}

/// Pickles of a class whose members are known, which copies go by too.
template <class T>
void add_state(nb::class_<T>& c, const char* kind) {
  c.def("__getstate__", [](const T& value) {
     return versioned(pickled(value));
   }).def("__setstate__", [kind](T& self, nb::handle state) {
    restored(kind, state, [&](const nb::object& content) { new (&self) T(unpickled<T>(content)); });
  });
}

}  // namespace zeroloss::python
