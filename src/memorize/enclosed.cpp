#include "memorize/balls.hpp"
#include "memorize/integers.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss {
using namespace internal;

MemorizerOutputs enclosed_outputs(const Memorizer& network, const RowMatrix& X, Progress& progress) {
  const Index n = X.rows(), r = network.outputs();
  require_memory(24 * static_cast<double>(n) * static_cast<double>(r), "bounds of a memoriser's outputs",
                 "ask about fewer points");
  if (auto exact = exact_outputs(network, X, progress))
    return {std::move(*exact), Matrix::Zero(n, r), Matrix::Zero(n, r)};
  MemorizerOutputs all{Matrix(n, r), Matrix(n, r), Matrix(n, r)};
  const Columns columns = network.precision == "float32" ? columns_of(X) : Columns{};
  each_ball(network, X, columns, progress, [&](const OutputBalls& balls) {
    const Index count = balls.centers.rows();
    all.f.middleRows(balls.first, count) = balls.centers;
    all.exact_error.middleRows(balls.first, count) = balls.errors[kExact];
    all.own_error.middleRows(balls.first, count) = balls.errors[kOwn];
  });
  return all;
}

}  // namespace zeroloss
