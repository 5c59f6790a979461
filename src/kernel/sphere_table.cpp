#include "kernel/sphere_table.hpp"

#include <array>
#include <cmath>
#include <numbers>

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {
namespace {

constexpr int kNodes = SphereTable::kTerms;
using Terms = std::array<double, kNodes>;

/// cos(m pi/22), within 8 u: reduced to [0, pi/2] in integers.
double node_cosine(int m) {
  m %= 4 * kNodes;
  if (m > 2 * kNodes) m = 4 * kNodes - m;
  if (m > kNodes) return -node_cosine(2 * kNodes - m);
  return m == kNodes ? 0 : std::cos(m * std::numbers::pi / (2 * kNodes));
}

/// Chebyshev coefficients of the interpolant of f at cos((2 i + 1) pi/22), i = 0 .. 10. What f differs from
/// its value in the middle is at most 2 k(1)/17 (Schwarz), so that rounding counts a tenth.
Terms chebyshev(const Terms& f) {
  const double middle = f[kNodes / 2];
  Terms a{};
  for (int k = 0; k < kNodes; ++k) {
    for (int i = 0; i < kNodes; ++i) a[k] += (f[i] - middle) * node_cosine(k * (2 * i + 1));
    a[k] *= (k == 0 ? 1.0 : 2.0) / kNodes;
  }
  a[0] += middle;
  return a;
}

/// sum of a_k T_k(x) by powers of x; T_(k+1) = 2 x T_k - T_(k-1), in integers.
Terms powers(const Terms& a) {
  Terms result{}, before{}, now{1};
  for (int k = 0; k < kNodes; ++k) {
    for (int j = 0; j < kNodes; ++j) result[j] += a[k] * now[j];
    Terms next{};
    for (int j = 0; j < kNodes; ++j)
      next[j] = (k == 0 ? 1 : 2) * (j > 0 ? now[j - 1] : 0) - (k == 0 ? 0 : before[j]);
    before = now;
    now = next;
  }
  return result;
}

}  // namespace

SphereTable::SphereTable(const std::function<double(double, bool)>& value)
    : terms_(static_cast<std::size_t>(kTerms * 2 * kPieces)) {
  for (const bool negative : {false, true})
    for (int p = 0; p < kPieces; ++p) {
      const double octave = std::ldexp(kLeast, p / 8), half = octave / 16;  // the interval's half-width
      const double middle = octave + (2 * (p % 8) + 1) * half;
      Terms f;
      for (int i = 0; i < kNodes; ++i) f[i] = value(middle + half * node_cosine(2 * i + 1), negative);
      double scale = 1;  // a power of two
      for (int r = 0; const double c : powers(chebyshev(f))) {
        terms_[static_cast<std::size_t>((2 * r++ + negative) * kPieces + p)] = c * scale;
        scale /= half;
      }
    }
}

}  // namespace zeroloss::internal
