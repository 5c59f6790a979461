#include "train/optimizers/descent.hpp"

#include <algorithm>

#include "zeroloss/base/random.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::internal {

template <class T>
double auto_step(const Trainer<T>& trainer, Index batch, const Progress& progress) {
  const Operator normal = [&](const Matrix& V) {
    progress.check();
    Matrix W(V.rows(), V.cols());
    for (Index b = 0; b < V.cols(); ++b) W.col(b) = trainer.normal_product(V.col(b));
    return W;
  };
  constexpr double kAccuracy = 1e-3;
  Matrix start(trainer.n(), 1);
  Random(0, Stream::start).fill_normal(start);
  double norm_squared = block_lanczos(normal, start, 1, 50, kAccuracy).values.tail(1).value();
  if (batch > 0) {
    const double largest = trainer.gradient_squares().maxCoeff();
    norm_squared = std::min(norm_squared, largest * static_cast<double>(batch));
  }
  return norm_squared > 0 ? 1.5 / norm_squared : 0;
}

template double auto_step(const Trainer<double>&, Index, const Progress&);
template double auto_step(const Trainer<float>&, Index, const Progress&);

}  // namespace zeroloss::internal
