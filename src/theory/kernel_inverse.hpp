#pragma once
#include <optional>
#include <vector>

#include "zeroloss/kernel/spectrum.hpp"
#include "zeroloss/theory/forecast.hpp"

/// What certify asks of a kernel's inverse: small eigenvalues, complexity, leave-one-out.
namespace zeroloss::internal {

/// A V of the kernel of all samples, or of its inverse, from that of the distinct points, but for zero
/// eigenvalues: K_ij times the roots of how often each point occurs. An empty `root` means once each; it has
/// to outlive the operator.
Operator weighed(const Operator& apply, const Vector& root);

/// Where the largest entries of a vector are, the largest first.
std::vector<Index> largest_entries(const Vector& v, std::size_t count);

constexpr Index kLanczosSteps = 8;  ///< at least, of a block with a column for each class and probe

struct KernelInverse {
  double ridge = 0;                            ///< that was added before the kernel was inverted
  SpectralMeasure late;                        ///< the start's on small eigenvalues, where there is a start
  EigenPair lowest;                            ///< of the kernel
  Matrix solved;                               ///< the inverse times columns that were asked for
  Vector diagonal;                             ///< of the inverse, where columns were asked for
  std::optional<VerifiedBound> verified = {};  ///< of lambda_min, where that is proved already
};

struct AskedOfTheInverse {
  const Kernel& kernel;
  Proof proof;
  const Vector& root;     ///< of how often each of the n points occurs; empty if each does once
  const Matrix& start;    ///< n x b, b >= 0, of all samples: what is forecast
  Index targets;          ///< the first columns of it
  const Matrix& columns;  ///< n x c, c >= 0
  bool three_digits;      ///< of the diagonal are enough: nothing is predicted with more
};

/// Of the kernel that `work` has formed: by way of float32, which takes half the time, where that sees
/// lambda_min and the digits that are printed, else in double.
KernelInverse kernel_inverse(KernelMatrix& work, const AskedOfTheInverse& asked, Progress& progress);

}  // namespace zeroloss::internal
