#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "options.hpp"
#include "zeroloss/base/fields.hpp"
#include "zeroloss/kernel/activation.hpp"

/// Options of the command line from lists of fields: name, help, choices and default stand beside the struct.
namespace zeroloss::app {

std::string flag_of(const Field& field);                   ///< "--max-steps" of max_steps
Option as_said(const Option& option, const Field& field);  ///< with the choices, .. that the field names

/// One option under the field's heading. A truth value is a flag that changes it; others are set.
template <class Value>
Option add_field(const Command& command, const Field& field, Value& value) {
  const Command group = command.group(field.heading);
  if constexpr (std::is_same_v<Value, bool>) {
    if (value)
      return group.flag_off("--no-" + flag_of(field).substr(2), value, std::string(field.off) + " [off]");
    return group.flag(flag_of(field), value, std::string(field.help) + " [off]");
  } else {
    const Option option = as_said(group.option(flag_of(field), value, field.help), field);
    if constexpr (std::is_same_v<Value, std::uint64_t>) option.between(0, kMostSeed);
    if constexpr (requires { value.push_back(value.front()); } && !std::is_same_v<Value, std::string>)
      option.separated_by(',').repeated();
    return option;
  }
}

inline bool any_field(const Field&) { return true; }
inline void as_it_is(const Field&, const Option&) {}

/// All fields that have a heading and are `wanted`; `adjust` sees each option that was made.
template <class Options, class Wanted = bool (*)(const Field&),
          class Adjust = void (*)(const Field&, const Option&)>
void add_fields(const Command& command, Options& options, const Wanted& wanted = any_field,
                const Adjust& adjust = as_it_is) {
  fields(options, [&]<class Value>(const Field& field, Value& value) {
    if constexpr (!std::is_class_v<Value> || std::is_same_v<Value, std::string> ||
                  requires { value.has_value(); } || std::is_same_v<Value, std::vector<std::string>> ||
                  std::is_same_v<Value, std::vector<double>>)
      if (*field.heading != '\0' && wanted(field)) adjust(field, add_field(command, field, value));
  });
}

/// For `adjust`: the names of activations.
inline void known_activations(const Field& field, const Option& option) {
  if (std::string_view(field.name) == "activation") option.one_of(activation_names());
}

}  // namespace zeroloss::app
