#include "zeroloss/kernel/gram.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/lapack.hpp"
#include "core/rounding.hpp"
#include "kernel/distances.hpp"
#include "kernel/entries.hpp"
#include "zeroloss/core/blas.hpp"
#include "zeroloss/core/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr std::size_t kClosest = 16;  // pairs kept

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

struct Candidate {
  double distance;  // up to sign
  Index i, j;
  bool operator<(const Candidate& other) const {  // a total order: the 16 closest do not depend on threads
    if (distance != other.distance) return distance < other.distance;
    return i != other.i ? i < other.i : j < other.j;
  }
};

// What one thread gathers over its tiles.
template <class T>
struct Tally {
  std::vector<Candidate> closest;  // a heap, the farthest on top
  Index near_pairs = 0;
  double singular_sum = 0;  // of the tile in work: the tiles' sums are added in their order
  std::vector<T> buffer;    // a diagonal tile

  // |rho| from which on a pair may belong to the closest.
  double bar() const {
    if (closest.size() < kClosest) return -1;
    const double reach = closest.front().distance;
    return 1 - reach * reach / 2;
  }
  void offer(const Candidate& candidate) {
    if (closest.size() == kClosest) {
      if (!(candidate < closest.front())) return;
      std::pop_heap(closest.begin(), closest.end());
      closest.pop_back();
    }
    closest.push_back(candidate);
    std::push_heap(closest.begin(), closest.end());
  }
};

template <class T>
class Builder {
 public:
  Builder(const Rows<T>& X, const Kernel& kernel, Packed<T>& K)
      : X_(X),
        kernel_(kernel),
        K_(K),
        singular_(std::isinf(kernel.slope())),
        at_one_(static_cast<T>(kernel(1))) {}

  void build(const Tile& t, Tally<T>& tally) const {
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
  void finish(T* run, Index count, Index fixed, Index start, Tally<T>& tally) const {
    if (count <= 0) return;
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::pair<Index, double>> recomputed;
    if (entries::largest(run, size) >= std::min(1 - kNear, tally.bar())) {
      for (Index q = 0; q < count; ++q) {
        const double closeness = std::abs(static_cast<double>(run[q]));
        const Index i = std::max(fixed, start + q), j = std::min(fixed, start + q);
        if (closeness < 1 - kNear) {
          if (closeness >= tally.bar()) tally.offer({std::sqrt(2 - 2 * closeness), i, j});
          continue;
        }
        const auto [apart, across] = distances(X_.row(i).data(), X_.row(j).data(), X_.cols());
        tally.offer({std::min(apart, across), i, j});
        ++tally.near_pairs;
        if (singular_) recomputed.emplace_back(q, kernel_.at_angle(2 * std::atan2(apart, across)));
      }
    }
    if constexpr (std::is_same_v<T, double>)
      if (singular_) tally.singular_sum += entries::singular_sum(run, size, kNear);
    entries::map(kernel_, run, size);
    for (const auto& [q, entry] : recomputed) run[q] = static_cast<T>(entry);
  }

  const Rows<T>& X_;
  const Kernel& kernel_;
  Packed<T>& K_;
  bool singular_;
  T at_one_;
};

// Theory 3, entries. delta bounds |fl(rho) - rho|: rows within unit_row_error of the exactly normalised ones,
// a dot product of any order, and underflow. The factor 1 + 2^-20 covers the rounding of this evaluation
// itself.
double row_error(double d) { return unit_row_error(static_cast<Index>(d)); }
double product_error(double d) { return d * u / (1 - d * u) + 2.01 * row_error(d) + d * 0x1p-1020; }

double entry_error(const Kernel& kernel, double n, double d, double near_pairs, double singular_sum) {
  const double row = row_error(d), delta = product_error(d);
  // The vectorised evaluation: the dual's own error, doubled for powers of rho^2 in place of rho, and 4 ulp
  // of asin and the products around it.
  const double evaluation = n * (2 * kernel.dual.error + 16 * u * std::max(1.0, std::abs(kernel(1))));
  double bound = 0;
  if (std::isfinite(kernel.slope())) {
    bound = n * delta * kernel.slope() + evaluation;
  } else {
    // rho h of a leak: |k'| <= (1 + leak^2)/2 + share/(2 pi sqrt(1 - rho^2)), taken at the far end of
    // [rho - delta, rho + delta].
    const double share = kernel.dual.share(), most = (1 + kernel.dual.leak * kernel.dual.leak) / 2;
    const double widen = 1 / std::sqrt(1 - 2.1 * delta / kNear);
    const double far =
        delta * (n * most + share * (widen * std::sqrt(2 * singular_sum) / (2 * std::numbers::pi)));
    const double theta = 2.1 * row + 30 * u;   // of a near pair's angle
    const double slope = share * 0.16 + most;  // |dk/dtheta| <= most + share/(2 pi)
    bound = far + std::sqrt(2 * near_pairs) * slope * theta + evaluation;
  }
  return bound * (1 + 0x1p-20);
}

// A pair is known through rho, but near ones were measured on the vectors. Of both kinds the least counts:
// where there are near pairs, others may be as close as the cut between the kinds.
double separation_bound(double least, bool near, double d) {
  const auto through_rho = [&](double distance) {
    return std::sqrt(std::max(0.0, distance * distance - 4 * product_error(d))) * (1 - 8 * u);
  };
  if (!near) return through_rho(least);
  const double measured = std::max(0.0, least * (1 - 8 * u) - 2.1 * row_error(d));
  return std::min(measured, through_rho(std::sqrt(2 * kNear) * (1 - 4 * u)));
}

}  // namespace

