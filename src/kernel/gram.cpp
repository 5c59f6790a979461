#include "zeroloss/kernel/gram.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "base/parallel_for.hpp"
#include "kernel/deep_kernel.hpp"
#include "kernel/entries.hpp"
#include "kernel/entry_run.hpp"
#include "linalg/lapack.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace {

struct Tile {
  Index i, i_end, j, j_end;  // rows and columns of the lower triangle
};

// Tiles that never cross from A11 or A21 into A22, so that each lies in one stride of the packed array.
std::vector<Tile> tiles(Index n, Index n1) {
  std::vector<Index> cuts;
  for (Index i = 0; i < n1; i += kTile) cuts.push_back(i);
  for (Index i = n1; i < n; i += kTile) cuts.push_back(i);
  cuts.push_back(n);
  std::vector<Tile> list;
  for (std::size_t b = 0; b + 1 < cuts.size(); ++b)
    for (std::size_t a = b; a + 1 < cuts.size(); ++a)
      list.push_back({cuts[a], cuts[a + 1], cuts[b], cuts[b + 1]});
  return list;
}

template <class T>
struct TileTally : Tally {
  std::vector<T> buffer;  // a diagonal tile
};

template <class T>
class Builder {
 public:
  Builder(const Rows<T>& X, const Kernel& kernel, Packed<T>& K)
      : X_(X), runs_(kernel, X.cols()), K_(K), at_one_(static_cast<T>(kernel(1))) {}

  void build(const Tile& t, TileTally<T>& tally) const {
    const Index d = X_.cols(), rows = t.i_end - t.i, columns = t.j_end - t.j, n1 = K_.n1();
    const T* xi = X_.data() + t.i * d;
    const T* xj = X_.data() + t.j * d;
    const bool corner = t.j >= n1, diagonal = t.i == t.j;
    T* products = diagonal ? tally.buffer.data()
                  : corner ? K_.corner_row(t.i) + (t.j - n1)
                           : K_.column(t.j) + t.i;
    const Index stride = diagonal ? kTile : K_.stride();
    if (corner)  // runs along j are contiguous
      lapack::gemm('T', 'N', columns, rows, d, T{1}, xj, d, xi, d, T{0}, products, stride);
    else  // runs along i are
      lapack::gemm('T', 'N', rows, columns, d, T{1}, xi, d, xj, d, T{0}, products, stride);

    if (corner) {
      for (Index i = t.i; i < t.i_end; ++i) {
        const Index count = std::min(t.j_end, i) - t.j;
        T* run = K_.corner_row(i) + (t.j - n1);
        if (diagonal) std::copy_n(products + (i - t.i) * stride, count, run);
        finish(run, count, i, t.j, tally);
      }
    } else {
      for (Index j = t.j; j < t.j_end; ++j) {
        const Index first = std::max(t.i, j + 1), count = t.i_end - first;
        T* run = K_.column(j) + first;
        if (diagonal) std::copy_n(products + (j - t.j) * stride + (first - t.i), count, run);
        finish(run, count, j, first, tally);
      }
    }
    if (diagonal)
      for (Index i = t.i; i < t.i_end; ++i) K_(i, i) = at_one_;  // <x, x> = 1 exactly
  }

 private:
  // One run of inner products <x_fixed, x_start>, <x_fixed, x_start+1>, .. becomes kernel entries.
  void finish(T* run, Index count, Index fixed, Index start, Tally& tally) const {
    const auto place = [&](Index q) -> PlacedPair<T> {
      const Index i = std::max(fixed, start + q), j = std::min(fixed, start + q);
      return {i, j, X_.row(i).data(), X_.row(j).data()};
    };
    runs_.finish(run, count, place, tally);
  }

  const Rows<T>& X_;
  EntryRuns<T> runs_;
  Packed<T>& K_;
  T at_one_;
};

template <class T>
void build_all(const Builder<T>& builder, std::span<const Tile> tiles, std::span<TileTally<T>> tallies,
               std::span<double> singular_sums) {
  parallel_for(std::ssize(tiles), [&](Index k) {
    const auto t = static_cast<std::size_t>(k);
    TileTally<T>& tally = tallies[static_cast<std::size_t>(omp_get_thread_num())];
    builder.build(tiles[t], tally);
    singular_sums[t] = std::exchange(tally.singular_sum, 0.0);
  });
}

}  // namespace

