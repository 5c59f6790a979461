#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/deep/network.hpp"

/// Proofs that an exact zero-loss network of the same layers lies beside one given network, and that gradient
/// descent reaches it (theory 16). Nothing random is left: what holds, holds with certainty, rounding
/// included.
namespace zeroloss {

/// What a network has to satisfy: f(x_i) = y_i for n points, no two of them equal, K outputs each.
struct DeepEquations {
  const RowMatrix& X;  ///< n x d
  const Matrix& Y;     ///< n x K, exactly these doubles
  /// How often each point occurs: the loss is 1/2 sum_i counts_i ||f(x_i) - y_i||^2. Empty = once.
  Vector counts = {};
  /// Which layers move: L hidden ones, then the output layer. Empty = all.
  std::vector<bool> moving = {};
  std::vector<Index> records = {};  ///< what the points are called; empty = 0 to n - 1
};

/// What is proved about a network, exactly the doubles it is. F is the vector of all N = n K outputs less
/// their targets, times the roots of counts; J its Jacobian in all weights that move, theta.
struct DeepCertificate {
  bool exists = false;    ///< an exact network lies within `radius` of theta
  bool descends = false;  ///< and gradient descent from theta converges to one
  double misfit = std::numeric_limits<double>::infinity();  ///< upper bound of ||F||
  double lambda_min = 0;                                    ///< lower bound of lambda_min(J J^T); 0: none
  /// ||J' - J''|| <= this ||theta' - theta''|| within twice the Newton step; infinite if it was not computed
  double lipschitz = std::numeric_limits<double>::infinity();
  /// lipschitz misfit/lambda_min: at most 1/2 where existence holds. Where it does not, a lower bound of
  /// that: what is not computed, since nothing can hold, may make it larger.
  double h = std::numeric_limits<double>::infinity();
  double radius = 0;          ///< exists: rounded up
  double norm_J = 0;          ///< descends: upper bound of ||J||
  double step = 0, rate = 0;  ///< descends: any step up to this has ||F_k|| <= (1 - step rate)^k ||F||
  double descent_radius = 0;  ///< descends: it stays within this of theta
  double kink = 0;            ///< phi with kinks: least |z| over what it can move by; above 1 none changes
  Index sample = 0, layer = 0,
        neuron = 0;    ///< where that is: 0-based point, 1-based hidden layer, 0-based unit
  std::string reason;  ///< why existence does not hold, or why descent does not
};
template <Is<DeepCertificate> T, class Visitor>
void fields(T& c, const Visitor& visit) {
  const bool kinks = std::isfinite(c.kink) && c.kink > 0;
  visit(Field{"exists", "An exact network lies within the radius."}, c.exists);
  visit(Field{"descends", "Gradient descent from these weights converges to an exact network."}, c.descends);
  visit(Field{"misfit", "Upper bound of ||F||, F all outputs less their targets."}, c.misfit);
  visit(Field{"lambda_min", "Lower bound of lambda_min(J J^T); 0 if none is proved."}, c.lambda_min);
  visit(Field{"lipschitz", "Upper bound of how fast J changes nearby."}, c.lipschitz);
  visit(Field{"h", "lipschitz misfit/lambda_min, at most 1/2 where existence holds."}, c.h);
  visit(Field{"radius", "An exact network lies within this."}.only_if(c.exists), c.radius);
  visit(Field{"norm_J", "Upper bound of ||J||."}.only_if(c.descends), c.norm_J);
  visit(Field{"step", "Any step up to this converges to an exact network."}.only_if(c.descends), c.step);
  visit(Field{"rate", "||F_k|| <= (1 - step rate)^k ||F||."}.only_if(c.descends), c.rate);
  visit(Field{"descent_radius", "Descent stays within this."}.only_if(c.descends), c.descent_radius);
  visit(Field{"kink", "Least |z| over what it can move by; above 1 no sign changes."}.only_if(kinks), c.kink);
  visit(Field{"sample", "Where that is, 0-based."}.only_if(kinks), c.sample);
  visit(Field{"layer", "Hidden layer of that, 1-based."}.only_if(kinks), c.layer);
  visit(Field{"neuron", "Unit of that, 0-based."}.only_if(kinks), c.neuron);
  visit(Field{"reason", "Why existence does not hold, or why descent does not."}, c.reason);
}

/// Newton-Kantorovich for existence, theory 7 for descent. Cost: n times the weights in long double, N^2/2
/// times the units, three Cholesky factorisations of side N, and, where products of norms do not suffice, n
/// times two or four products of matrices of each layer's size; memory 16 N^2 bytes and some 30 N times the
/// units. Bits do not depend on threads. Throws std::invalid_argument for sizes that do not agree or values
/// that are not finite, ResourceError if memory does not suffice, Interrupted.
DeepCertificate certify_network(const DeepNetwork& network, const DeepEquations& equations,
                                Progress& progress);

/// Outputs with bounds of their errors in exact arithmetic.
struct VerifiedOutputs {
  Matrix f, error;  ///< n x K: |f - exact| <= error
  /// DeepNetwork::single: n x K, how far what float32 computes is from the exact outputs at most; else empty.
  Matrix single_error = {};
};
VerifiedOutputs verified_outputs(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                                 Progress& progress);

}  // namespace zeroloss
