#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/theory/width_row.hpp"

/// How wide, row by row, as text.
namespace zeroloss::internal {

/// Whether a row is that of a theorem about random weights.
bool of_a_theorem(const WidthRow& row);

/// A width that is what it is: neither more nor less would be true of it. Empty where there is none.
std::string whole(const std::optional<double>& width);

/// Of three digits, all of them.
std::string exact(const std::optional<double>& value);

/// Those that are not about random weights, in their order, with what else they ask for.
std::string width_table(const std::vector<WidthRow>& rows);

}  // namespace zeroloss::internal
