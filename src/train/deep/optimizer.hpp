#pragma once
#include <memory>

#include "deep/jacobian.hpp"
#include "train/fit_options.hpp"
#include "train/optimizer.hpp"
#include "zeroloss/deep/certificate.hpp"

/// Ways to move the weights of a network of layers: gd, sgd, momentum and gauss_newton.
namespace zeroloss::internal {

/// f is that of all points, output after output.
class DeepOptimizer : public Optimizer {
 public:
  virtual DeepNetwork network() const = 0;
  double step = 0;  ///< of those that take one
};

/// What it begins with. All have to outlive the optimizer.
struct DeepBeginning {
  const CheckedOptions& options;
  const DeepNetwork& start;
  const RowMatrix& X;              ///< every sample
  const Matrix& Y;                 ///< n x K
  const DeepEquations& equations;  ///< of distinct points
  const Moving& moving;
  std::uint64_t index = 0;  ///< of the training
};

/// `step` as an interrupted run took it; 0: chosen now, auto being 1.5/||J||^2 by Lanczos to 0.1 % (sgd: 1.5
/// over a bound of any ||J||^2 of a batch if that is less).
std::unique_ptr<DeepOptimizer> make_deep(const DeepBeginning& beginning, double step, Progress& progress);

/// Weights as named matrices, for checkpoints.
Matrix flat_weights(const DeepNetwork& network);
DeepNetwork with_weights(DeepNetwork network, const Matrix& flat);

}  // namespace zeroloss::internal
