#pragma once
#include <vector>

#include "zeroloss/kernel/activation.hpp"

/// Dual activations: what expectation over Gaussian weights makes of an activation, as a function of
/// rho = <x, y> of two unit vectors (theory 2; Daniely, Frostig, Singer 2016; [OS, App. H]).
namespace zeroloss {

/// Normalised probabilists' Hermite coefficients mu_r = E[f(g) He_r(g)]/sqrt(r!), g ~ N(0, 1), f = phi, phi'.
struct HermiteSeries {
  std::vector<double> mu;  ///< mu[r], r = 0, 1, ..
  double error = 0;  ///< tabulated: bound of |mu[r] - exact|/|mu[r]|; else estimate of ||mu - exact||/||f||
  double tail = 0;   ///< what mu leaves of E[f^2] = sum of mu_r^2, >= 0: bound if tabulated, else estimate
};

/// Coefficients of phi (derivative = false) or phi' (true): mu_r(phi') = sqrt(r + 1) mu_{r+1}(phi).
/// Tabulated activations: 70-digit values rounded once, as many as leave a tail below 1e-17 (quadratic is
/// exact; relu, whose coefficients fall like a power, has closed forms: the first 64).
/// Others: Gauss-Legendre quadrature on [-50, 50], panels halved where f is not smooth, until the tail is
/// below 1e-16 E[f^2] or 512 terms; the tail reached is reported. f must be finite there, E[f^2] as well.
/// Throws std::invalid_argument naming the activation and the point where f is not. Cost: under a second.
HermiteSeries hermite(const Activation& activation, bool derivative);

/// leak: of phi(z) = z for z >= 0, leak z for z < 0, which is relu for leak = 0.
enum class DualForm { polynomial, leak, leak_derivative, erf, erf_derivative };

/// rho -> E[f(a) f(b)], (a, b) standard normal with correlation rho; f = phi gives h~, f = phi' gives h.
/// `error` (at most 12 u for the tabulated ones, u = 2^-53; measured: a third of it) holds for the exact rho
/// or theta passed; it assumes the C library's acos, asin, sin and cos within 4 ulp (glibc documents 1) and
/// sqrt correctly rounded. relu's forms (leak = 0) keep a relative 40 u too, up to rho = -1 (measured: 4 u).
struct Dual {
  DualForm form = DualForm::polynomial;
  std::vector<double> coefficients;  ///< of a polynomial in rho: mu_r(f)^2, all >= 0; empty for a closed form
  double leak = 0;                   ///< of the forms with one
  double error = 0;        ///< bound (estimate unless verified) of |computed - exact| over |rho| <= 1
  double slope = 0;        ///< sup of |d/d rho (rho f_hat)| = E[f^2] + E[f'^2], rounded up; inf: h of a leak
  double plain_slope = 0;  ///< sup of |d/d rho f_hat| = E[f'^2]; a user's h has M^2 for E[phi''^2] in both
  bool verified = true;    ///< `error` is proven

  double share() const { return (1 - leak) * (1 - leak); }  ///< of relu's dual in that of a leak

  double operator()(double rho) const;  ///< rho in [-1, 1] (clamped)
  /// The value at rho = cos theta, theta in [0, pi] (clamped), where theta is known better than rho.
  double at_angle(double theta) const;
};

/// h~ (derivative = false: the kernel Sigma~ of theory 2) or h (derivative = true: Sigma = rho h(rho)).
/// Throws what `hermite` throws.
Dual dual_activation(const Activation& activation, bool derivative);

}  // namespace zeroloss
