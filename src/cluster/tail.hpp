#pragma once
#include <memory>

#include "kernel/tail_passes.hpp"
#include "zeroloss/processes/process_group.hpp"

namespace zeroloss::internal {

constexpr const char* kTailService = "tail";

/// Of process 0. X must outlive it.
std::unique_ptr<TailPasses> cluster_tail(const Group& group, const RowBlocks& X, const PowerGrid& grid);

/// Of the others, until process 0 has done with its passes.
void serve_tail(const Group& group);

}  // namespace zeroloss::internal
