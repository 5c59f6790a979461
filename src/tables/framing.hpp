#pragma once
#include <optional>

#include "zeroloss/tables/table.hpp"

/// Rows of a table that are no records: units below the names, totals at the end.
namespace zeroloss::internal {

/// Leaves them out, and says so in the table's remarks. `skip_end`: so many rows at the end, whatever they
/// are; nothing: those that begin with a word such as Total. The cells' kinds are not known yet.
void leave_out_framing(DataTable& table, std::optional<Index> skip_end);

}  // namespace zeroloss::internal
