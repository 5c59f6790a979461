#include "kernel/deep_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel/relu_dual.hpp"
#include "linalg/rounding.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {

using std::numbers::pi;

DeepKernel::DeepKernel(const Activation& activation, const Depth& depth, bool features)
    : h_tilde_(dual_activation(activation, false)),
      h_(dual_activation(activation, true)),
      features_(features),
      residual_(depth.residual),
      layers_(depth.layers),
      keep_(depth.residual ? 1 / (1 + depth.scale * depth.scale) : 0),
      move_(depth.residual ? 1 / (1 + 1 / (depth.scale * depth.scale)) : 1) {
  if (h_tilde_.form == DualForm::leak) bend_ = h_tilde_.share() / (1 + h_tilde_.leak * h_tilde_.leak);
  unit_ = h_tilde_(1);
  prove();
  table_ = SphereTable([this](double t, bool negative) { return node(t, negative); });
}

DeepKernel::State DeepKernel::next(State at, double H, double q) const {
  return {keep_ * at.rho + move_ * H, keep_ * at.P + move_ * (q * (at.P + at.rho) + (residual_ ? H : 0))};
}

double DeepKernel::by_duals(double rho) const {
  State at = start(rho);
  for (Index l = 0; l < layers_; ++l) {
    at = next(at, h_tilde_(at.rho) / unit_, h_(at.rho) / unit_);
    at.rho = std::clamp(at.rho, -1.0, 1.0);
  }
  return result(at);
}

// Of a leak, with s = (1 - a)^2/(1 + a^2) and W = sin theta - theta cos theta >= 0: q = 1 - s theta/pi,
// H = cos theta + s W/pi, and 1 -+ rho_l are sums without cancellation, since W <= pi sin^2(theta/2).
double DeepKernel::by_angles(double theta) const {
  State at = start(std::cos(theta));
  for (Index l = 0; l < layers_; ++l) {
    const double sine = std::sin(theta / 2), cosine = std::cos(theta / 2);
    const double above = bend_ * 2 * relu_dual(theta, std::sin(theta), -at.rho);
    at = next(at, at.rho + above, 1 - bend_ * (theta / pi));
    const double below_one = 2 * sine * sine - move_ * above,
                 above_minus_one = 2 * cosine * cosine + move_ * above;
    theta = 2 * std::atan2(std::sqrt(std::max(0.0, below_one)), std::sqrt(above_minus_one));
    at.rho = std::cos(theta);
  }
  return result(at);
}

double DeepKernel::operator()(double rho) const {
  rho = std::clamp(rho, -1.0, 1.0);
  return bend_ > 0 ? by_angles(std::acos(rho)) : by_duals(rho);
}

double DeepKernel::at_angle(double theta) const {
  theta = std::clamp(theta, 0.0, pi);
  return bend_ > 0 ? by_angles(theta) : by_duals(std::cos(theta));
}

double DeepKernel::node(double t, bool negative) const {
  if (bend_ == 0) return by_duals(negative ? t - 1 : 1 - t);
  const double small = std::sqrt(t), large = std::sqrt(2 - t);
  return by_angles(2 * (negative ? std::atan2(large, small) : std::atan2(small, large)));
}

/// Theory 15. At rho = 1, where all functions and all derivatives of smooth ones are largest, layer by layer:
/// P, D = rho_l', |P_l'| <= most + share/(2 pi sqrt(1 - rho^2)), and what rounding may do to rho_l (of a
/// leak: to theta_l) and P_l.
void DeepKernel::prove() {
  const bool leak = bend_ > 0;
  const double unit = (unit_ - h_tilde_.error) * kDown;  // <= h~(1)
  const double q1 = leak ? 1 : (h_(1) + h_.error) / unit * kUp, q2 = leak ? 0 : h_.plain_slope / unit * kUp;
  const double growth = (keep_ + move_ * q1) * (leak ? 1 : kUp), inner = residual_ ? 1 : 0;
  const double off_H = leak ? 40 * u : 2 * h_tilde_.error / unit + 3 * u;
  const double off_q = leak ? 8 * u : (h_.error + q1 * h_tilde_.error) / unit + 3 * u * q1;
  double P = inner, D = 1, most = inner, share = 0;
  double off = leak ? 30 * u : 10 * u, off_P = inner * off + 8 * u;
  for (Index l = 0; l < layers_; ++l) {
    const double with = P + 1;  // P + rho
    share = growth * share + move_ * 2 * bend_ * with * std::sqrt(D);
    most = keep_ * most + move_ * (q1 * (most + D) + q2 * D * with + inner * q1 * D);
    const double off_with = off_P + off + 9 * u;  // of P + rho; a leak's rho is cos theta
    const double moved_q = leak ? bend_ / pi * off : q2 * off, moved_H = leak ? off : q1 * off;
    P = keep_ * P + move_ * (q1 * with + inner);
    off_P = keep_ * off_P + move_ * (q1 * off_with + with * (moved_q + off_q) + inner * (moved_H + off_H)) +
            8 * u * P;
    off = leak ? off + 70 * u : keep_ * off + move_ * (moved_H + off_H) + 6 * u;
    D *= growth;
  }
  const double all = features_ ? 1 : 1 + P;
  edge_.most = (features_ ? D : D + most) * kUp;
  edge_.share = features_ ? 0 : share * kUp;
  const double scalar = (features_ ? 0 : off_P) + off + 9 * u + u * all;
  const double shifted = u * (edge_.most + edge_.share);  // 1 - |rho| is rounded where |rho| < 1/2
  error_ = (SphereTable::kLebesgue * (scalar + 2 * u * all) + SphereTable::kError * all + shifted) * kUp;
}

}  // namespace zeroloss::internal
