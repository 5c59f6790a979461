#include "zeroloss/deep/tangent.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "deep/jacobian.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/memory.hpp"

namespace zeroloss {
using namespace internal;

Matrix tangent_kernel(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                      const std::vector<bool>& moving, const Progress& progress) {
  check_points(network, X);
  const Moving layers = moving.empty() ? Moving(network.layers.size() + 1, true) : moving;
  if (layers.size() != network.layers.size() + 1)
    throw std::invalid_argument(fmt::format("`moving` must have one flag a layer, {}; got {}",
                                            network.layers.size() + 1, layers.size()));
  const double N = static_cast<double>(X.rows()) * static_cast<double>(network.outputs());
  require_memory(8 * N * N, "the tangent kernel", "use fewer points, or one output at a time");
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
