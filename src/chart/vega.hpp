#pragma once
#include <string>

#include "base/json.hpp"
#include "zeroloss/chart/chart.hpp"

/// What all figures have in common.
namespace zeroloss::internal {

Json vega_frame(const std::string& title);
std::string vega_text(const Json& spec);  ///< names that are not UTF-8 come out with replacement characters

}  // namespace zeroloss::internal
