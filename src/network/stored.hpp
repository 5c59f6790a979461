#pragma once
#include "network/prepare.hpp"
#include "zeroloss/kernel/row_blocks.hpp"

/// Points that stay in their file, as certify asks for them: a block at a time.
namespace zeroloss::internal {

/// unit_points() of such data: the rows of `stored` are divided by their lengths as they are read.
UnitPoints stored_unit_points(const Dataset& data, bool center, bool normalize);

/// The rows of a data set, wherever they are; it must outlive them.
RowBlocks blocks_of(const Dataset& data);

/// Some of its points as doubles, exactly: what `standardization` makes of them.
RowMatrix exact_rows(const Dataset& data, const Standardization& standardization,
                     const std::vector<Index>& rows);

}  // namespace zeroloss::internal
