#include <omp.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/lapack.hpp"
#include "kernel/distances.hpp"
#include "kernel/entries.hpp"
#include "zeroloss/core/blas.hpp"
#include "zeroloss/core/memory.hpp"
#include "zeroloss/core/threads.hpp"
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss {
using namespace internal;

RowMatrix cross_gram(const RowMatrix& X, const RowMatrix& Z, const Kernel& kernel, Progress& progress) {
  const Index n = X.rows(), m = Z.rows(), d = X.cols();
  if (d < 1 || Z.cols() != d)
    throw std::invalid_argument("cross_gram: points of " + std::to_string(d) + " and of " +
                                std::to_string(Z.cols()) + " features");
  if (!X.allFinite() || !Z.allFinite())
    throw std::invalid_argument("cross_gram: a point has a value that is not finite");
  require_memory(8.0 * static_cast<double>(n) * static_cast<double>(m), "the kernel",
                 "take fewer points at once");
  RowMatrix K(n, m);
  const bool singular = std::isinf(kernel.slope());
  const Index columns = (m + kTile - 1) / kTile, tiles = (n + kTile - 1) / kTile * columns;
  const Threads threads(tiles > 1 ? kernel_work(n, m, d) : 0);
  progress.stage("kernel " + kernel.name, static_cast<double>(tiles));
  for (Index begin = 0; begin < tiles; begin += kTilesAtOnce) {
    const Index end = std::min(tiles, begin + kTilesAtOnce);
    const SerialBlas serial;
#pragma omp parallel for schedule(dynamic)
    for (Index t = begin; t < end; ++t) {
      const Index i0 = t / columns * kTile, j0 = t % columns * kTile;
      const Index rows = std::min(kTile, n - i0), width = std::min(kTile, m - j0);
      lapack::gemm('T', 'N', width, rows, d, 1.0, Z.data() + j0 * d, d, X.data() + i0 * d, d, 0.0,
                   K.data() + i0 * m + j0, m);
      std::vector<std::pair<Index, double>> recomputed;
      for (Index i = i0; i < i0 + rows; ++i) {
        double* run = K.data() + i * m + j0;
        const auto size = static_cast<std::size_t>(width);
        recomputed.clear();
        if (singular && entries::largest(run, size) >= 1 - kNear)
          for (Index q = 0; q < width; ++q)
            if (std::abs(run[q]) >= 1 - kNear) {
              const auto [apart, across] = distances(X.data() + i * d, Z.data() + (j0 + q) * d, d);
              recomputed.emplace_back(q, kernel.at_angle(2 * std::atan2(apart, across)));
            }
        entries::map(kernel, run, size);
        for (const auto& [q, entry] : recomputed) run[q] = entry;
      }
    }
    progress.advance(static_cast<double>(end - begin));
  }
  progress.finish();
  return K;
}

}  // namespace zeroloss