double Kernel::operator()(double rho) const {
  if (deep) return (*deep)(rho);
  return (times_rho ? rho : 1.0) * dual(rho);
}

double Kernel::at_angle(double theta) const {
  if (deep) return deep->at_angle(theta);
  return (times_rho ? std::cos(theta) : 1.0) * dual.at_angle(theta);
}

double Kernel::slope() const {
  if (deep) return edge().share > 0 ? std::numeric_limits<double>::infinity() : edge().most;
  return times_rho ? dual.slope : dual.plain_slope;
}

// rho h of a leak: |k'| <= h(1) + |h'|.
Edge Kernel::edge() const {
  return deep ? deep->edge() : Edge{(1 + dual.leak * dual.leak) / 2, dual.share()};
}

double Kernel::error() const { return deep ? deep->error() : dual.error; }

bool Kernel::verified() const { return deep ? deep->verified() : dual.verified; }

bool Kernel::by_angle() const { return deep || std::isinf(slope()); }

Kernel sigma(const Activation& activation) {
  return {"Sigma(" + activation.name + ")", dual_activation(activation, true), true};
}

Kernel sigma_features(const Activation& activation) {
  return {"Sigma~(" + activation.name + ")", dual_activation(activation, false), false};
}

Kernel power(int r) {
  if (r < 1) throw std::invalid_argument("power: r must be >= 1; got " + fmt::to_string(r));
  Dual dual;
  dual.coefficients.assign(static_cast<std::size_t>(r) + 1, 0.0);
  dual.coefficients.back() = 1;
  dual.error = 2.1 * r * u;
  dual.slope = r + 1;
  dual.plain_slope = r;
  return {"G^" + fmt::to_string(r), dual, false};
}

template <class T>
void gram_into(Gram<T>& result, const Rows<T>& X, const Kernel& kernel, Progress& progress) {
  const Index n = X.rows(), d = X.cols();
  if (n < 1 || d < 1) throw std::invalid_argument("gram: X needs at least one row and one column");
  if (!X.allFinite()) throw std::invalid_argument("gram: X has values that are not finite");
  if (result.K.n() != n) throw std::invalid_argument("gram_into: the packed matrix has another size than X");
  const auto list = tiles(n, result.K.n1());
  const Builder<T> builder(X, kernel, result.K);
  const Threads threads(list.size() > 1 ? kernel_work(n, n, d) / 2 : 0);
  std::vector<TileTally<T>> tallies(static_cast<std::size_t>(thread_count()));
  std::vector<double> singular_sums(list.size());
  for (auto& tally : tallies) tally.buffer.resize(static_cast<std::size_t>(kTile * kTile));

  progress.stage("kernel " + kernel.name, static_cast<double>(list.size()));
  for (std::size_t begin = 0; begin < list.size(); begin += kTilesAtOnce) {
    const std::size_t count = std::min<std::size_t>(list.size() - begin, kTilesAtOnce);
    const SerialBlas serial;
    build_all<T>(builder, std::span(list).subspan(begin, count), tallies,
                 std::span(singular_sums).subspan(begin, count));
    progress.advance(static_cast<double>(count));
  }
  progress.finish();

  Closest closest;
  for (const auto& tally : tallies) closest.add(tally.closest);
  const double singular_sum = std::accumulate(singular_sums.begin(), singular_sums.end(), 0.0);
  const auto width = static_cast<double>(d);
  result.near_pairs = closest.near_pairs();
  result.closest = closest.pairs(X);
  result.separation = separation_bound(result.closest, result.near_pairs, width);
  if (!std::is_same_v<T, double> && !result.closest.empty()) result.separation = 0;
  result.entry_error = std::is_same_v<T, double>
                           ? entry_error(kernel, static_cast<double>(n), width,
                                         static_cast<double>(result.near_pairs), singular_sum)
                           : std::numeric_limits<double>::infinity();
}

template <class T>
Gram<T> gram(const Rows<T>& X, const Kernel& kernel, Progress& progress) {
  Gram<T> result{Packed<T>(X.rows())};
  gram_into(result, X, kernel, progress);
  return result;
}

template Gram<double> gram(const Rows<double>&, const Kernel&, Progress&);
template Gram<float> gram(const Rows<float>&, const Kernel&, Progress&);
template void gram_into(Gram<double>&, const Rows<double>&, const Kernel&, Progress&);
template void gram_into(Gram<float>&, const Rows<float>&, const Kernel&, Progress&);

}  // namespace zeroloss
