#pragma once
#include <vector>

#include "deep/jacobian.hpp"

/// A network of layers on given points, with bounds of what rounding may have changed (theory 16). Every
/// bound holds in exact arithmetic for the stored doubles. Needs IEEE rules: never -ffast-math.
namespace zeroloss::internal::verified {

/// (1 + 2^-64)^k <= 1 + this, for k up to 2^22 terms of a sum in long double.
double long_gamma(Index k);

/// What the bounds of a layer are made of, rounded up; of hidden layers first.
struct LayerNorms {
  double W = 0, U = 0;  ///< spectral norms; U of the identity: 1
  Vector rows;          ///< ||w_j||
};
std::vector<LayerNorms> layer_norms(const DeepNetwork& network, Progress& progress);

/// Of layer l at every point, rounded up. A size is that of the exact value, an error what the stored one is
/// off by, both in the 2-norm.
struct PointSizes {
  Vector h, h_error;  ///< of what the layer sees
  Vector h_local;     ///< what its output, made of the stored h, is off by
  Vector z_error;
  Vector a, a_error;
  Vector slope;        ///< max_j |phi'(z_j)|
  Vector slope_error;  ///< of each phi'(z_j)
  Vector uncertain;    ///< 1 where phi has a kink and the sign of a z_j is not certain, else 0
};

/// The same for every row of J.
struct RowSizes {
  Vector u, u_error;
  Vector q, q_largest;  ///< 2-norm and largest entry
  Vector g, g_error;
};

struct DeepEvaluation {
  ForwardPass pass;  ///< summed with 64-bit mantissas, stored in double
  BackwardPass back;
  Vector weights;                  ///< n
  std::vector<PointSizes> points;  ///< L + 1; of the last h and h_error alone, what V sees
  std::vector<RowSizes> rows;      ///< L
  Matrix f_error;                  ///< n x K: what the stored f is off by
  double jacobian_error = 0;       ///< ||J - J of the stored factors||_F, rounded up
  double rounding_terms = 0;       ///< roundings of an entry of tangent_gram
  double lost = 0;                 ///< what underflow may take from one
};

/// Rows of J times weights (n). Takes phi and phi' to be as accurate as activation() promises. What is not
/// finite on the way makes bounds infinite or NaN, which prove nothing. Cost: n times the weights in long
/// double, n K times in double.
DeepEvaluation evaluate(const DeepNetwork& network, const std::vector<LayerNorms>& norms,
                        const Eigen::Ref<const RowMatrix>& X, const Vector& weights, const Moving& moving,
                        Progress& progress);

/// ||weights (f - targets)||, rounded up; targets n x K.
double misfit(const DeepEvaluation& e, const Matrix& targets);

}  // namespace zeroloss::internal::verified
