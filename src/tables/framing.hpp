#pragma once
#include "zeroloss/tables/table.hpp"

/// Rows of a table that are no records: units below the names, totals at the end.
namespace zeroloss::internal {

struct Framing {
  bool units = true;   ///< a row of words below the names is left out
  bool names = true;   ///< the first record may be the names above such a row
  bool totals = true;  ///< rows at the end that begin with a word such as Total are left out
};
/// Leaves them out, and says so in the table's remarks. The cells' kinds are not known yet.
void leave_out_framing(DataTable& table, const Framing& framing);

}  // namespace zeroloss::internal
