#pragma once
#include <torch/types.h>

#include "zeroloss/core/matrix.hpp"

namespace zeroloss::internal {

/// Whether products of matrices are what error analyses take them for: sums, in any order, of products that
/// are rounded as IEEE's double (float) precision rounds, each for itself. Switches TF32 and emulated double
/// precision off, then multiplies matrices of the shapes rows x inner and inner x columns, of which the exact
/// products are known and which TF32, bfloat16, float32, and integers scaled row by row would not get right.
/// Throws BackendError.
void check_products(const torch::Device& device, torch::ScalarType type, Index rows, Index inner,
                    Index columns);

/// The multiplication that is probed, for tests: a wrong one is to be seen.
using Multiply = torch::Tensor (*)(const torch::Tensor&, const torch::Tensor&);
bool products_exact(const torch::Device& device, torch::ScalarType type, Index rows, Index inner,
                    Index columns, Multiply multiply);

}  // namespace zeroloss::internal
