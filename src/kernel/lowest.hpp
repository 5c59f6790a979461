#pragma once
#include <optional>
#include <vector>

#include "zeroloss/kernel/spectrum.hpp"

/// The smallest eigenvalue by way of float32, which takes half the time: it says where a proof is tried.
namespace zeroloss::internal {

/// Whether float32 sees lambda_min, as far as every fourth point says.
bool seen_in_single(SinglePrecision* single, Index n, const Kernel& kernel, Progress& progress);

/// Whether no two of the closest pairs hold lambda_min below `least`: it is at most K_ii - |K_ij| of any two
/// points, on the vector (1, -1)/sqrt(2) or (1, 1)/sqrt(2).
bool closest_above(const std::vector<Pair>& closest, const Kernel& kernel, double least);

/// What float32's rounding would hide: lambda_min below it.
double least_seen_in_single(Index n, const Kernel& kernel);

/// Where eigenvectors of the smallest eigenvalues lie, more or less: orthonormal columns, by the factor in
/// float32.
Matrix lowest_space(SinglePrecision& single, Index n, Progress& progress);

/// lambda_min and its proof from such a space and the formed kernel; nothing, with the kernel as it was
/// formed, where the space is not good enough. Where the proof does not succeed, `verified` does not hold,
/// and the kernel is to be formed anew.
std::optional<LambdaMin> lambda_min_in(const Matrix& space, SinglePrecision& single, KernelMatrix& work,
                                       const Kernel& kernel, Proof proof, Progress& progress);

}  // namespace zeroloss::internal
