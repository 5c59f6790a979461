#pragma once
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/proof/certificate.hpp"

/// What several outputs, each with a network of its own, amount to together.
namespace zeroloss::internal {

/// ||R||_F/||Y||_F over the first outputs of Y (||R||_F if Y = 0), from each one's relative misfit.
double combined_misfit(const std::vector<double>& relative, const Matrix& Y);

/// What holds of every output: kind is the weakest, radius the largest, margin and lambda_min the smallest.
/// At least one certificate.
Certificate combined(const std::vector<Certificate>& outputs);

}  // namespace zeroloss::internal
