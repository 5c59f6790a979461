#pragma once
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss::internal {

/// Bytes of the whole tensor. Throws std::invalid_argument, beginning with `who`, for a negative size, a
/// product of sizes beyond 64 bits, or pieces that do not divide the tensor.
Index checked_bytes(const TensorView& tensor, const char* who);

}  // namespace zeroloss::internal
