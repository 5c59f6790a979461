#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace zeroloss::internal {

/// A kernel on the sphere as a table of polynomials in t = 1 - |rho|, t >= 2^-20: 8 intervals an octave and
/// sign. Only this is used of k: its power series has no negative coefficient, so that |k(z)| <= k(1) in the
/// unit disc. The disc of 17 half-widths about the middle of an interval lies in it, and interpolation in 11
/// Chebyshev points is off by at most 4 k(1)/(r^10 (r - 1)) < 0.54 u k(1), r = 17 + sqrt(288) [Trefethen,
/// Approximation Theory and Approximation Practice, Thm 8.2] (theory 15).
class SphereTable {
 public:
  static constexpr int kTerms = 11, kOctaves = 20, kPieces = 8 * kOctaves;
  static constexpr double kLeast = 1.0 / (1 << kOctaves);  ///< of t
  static constexpr int kIndexShift = 49;                   ///< t's bits down to the exponent and 3 more
  static constexpr int kFirstIndex = (1023 - kOctaves) * 8;
  /// Bound of |polynomial - k| in units of k(1), where the values at the nodes are exact; what they are off
  /// by counts kLebesgue times.
  static constexpr double kError = 128 * 0x1p-53, kLebesgue = 2.6;

  SphereTable() = default;
  /// value(t, negative) = k(1 - t), k(t - 1).
  explicit SphereTable(const std::function<double(double, bool)>& value);

  /// The coefficients of (t - middle)^r, r < kTerms, of all pieces: those of rho >= 0, then the others.
  const double* terms(int r) const { return terms_.data() + r * 2 * kPieces; }

 private:
  std::vector<double> terms_;
};

}  // namespace zeroloss::internal
