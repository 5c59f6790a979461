#include "zeroloss/deep/tangent.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "deep/equations.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;

Matrix tangent_kernel(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                      const std::vector<bool>& moving, const Progress& progress) {
  check_points(network, X);
  const Moving layers = moving.empty() ? Moving(network.layers.size() + 1, true) : moving;
  if (layers.size() != network.layers.size() + 1)
    throw std::invalid_argument(fmt::format("`moving` must have one flag a layer, {}; got {}",
                                            network.layers.size() + 1, layers.size()));
  require_gram_memory(network, layers, X.rows(), 1, "the tangent kernel");
  const ForwardPass pass = forward(network, X);
  progress.check();
  const Vector ones = Vector::Ones(X.rows());
  const BackwardPass back = backward(network, pass, layers, ones);
  progress.check();
  Matrix K;
  tangent_gram(network, pass, back, layers, ones, K);
  K.triangularView<Eigen::StrictlyUpper>() = K.transpose();
  return K;
}

}  // namespace zeroloss
