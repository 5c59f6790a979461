#include <unsupported/Eigen/MatrixFunctions>

#include "linalg/decompositions.hpp"

namespace zeroloss::internal {

Matrix logarithm(const Matrix& A) { return A.log(); }

}  // namespace zeroloss::internal
