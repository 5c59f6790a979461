#pragma once
#include <CLI/TypeTools.hpp>
#include <string>

#include "zeroloss/base/parse.hpp"

namespace CLI::detail {

/// CLI11 would read numbers as the locale of the program has them.
template <>
inline bool lexical_cast(const std::string& input, double& output) {
  const auto read = zeroloss::parsed_number(input);
  output = read.value_or(0);
  return read.has_value();
}

}  // namespace CLI::detail

#include <CLI/CLI.hpp>  // which uses that from here on
