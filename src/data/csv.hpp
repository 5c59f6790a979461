#pragma once
#include "data/bytes.hpp"
#include "zeroloss/data/readers.hpp"

namespace zeroloss::internal {

/// A table as text; `target` as in ReadOptions. Throws DataError for anything wrong with it.
Source read_csv(const Bytes& bytes, const std::string& target);

}  // namespace zeroloss::internal
