#pragma once
#include <string>

#include "kernel/sphere_table.hpp"
#include "zeroloss/kernel/deep.hpp"

namespace zeroloss::internal {

void check(const Depth& depth);  ///< throws std::invalid_argument for one out of range

/// The recursion of theory 15 at one rho, its table, and what is proved of both.
class DeepKernel {
 public:
  DeepKernel(const Activation& activation, const Depth& depth, bool features);

  double operator()(double rho) const;  ///< rho in [-1, 1] (clamped)
  double at_angle(double theta) const;  ///< rho = cos theta, theta in [0, pi]
  const SphereTable& table() const { return table_; }

  /// Bound of |computed - exact| by any of these for |rho| <= 1 - 2^-20, and of the first two for all rho.
  double error() const { return error_; }
  bool verified() const { return h_tilde_.verified; }
  const Edge& edge() const { return edge_; }

 private:
  struct State {
    double rho, P;
  };
  State start(double rho) const { return {rho, residual_ ? rho : 0}; }
  State next(State at, double H, double q) const;
  double result(State at) const { return features_ ? at.rho : at.rho + at.P; }
  double by_duals(double rho) const;
  double by_angles(double theta) const;
  double node(double t, bool negative) const;
  void prove();

  Dual h_tilde_, h_;
  bool features_, residual_;
  Index layers_;
  double keep_, move_;  // rho_l = keep rho_(l-1) + move H
  double unit_ = 1;     // h~(1)
  double bend_ = 0;     // of a leak a: (1 - a)^2/(1 + a^2); else 0
  double error_ = 0;
  Edge edge_;
  SphereTable table_;
};

}  // namespace zeroloss::internal
