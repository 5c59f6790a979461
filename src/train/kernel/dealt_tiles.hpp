#pragma once
#include <memory>

#include "kernel/tile_pass.hpp"
#include "zeroloss/processes/process_group.hpp"

namespace zeroloss::internal {

constexpr const char* kTilesService = "kernel tiles";

/// Of process 0: the kernel's tiles on all processes of a group, up to kGroupsOfTiles of them. The others
/// have the points from it. A pass has the same bits as in one process. X and the kernel must outlive it. Of
/// one process, or of a kernel that others do not know by its name: kernel_tiles().
std::unique_ptr<KernelTiles> dealt_tiles(const Group& group, const RowMatrix& X, const Kernel& kernel);

/// Of the others.
void serve_tiles(const Group& group);

}  // namespace zeroloss::internal
