#pragma once
#include <torch/types.h>

#include <vector>

#include "zeroloss/kernel/gram.hpp"

namespace zeroloss::internal {

/// A kernel's entries from inner products, a tensor of them at a time: what entries::map does, operation by
/// operation, so that its error analysis holds here (theory 3). asin, roots and reciprocals are all that is
/// not rounded correctly.
class TorchEntries {
 public:
  TorchEntries(const Kernel& kernel, const torch::Device& device);

  /// Replaces every rho by k(rho), rho clamped to [-1, 1]; contiguous float64.
  void map(torch::Tensor& rho) const;

 private:
  torch::Tensor polynomial(const torch::Tensor& rho) const;
  torch::Tensor table(const torch::Tensor& rho) const;

  const Kernel& kernel_;
  torch::Tensor terms_;               // of the table of a kernel of many layers
  std::vector<double> coefficients_;  // of a polynomial in rho, or in rho^2
  bool squared_ = false;
  int factors_ = 0;  // rho that it is multiplied by
};

}  // namespace zeroloss::internal
