#include "zeroloss/base/blas.hpp"

/// For builds without BLAS, which have no kernels of their own either.
namespace zeroloss {

BlasInfo blas_info() { return {"none", "none", "none", "", ""}; }
std::string simd_target() { return "none"; }

SerialBlas::SerialBlas() = default;
SerialBlas::~SerialBlas() = default;

}  // namespace zeroloss
