#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "cluster/matrix.hpp"
#include "cluster/tail.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/cluster/cluster.hpp"

namespace zeroloss {
using namespace internal;
namespace {

class ClusterEngine final : public Engine {
 public:
  ClusterEngine(const Group& group, Index block) : group_(group), block_(block) {}

  std::string name() const override {
    return fmt::format("{} processes, {}", group_.size(), BlockCyclic::shape(group_.size()));
  }
  int processes() const override { return group_.size(); }
  Proof proof() const override { return Proof::residual; }
  double matrix_bytes(Index n, Index d, Index columns) const override {
    return BlockCyclic::bytes(group_.size(), {n, d, block_}) +
           8 * static_cast<double>(columns) * static_cast<double>(n);
  }
  double available_bytes() const override { return static_cast<double>(available_memory_bytes()); }
  std::unique_ptr<KernelMatrix> matrix(const RowMatrix& X) override {
    return cluster_matrix(group_, X, block_);
  }
  std::unique_ptr<TailPasses> tail_passes(const RowBlocks& X, const PowerGrid& grid) override {
    return cluster_tail(group_, X, grid);
  }

 private:
  const Group group_;
  const Index block_;
};

}  // namespace

std::unique_ptr<Engine> cluster_engine(const Group& group, Index block) {
  if (block < 1 || block > 4096)
    throw std::invalid_argument(fmt::format("cluster_engine: block must be from 1 to 4096; got {}", block));
  if (group.size() == 1) return std::make_unique<Engine>();
  return std::make_unique<ClusterEngine>(group, block);
}

Services cluster_services() { return {{kMatrixService, serve_matrix}, {kTailService, serve_tail}}; }

}  // namespace zeroloss
