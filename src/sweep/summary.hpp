#pragma once
#include "zeroloss/sweep/sweep.hpp"

namespace zeroloss::internal {

/// The heat maps of a grid whose cells are finished or not: which axes they have, and where success begins.
std::vector<Panel> panels(const SweepAxes& axes, const std::vector<CellResult>& cells);

/// The answer in a sentence or two.
std::string conclusion(const SweepResult& result);

}  // namespace zeroloss::internal
