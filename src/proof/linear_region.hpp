#pragma once
#include <vector>

#include "proof/certified_points.hpp"
#include "proof/evaluate.hpp"

/// Descent of a piecewise linear network on which no sign changes: on its way f is linear in W, and nothing
/// is lost to a bound of how J changes (theory 7).
namespace zeroloss::internal::verified {

/// How far gradient descent on a linear f can get, over all t and any step <= 1/||J||^2: W_t - W = -J^T c_t
/// with c_t = (I - (I - step J J^T)^t) (J J^T)^-1 r.
struct Reach {
  double coefficients = 0;  ///< >= ||c_t||
  double distance = 0;      ///< >= ||J^T c_t||
};

/// For any residual of this norm; 0 < lambda <= lambda_min(J J^T).
Reach reach_of_any(double norm, double lambda);

/// For the residual at hand: ||K^-1 r|| and (r^T K^-1 r)^1/2 themselves where they are known better. `error`
/// >= ||K - J J^T|| for the stored K; `c` is about K^-1 r: what it is off by is counted.
Reach reach(const Evaluation& e, const TangentMatrix& K, const Vector& c, double error, double lambda);

/// For each reach the least |z_ij| over the most that it can move, over neurons with an output weight;
/// rounded down. Above 1 no sign changes; 0 where one is uncertain. n^2 (m + d) multiply-adds in float32, n
/// (m
/// + d) floats, and 256 (n + m) a thread.
std::vector<double> sign_margins(const Evaluation& e, const Vector& v, const CertifiedPoints& points,
                                 const std::vector<Reach>& reaches);

}  // namespace zeroloss::internal::verified
