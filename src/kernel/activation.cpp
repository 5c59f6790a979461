#include "zeroloss/kernel/activation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <stdexcept>

// The accuracy that the header promises, function by function: the number behind each is its relative error
// in units of u = 2^-53. exp is within 1 ulp of its value, log1p 2, tanh 3, erf 2, erfc 6 (docs/design.md),
// an ulp is at most 2 u of the value, and every operation and constant adds u; exact are multiples by powers
// of two, fma(z, z, -square) and relu. Terms of second order, below 1e-9 u, fit into what is left of 16 u.
// Where e or a density is subnormal its error is up to 2^-1073 instead, times at most 1500.
// scripts/check_libm.py measures all of it.

namespace zeroloss {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kInvSqrt2 = 0.7071067811865476, kInvSqrt2Rest = -4.833646656726457e-17;  // sum: 107 bits
constexpr double kInvSqrt2Pi = 0.3989422804014327, kInvSqrtPi = 0.5641895835477563;

/// decay * growth where decay -> 0 wins in the limit: 0 times infinity is 0.
double damped(double decay, double growth) {
  return decay == 0 ? std::copysign(0.0, growth) : decay * growth;
}

/// 4: exp(-scale z^2), scale 1 or 1/2; z^2 in two parts, else the relative error would grow like z^2 u.
double gaussian(double z, double scale) {
  const double square = z * z;
  if (scale * square > 800) return 0;
  return std::exp(-scale * square) * (1 - scale * std::fma(z, z, -square));
}

/// 6
double normal_density(double z) { return kInvSqrt2Pi * gaussian(z, 0.5); }

/// 13: Phi(z) = erfc(x)/2 at x = -z/sqrt 2; x's own rounding error, which costs z^2 u in the tail, is put
/// back to first order.
double normal_cdf(double z) {
  if (z < -40) return 0;  // Phi(-40) = 4e-350
  if (z > 9) return 1;    // 1 - Phi(9) = 1e-19
  const double x = -z * kInvSqrt2;
  const double rest = std::fma(-z, kInvSqrt2, -x) - z * kInvSqrt2Rest;
  return 0.5 * (std::erfc(x) - rest * 2 * kInvSqrtPi * std::exp(-x * x));
}

double relu(double z) { return z < 0 ? 0 : z; }
double drelu(double z) { return z < 0 ? 0 : 1; }

/// 7: log1p(e) takes e/((1 + e) log1p(e)) <= 1 of e's error.
double softplus(double z) { return (z < 0 ? 0 : z) + std::log1p(std::exp(-std::abs(z))); }

/// 4
double sigmoid(double z) {
  const double e = std::exp(-std::abs(z));
  return (z < 0 ? e : 1) / (1 + e);
}

/// 6: d log(e/(1 + e)^2)/d log e lies in [0, 1], so e's error counts once.
double dsigmoid(double z) {
  const double e = std::exp(-std::abs(z));
  return e / ((1 + e) * (1 + e));
}

double d2sigmoid(double z) { return -dsigmoid(z) * std::tanh(z / 2); }  // 13

double dtanh(double z) { return 4 * dsigmoid(2 * z); }            // 6
double d2tanh(double z) { return -2 * std::tanh(z) * dtanh(z); }  // 13

double derf(double z) { return 2 * kInvSqrtPi * gaussian(z, 1); }  // 6
double d2erf(double z) { return damped(derf(z), -2 * z); }         // 7

double gelu(double z) { return damped(normal_cdf(z), z); }  // 14
/// 14 and 4.9 absolute: 13 Phi + 7 |z| density + |gelu'|, that is 14 gelu' for z >= 0. Below, 13 |gelu'| and
/// 20 times the smaller of the two terms are enough, which is at most |z| density <= 0.242.
double dgelu(double z) { return normal_cdf(z) + damped(normal_density(z), z); }
double d2gelu(double z) { return damped(normal_density(z), std::fma(-z, z, 2)); }  // 8

double silu(double z) { return damped(sigmoid(z), z); }  // 5
/// 6 and 1.2 absolute: 5 |z| sigmoid', which is at most 0.224.
double dsilu(double z) { return damped(sigmoid(z), 1 + damped(sigmoid(-z), z)); }
/// 8 and 1.2 absolute: 7 sigmoid' |z tanh(z/2)|, which is at most 0.160.
double d2silu(double z) { return damped(dsigmoid(z), 2 - z * std::tanh(z / 2)); }

double quadratic(double z) { return 0.5 * z * z; }  // 1
double identity(double z) { return z; }
double one(double) { return 1; }

double tanh_of(double z) { return std::tanh(z); }  // 6
double erf_of(double z) { return std::erf(z); }    // 4

const std::array<Activation, 8>& all() {
  static const std::array<Activation, 8> activations{{
      {"relu", relu, drelu, {}, 1, kInf, Parity::constant_plus_odd, true},
      {"softplus", softplus, sigmoid, dsigmoid, 1, 0.25, Parity::constant_plus_odd, true},
      // M = 4/(3 sqrt 3) at tanh z = 1/sqrt 3
      {"tanh", tanh_of, dtanh, d2tanh, 1, 0.769800358919501, Parity::even, true},
      // M = 1/(6 sqrt 3)
      {"sigmoid", sigmoid, dsigmoid, d2sigmoid, 0.25, 0.09622504486493763, Parity::even, true},
      // B = 2/sqrt pi at 0; M = 2 sqrt(2/(pi e)) at z = 1/sqrt 2
      {"erf", erf_of, derf, d2erf, 1.1283791670955128, 0.9678828980765735, Parity::even, true},
      // B = Phi(sqrt 2) + sqrt 2 density(sqrt 2); M = sqrt(2/pi) at 0
      {"gelu", gelu, dgelu, d2gelu, 1.128904145185155, 0.7978845608028654, Parity::constant_plus_odd, true},
      // B where z tanh(z/2) = 2, at z = 2.39935728051546766783; M = 1/2 at 0
      {"silu", silu, dsilu, d2silu, 1.099839320128867, 0.5, Parity::constant_plus_odd, true},
      {"quadratic", quadratic, identity, one, kInf, 1, Parity::odd, true},
  }};
  return activations;
}

}  // namespace

const Activation& activation(std::string_view name) {
  for (const Activation& a : all())
    if (a.name == name) return a;
  throw std::invalid_argument(fmt::format("activation: name must be one of {}; got \"{}\"",
                                          fmt::join(activation_names(), ", "), name));
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const Activation& a : all()) names.push_back(a.name);
  return names;
}

}  // namespace zeroloss