double Kernel::at_angle(double theta) const {
  return (times_rho ? std::cos(theta) : 1.0) * dual.at_angle(theta);
}

Kernel sigma(const Activation& activation) {
  return {"Sigma(" + activation.name + ")", dual_activation(activation, true), true};
}

Kernel sigma_features(const Activation& activation) {
  return {"Sigma~(" + activation.name + ")", dual_activation(activation, false), false};
}

Kernel power(int r) {
  if (r < 1) throw std::invalid_argument("power: r must be >= 1; got " + std::to_string(r));
  Dual dual;
  dual.coefficients.assign(static_cast<std::size_t>(r) + 1, 0.0);
  dual.coefficients.back() = 1;
  dual.error = 2.1 * r * u;
  dual.slope = r + 1;
  dual.plain_slope = r;
  return {"G^" + std::to_string(r), dual, false};
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
  std::vector<Tally<T>> tallies(static_cast<std::size_t>(thread_count()));
  std::vector<double> singular_sums(list.size());
  for (auto& tally : tallies) tally.buffer.resize(static_cast<std::size_t>(kTile * kTile));

  progress.stage("kernel " + kernel.name, static_cast<double>(list.size()));
  for (std::size_t begin = 0; begin < list.size(); begin += kTilesAtOnce) {
    const std::size_t end = std::min(list.size(), begin + kTilesAtOnce);
    const SerialBlas serial;
#pragma omp parallel for schedule(dynamic)
    for (std::size_t t = begin; t < end; ++t) {
      Tally<T>& tally = tallies[static_cast<std::size_t>(omp_get_thread_num())];
      builder.build(list[t], tally);
      singular_sums[t] = std::exchange(tally.singular_sum, 0.0);
    }
    progress.advance(static_cast<double>(end - begin));
  }
  progress.finish();

  std::vector<Candidate> closest;
  const double singular_sum = std::accumulate(singular_sums.begin(), singular_sums.end(), 0.0);
  result.near_pairs = 0;
  for (const auto& tally : tallies) {
    closest.insert(closest.end(), tally.closest.begin(), tally.closest.end());
    result.near_pairs += tally.near_pairs;
  }
  std::sort(closest.begin(), closest.end());
  closest.resize(std::min(closest.size(), kClosest));
  result.closest.clear();
  for (const auto& c : closest) {
    const auto [apart, across] = distances(X.row(c.i).data(), X.row(c.j).data(), d);
    result.closest.push_back({c.i, c.j, std::min(apart, across), across < apart});
  }
  std::stable_sort(result.closest.begin(), result.closest.end(),
                   [](const Pair& a, const Pair& b) { return a.distance < b.distance; });
  const auto width = static_cast<double>(d);
  result.separation = result.closest.empty() ? std::numeric_limits<double>::infinity()
                      : std::is_same_v<T, double>
                          ? separation_bound(result.closest.front().distance, result.near_pairs > 0, width)
                          : 0;
  result.entry_error = std::is_same_v<T, double>
                           ? entry_error(kernel, static_cast<double>(n), static_cast<double>(d),
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
