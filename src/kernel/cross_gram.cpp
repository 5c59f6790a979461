#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/parallel_for.hpp"
#include "kernel/cross.hpp"
#include "kernel/distances.hpp"
#include "kernel/entries.hpp"
#include "linalg/lapack.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss {
using namespace internal;

void internal::cross_entries(const double* X, Index n, const double* Z, Index m, Index d,
                             const Kernel& kernel, double* K, Index stride, const CrossSeen& seen) {
  lapack::gemm('T', 'N', m, n, d, 1.0, Z, d, X, d, 0.0, K, stride);
  const bool by_angle = kernel.by_angle();
  const auto size = static_cast<std::size_t>(m);
  std::vector<std::pair<Index, double>> recomputed;
  for (Index i = 0; i < n; ++i) {
    double* run = K + i * stride;
    recomputed.clear();
    if (by_angle && entries::largest(run, size) >= 1 - kNear)
      for (Index j = 0; j < m; ++j)
        if (std::abs(run[j]) >= 1 - kNear) {
          const auto [apart, across] = distances(X + i * d, Z + j * d, d);
          recomputed.emplace_back(j, kernel.at_angle(2 * std::atan2(apart, across)));
        }
    if (seen.singular != nullptr) seen.singular[i] += entries::singular_sum(run, size, kNear);
    if (seen.near != nullptr) seen.near[i] += static_cast<double>(recomputed.size());
    entries::map(kernel, run, size);
    for (const auto& [j, entry] : recomputed) run[j] = entry;
  }
}

RowMatrix cross_gram(const RowMatrix& X, const RowMatrix& Z, const Kernel& kernel, Progress& progress) {
  const Index n = X.rows(), m = Z.rows(), d = X.cols();
  if (d < 1 || Z.cols() != d)
    throw std::invalid_argument("cross_gram: points of " + fmt::to_string(d) + " and of " +
                                fmt::to_string(Z.cols()) + " features");
  if (!X.allFinite() || !Z.allFinite())
    throw std::invalid_argument("cross_gram: a point has a value that is not finite");
  require_memory(8.0 * static_cast<double>(n) * static_cast<double>(m), "the kernel",
                 "take fewer points at once");
  RowMatrix K(n, m);
  const Index columns = (m + kTile - 1) / kTile, tiles = (n + kTile - 1) / kTile * columns;
  const Threads threads(tiles > 1 ? kernel_work(n, m, d) : 0);
  progress.stage("kernel " + kernel.name, static_cast<double>(tiles));
  for (Index begin = 0; begin < tiles; begin += kTilesAtOnce) {
    const Index end = std::min(tiles, begin + kTilesAtOnce);
    const SerialBlas serial;
    parallel_for(end - begin, [&](Index k) {
      const Index t = begin + k;
      const Index i0 = t / columns * kTile, j0 = t % columns * kTile;
      const Index rows = std::min(kTile, n - i0), width = std::min(kTile, m - j0);
      cross_entries(X.data() + i0 * d, rows, Z.data() + j0 * d, width, d, kernel, K.data() + i0 * m + j0, m);
    });
    progress.advance(static_cast<double>(end - begin));
  }
  progress.finish();
  return K;
}

}  // namespace zeroloss
