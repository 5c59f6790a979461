#pragma once
#include "zeroloss/kernel/packed.hpp"

namespace zeroloss {

/// A V as product() of doubles, in float32.
Eigen::MatrixXf product(const Packed<float>& A, const Eigen::MatrixXf& V);

}  // namespace zeroloss
