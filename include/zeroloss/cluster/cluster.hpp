#pragma once
#include <memory>

#include "zeroloss/kernel/engine.hpp"
#include "zeroloss/processes/process_group.hpp"

/// Kernels that the processes of a Group hold together: the matrix block-cyclic over a grid of them, formed
/// where it lies and factored by ScaLAPACK, and the tail's pairs of points dealt out in a ring.
namespace zeroloss {

/// Process 0 decides and has the vectors; the others are in serve() with cluster_services(). `block`: rows
/// and columns of a block, 1 to 4096. One matrix, or one tail, at a time. Of one process: this_process() in
/// all but name. Throws std::invalid_argument.
std::unique_ptr<Engine> cluster_engine(const Group& group, Index block = 64);

/// What the other processes do for it.
Services cluster_services();

}  // namespace zeroloss
