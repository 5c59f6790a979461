#include "linear/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/decompositions.hpp"
#include "linalg/lapack.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/kernel/spectrum.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math.
namespace zeroloss::internal::verified {
namespace {

constexpr double kAbove = 1 + 16 * u, kBelow = 1 - 16 * u;  // cover ten operations
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ||A||_F, rounded up; squares that vanish are counted, those that overflow make it infinite.
double frobenius(const Matrix& A) {
  const auto size = static_cast<double>(A.size());
  return A.isZero(0) ? 0 : (A.norm() * (1 + gamma_of(size + 4)) + size * 0x1p-510) * kAbove;
}

// ||A B - (computed A B)||_F for d x d matrices: an entry is off by gamma_d of that of |A||B|, which the
// computed one of |A||B| may fall short of by as much.
double product_rounding(const Matrix& A, const Matrix& B) {
  const auto d = static_cast<double>(A.rows());
  const double lost = 4 * d * d * (1 + A.cwiseAbs().maxCoeff() + B.cwiseAbs().maxCoeff()) * kTiny;
  return (gamma_of(2 * d + 1) * frobenius(A.cwiseAbs() * B.cwiseAbs()) + lost) * kAbove;
}

}  // namespace

double norm_bound(const Matrix& A) {
  if (A.size() == 0) return 0;
  if (!A.allFinite()) return kInfinity;
  const double largest = A.cwiseAbs().maxCoeff();
  if (A.size() == 1 || largest == 0) return largest;
  // Entries below 1, by a power of two: squares neither overflow nor vanish, and only the tiny are rounded.
  const int exponent = std::ilogb(largest) + 1;
  const Matrix scaled = A.unaryExpr([exponent](double a) { return std::ldexp(a, -exponent); });
  const Matrix gram = scaled.transpose() * scaled;
  const auto d = static_cast<double>(A.rows());
  const double length = frobenius(scaled),
               rounding = (gamma_of(d) * length * length + 4 * d * d * kTiny) * kAbove;
  const double computed = symmetric_eigenvalues(gram)(A.cols() - 1);
  // ||A||^2 <= s + the loss of a Cholesky factorisation of s I - A^T A (theory 3) + the rounding of A^T A.
  for (double gap = 2 * cholesky_loss(d, d * computed, computed);; gap *= 2) {
    const double s = computed + gap;
    Matrix work = -gram;
    work.diagonal() = (s - gram.diagonal().array()).matrix();
    if (lapack::potrf('L', work.rows(), work.data(), work.rows()) != 0 || !work.diagonal().allFinite())
      continue;
    const double square = (s + cholesky_loss(d, d * s, s) + rounding) * kAbove;
    const double bound = std::ldexp((std::sqrt(square) + d * kTiny) * kAbove, exponent);
    return bound >= kTiny ? bound : std::nextafter(bound, 1);  // ldexp rounds there
  }
}

Nonsingular nonsingular(const Matrix& R) {
  const Index d = R.rows();
  const auto [L, U, permutation, odd, X] = lu(R);
  if (!X.allFinite()) return {};
  // R^-1 = (X R)^-1 X, so ||R^-1|| <= ||X||/(1 - ||I - X R||).
  const Matrix product = X * R, off = Matrix::Identity(d, d) - product;
  const double distance = (frobenius(off) * kAbove + product_rounding(X, R)) * kAbove;
  if (!(distance < 1)) return {};
  Nonsingular result;
  result.s_min = (1 - distance) / norm_bound(X) * kBelow;
  // P R - L U is shorter than s_min: no map between the two is singular, and det(P R) has the sign of det U.
  const Matrix LU = L * U, rest = Eigen::PermutationMatrix<Eigen::Dynamic>(permutation) * R - LU;
  if (!(frobenius(rest) * kAbove + product_rounding(L, U) < result.s_min * kBelow)) return {};
  result.reverses = ((U.diagonal().array() < 0).count() % 2 != 0) != odd;
  return result;
}

NearExact near_exact(const LinearResnet& network, const Matrix& R, double s_min) {
  const auto d = static_cast<double>(R.rows());
  const Index l = network.layers();
  Matrix h = Matrix::Identity(R.rows(), R.rows());
  double error = 0;                                               // >= ||h - the exact product||_F
  double norm = 0, growth = 1, first_norm = 0, first_growth = 1;  // of a layer: >= ||A_i||, ||I + A_i||
  double but_first = 0, but_last = 0;                             // >= all ||A_i|| but one
  for (Index i = 0; i < l; ++i) {
    const Matrix& A = network.A[static_cast<std::size_t>(i)];
    if (i == 0 || A != network.A[static_cast<std::size_t>(i - 1)]) {  // constructed networks repeat layers
      norm = norm_bound(A);
      const Matrix sum = Matrix::Identity(A.rows(), A.rows()) + A;
      growth = std::min(1 + norm, norm_bound(sum)) * kAbove;
    }
    if (i == 0) first_norm = norm, first_growth = growth;
    if (i > 0) but_first = std::max(but_first, norm);
    if (i + 1 < l) but_last = std::max(but_last, norm);
    if (norm == 0) continue;
    const double before = frobenius(h);
    h += A * h;
    const double rounding =
        gamma_of(d) * frobenius(A) * before + u * frobenius(h) + 4 * d * d * (2 + norm + before) * kTiny;
    error = (growth * error + rounding * kAbove) * kAbove;
  }
  NearExact result;
  const Matrix off = h - R;
  result.missed = off.norm();
  result.reconstruction_error = (frobenius(off) * kAbove + error) * kAbove;
  // A_l takes (R - product) product^-1 (I + A_l) more, or A_1 (I + A_1) product^-1 (R - product).
  const double room = (s_min - result.reconstruction_error) * kBelow;
  const auto correction = [&](double grows) {
    if (l == 1) return result.reconstruction_error;
    return room > 0 ? result.reconstruction_error * grows / room * kAbove : kInfinity;
  };
  const double at_first = std::max((first_norm + correction(first_growth)) * kAbove, but_first);
  const double at_last = std::max((norm + correction(growth)) * kAbove, but_last);
  result.correction = correction(at_first < at_last ? first_growth : growth);
  result.max_norm = std::min(at_first, at_last);
  return result;
}

}  // namespace zeroloss::internal::verified
