#pragma once
#include <optional>

#include "zeroloss/tables/table.hpp"

namespace zeroloss::internal {

/// A number that seems to stand for a missing cell, as -999 does: the least or the greatest one of a column,
/// in several cells, and ten times as far from all others as these are apart, which are ten at least.
struct Placeholder {
  std::string cell;  ///< as it is written
  Index cells = 0;
  double least = 0, greatest = 0;  ///< of all others
};
std::optional<Placeholder> placeholder_in(const Column& column);

}  // namespace zeroloss::internal
