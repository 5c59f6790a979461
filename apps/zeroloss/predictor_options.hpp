#pragma once
#include <string>

#include "field_options.hpp"
#include "zeroloss/audit/audit.hpp"

/// The options of audit and influence that say how labels are predicted.
namespace zeroloss::app {

/// For add_fields: activations that are known, or auto.
inline void with_auto(const Field& field, const Option& option) {
  if (std::string_view(field.name) != "activation") return;
  auto names = activation_names();
  names.insert(names.begin(), "auto");
  option.one_of(names);
}

/// Columns that the user had brought to one scale stay as they are.
inline PredictorOptions with_scale(PredictorOptions options, const ReadOptions& read) {
  if (options.scale == "auto" && read.standardize != ReadOptions{}.standardize) options.scale = "given";
  options.seed = read.seed;
  return options;
}

}  // namespace zeroloss::app
