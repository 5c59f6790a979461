#pragma once
#include "data/bytes.hpp"
#include "zeroloss/data/table.hpp"

namespace zeroloss::internal {

/// A table of text: RFC 4180 with the separator that is most frequent in the first line. Throws DataError
/// naming the line.
DataTable read_csv(const Bytes& bytes);

}  // namespace zeroloss::internal
