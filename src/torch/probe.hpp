#pragma once
#include <torch/types.h>

#include <functional>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// Whether products of matrices are what error analyses take them for: sums, in any order, of products that
/// are rounded as IEEE's double (float) precision rounds, each for itself. Switches TF32 and emulated double
/// precision off, then multiplies matrices of the shapes rows x inner and inner x columns, the second
/// transposed in memory, of which the exact products are known and which TF32, bfloat16, float32,
/// integers scaled row by row, and Strassen's method in halves would not get right. All sizes >= 1. Throws
/// BackendError.
void check_products(const torch::Device& device, torch::ScalarType type, Index rows, Index inner,
                    Index columns);

/// The same of sums over columns: `count` products at once of matrices that are inner x rows in memory,
/// transposed, with inner x 1.
void check_column_sums(const torch::Device& device, torch::ScalarType type, Index count, Index rows,
                       Index inner);

/// The same of `count` products at once of matrices rows x inner with matrices inner x columns, the rows of
/// all of which lie beside each other in memory.
void check_batched_products(const torch::Device& device, Index count, Index rows, Index inner, Index columns);

/// The multiplication that is probed, for tests: a wrong one is to be seen.
using Multiply = std::function<torch::Tensor(const torch::Tensor&, const torch::Tensor&)>;
bool products_exact(const torch::Device& device, torch::ScalarType type, Index rows, Index inner,
                    Index columns, const Multiply& multiply);

}  // namespace zeroloss::internal
