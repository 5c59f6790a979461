#pragma once
#include <cmath>
#include <limits>

#include "zeroloss/kernel/activation.hpp"

/// What the scalar activations share. The accuracy that zeroloss/kernel/activation.hpp promises, function by
/// function: the number behind each is its relative error in units of u = 2^-53. exp is within 1 ulp of its
/// value, log1p 2, tanh 3, erf 2, erfc 6 (docs/design.md), an ulp is at most 2 u of the value, and every
/// operation and constant adds u; exact are multiples by powers of two, fma(z, z, -square) and relu. Terms of
/// second order, below 1e-9 u, fit into what is left of 16 u. Where e or a density is subnormal its error is
/// up to 2^-1073 instead, times at most 1500. scripts/check_libm.py measures all of it.
namespace zeroloss::internal::activations {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kInvSqrt2 = 0.7071067811865476, kInvSqrt2Rest = -4.833646656726457e-17;  // sum: 107 bits
constexpr double kInvSqrt2Pi = 0.3989422804014327, kInvSqrtPi = 0.5641895835477563;

/// Largest errors of the vectors in units in the last place of the exact value: of phi and of phi', each on
/// targets with fused multiply-add (AVX2, AVX-512, NEON, SVE), on those without (SSE4, scalar), and of both()
/// on any. Rounded up from what was measured over the whole range, the tails included, as long as the value
/// is a normal number; denormal values are within 4 of their units. both() has its bound where the value is
/// above passes::kNegligible, which is its absolute error elsewhere.
struct Ulps {
  double fused, not_fused, both;
};

/// decay * growth where decay -> 0 wins in the limit: 0 times infinity is 0.
inline double damped(double decay, double growth) {
  return decay == 0 ? std::copysign(0.0, growth) : decay * growth;
}

/// 4: exp(-scale z^2), scale 1 or 1/2; z^2 in two parts, else the relative error would grow like z^2 u.
inline double gaussian(double z, double scale) {
  const double square = z * z;
  if (scale * square > 800) return 0;
  return std::exp(-scale * square) * (1 - scale * std::fma(z, z, -square));
}

/// 6
inline double normal_density(double z) { return kInvSqrt2Pi * gaussian(z, 0.5); }

/// 13: Phi(z) = erfc(x)/2 at x = -z/sqrt 2; x's own rounding error, which costs z^2 u in the tail, is put
/// back to first order.
inline double normal_cdf(double z) {
  if (z < -40) return 0;  // Phi(-40) = 4e-350
  if (z > 9) return 1;    // 1 - Phi(9) = 1e-19
  const double x = -z * kInvSqrt2;
  const double rest = std::fma(-z, kInvSqrt2, -x) - z * kInvSqrt2Rest;
  return 0.5 * (std::erfc(x) - rest * 2 * kInvSqrtPi * std::exp(-x * x));
}

/// 4
inline double logistic(double z) {
  const double e = std::exp(-std::abs(z));
  return (z < 0 ? e : 1) / (1 + e);
}

/// 6: d log(e/(1 + e)^2)/d log e lies in [0, 1], so e's error counts once.
inline double dlogistic(double z) {
  const double e = std::exp(-std::abs(z));
  return e / ((1 + e) * (1 + e));
}

}  // namespace zeroloss::internal::activations
