#pragma once
#include <torch/types.h>

#include <memory>

#include "conv/forward.hpp"
#include "zeroloss/conv/train.hpp"

/// Processes that train together, over torch.distributed's back ends.
namespace zeroloss::internal {

class Group {
 public:
  virtual ~Group() = default;
  virtual void sum(torch::Tensor& numbers) = 0;  ///< over all processes, in place: the same bits in each
};

/// gloo for tensors of the processor, NCCL for those of a GPU. Null for a world of one. Throws BackendError
/// if this LibTorch lacks the back end, or the others do not come within five minutes.
std::unique_ptr<Group> join_group(const ConvProcess& process, const Compute& compute);

std::unique_ptr<Group> join_gloo(const ConvProcess& process);
std::unique_ptr<Group> join_nccl(const ConvProcess& process);

}  // namespace zeroloss::internal
