#pragma once
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "zeroloss/core/matrix.hpp"

namespace zeroloss {

/// ||A||, to a few d u relative: the root of the largest eigenvalue of A^T A, which loses nothing at that end
/// of the spectrum. Entries are scaled first, so that squares neither overflow nor vanish. NaN if an entry is
/// not finite.
inline double spectral_norm(const Matrix& A) {
  if (A.size() == 0) return 0;
  if (!A.allFinite()) return std::nan("");
  const double largest = A.cwiseAbs().maxCoeff();
  if (largest == 0) return 0;
  const Matrix scaled = A / largest;
  const Matrix gram = scaled.transpose() * scaled;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram, Eigen::EigenvaluesOnly);
  return largest * std::sqrt(std::max(0.0, eigen.eigenvalues().maxCoeff()));
}

}  // namespace zeroloss
