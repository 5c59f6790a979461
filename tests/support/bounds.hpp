#pragma once
#include <stdexcept>

#include "support/floats.hpp"

/// What rounding may do to a result, from the error analysis of its computation, so that a tolerance holds on
/// every processor and in whatever order a library sums. Numbers are those of Higham, Accuracy and Stability
/// of Numerical Algorithms, 2nd edition.
namespace zeroloss::test {

/// gamma_k, the relative error of k roundings (lemma 3.1). A sum of k products, in any order, with or without
/// fused operations, is off by at most that times the sum of their sizes (section 3.1). Not `gamma`, which
/// libm has too: a file that forgets this header would call it.
constexpr double gamma_of(double k, double unit = kUnit) { return k * unit / (1 - k * unit); }

/// Backward error of a factorisation, a spectrum or singular values of an n x n matrix, relative to its
/// spectral norm. LAPACK's own tests accept of a library what is below 30 n ulp in the 1-norm, which is never
/// below the spectral norm of an error, and for the matrices here rarely far above that of the matrix; the
/// proved bounds, some 10 n^2 u, are larger for all n of use. Eigenvalues and singular values are off by no
/// more (Weyl).
constexpr double backward_error(double n, double unit = kUnit) { return 30 * n * 2 * unit; }

/// Error of a solution X of A X = B, in norm and relative to X, where A of this condition (largest by
/// smallest singular value) was factorised: theorem 7.2 of the backward error above. Throws std::domain_error
/// where nothing is known.
constexpr double solution_error(double n, double condition, double unit = kUnit) {
  const double off = condition * backward_error(n, unit);
  if (!(off < 1)) throw std::domain_error("the condition is beyond what this precision solves");
  return off / (1 - off);
}

/// Backward error, of each entry, of solutions by Cholesky's factorisation of an n x n matrix whose diagonal
/// is at most `largest`: theorem 10.4, where (|R^T||R|)_ij is at most the root of a_ii a_jj. So k^T A^-1 b is
/// off by |A^-1 k|_1 |A^-1 b|_1 times it.
constexpr double cholesky_error(double n, double largest, double unit = kUnit) {
  return gamma_of(3 * n + 1, unit) * largest;
}

/// Error of a central difference (f(x + h) - f(x - h)) / (2 h): that of cutting off, h^2 / 6 times the
/// largest third derivative between, and that of rounding, where f is computed with an error of at most
/// `error`.
constexpr double difference_error(double h, double third, double error) {
  return h * h / 6 * third + error / h;
}

}  // namespace zeroloss::test
