#include "audit/similarity.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "audit/city_block.hpp"
#include "base/parallel_for.hpp"
#include "kernel/cross.hpp"
#include "kernel/entries.hpp"
#include "linalg/lapack.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kConstant = 0.1;  // appended for the network, in root mean square lengths of a point
constexpr Index kTilesBetween = 64;

/// x with P(N(0, 1) <= x) = p: Abramowitz & Stegun 26.2.23 and two of Halley's steps. p in (0, 1).
double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  const double t = std::sqrt(-2 * std::log(p));
  double x =
      (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (int step = 0; step < 2; ++step) {
    const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
    const double ratio = error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
    x -= ratio / (1 + x * ratio / 2);
  }
  return x;
}

/// Mean and standard deviation, whatever the size of the numbers.
struct Spread {
  double middle = 0, deviation = 0;
  explicit Spread(const Eigen::Ref<const Vector>& column) {
    const double largest = column.cwiseAbs().maxCoeff();
    if (largest == 0 || column.maxCoeff() == column.minCoeff()) return;
    const Vector part = column / largest;
    middle = part.mean();
    deviation = largest * std::sqrt((part.array() - middle).square().mean());
    middle *= largest;
  }
};

/// The distinct numbers of a column, and of each the normal score of its middle rank, to deviation 1.
void rank(const Vector& column, std::vector<double>& values, std::vector<double>& scores) {
  std::vector<double> sorted(column.begin(), column.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double squares = 0;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
    const double score = normal_quantile(static_cast<double>(begin + end) / (2 * n));
    values.push_back(sorted[begin]);
    scores.push_back(score);
    squares += static_cast<double>(end - begin) * score * score;
    begin = end;
  }
  for (double& score : scores) score /= std::sqrt(squares / n);
}

/// The score of a number: of the nearest one beyond the ends, else interpolated.
double score_of(double x, const std::vector<double>& values, const std::vector<double>& scores) {
  const auto above = std::lower_bound(values.begin(), values.end(), x);
  if (above == values.begin()) return scores.front();
  if (above == values.end()) return scores.back();
  const auto k = static_cast<std::size_t>(above - values.begin());
  if (*above == x) return scores[k];
  const double share = (x / 2 - values[k - 1] / 2) / (values[k] / 2 - values[k - 1] / 2);
  return scores[k - 1] + share * (scores[k] - scores[k - 1]);
}

// An estimate of all that follows of so many samples, where it is minutes: a thread of an AMD EPYC did
// 1.1e10 of the n^3/2 multiply-adds a second.
std::string minutes_beforehand(Index n) {
  const double seconds = std::pow(static_cast<double>(n), 3) / 2 / (1.1e10 * thread_count());
  if (seconds < 90) return {};
  return fmt::format("some {:.0f} min; `inducing=4000` is less", std::ceil(seconds / 60));
}

}  // namespace

Inputs Inputs::rows(Index begin, Index end) const {
  const auto some = [&](const RowMatrix& all) {
    return all.size() > 0 ? RowMatrix(all.middleRows(begin, end - begin)) : RowMatrix();
  };
  return {some(X), some(derived)};
}

Features Features::rows(const std::vector<Index>& which) const {
  Features some;
  each([&](RowMatrix Features::*part) {
    if ((this->*part).size() > 0) some.*part = (this->*part)(which, Eigen::all);
  });
  return some;
}

Columns::Columns(const RowMatrix& X, const std::string& scale, bool ranks)
    : columns_(static_cast<std::size_t>(X.cols())), width_(0) {
  double largest = 0, squares = 0;
  std::vector<Spread> spreads;
  for (Index k = 0; k < X.cols(); ++k) {
    spreads.emplace_back(Vector(X.col(k)));
    largest = std::max(largest, spreads.back().deviation);
    if (spreads.back().deviation > 0) ++width_;
  }
  for (const Spread& s : spreads)
    if (s.deviation > 0) squares += (s.deviation / largest) * (s.deviation / largest);
  width_ = std::max<Index>(width_, 1);
  const double common = largest * std::sqrt(squares / static_cast<double>(width_));
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const Spread& s = spreads[k];
    if (!(s.deviation > 0)) continue;
    Column& column = columns_[k];
    column.middle = scale == "given" ? 0 : s.middle;
    column.over = scale == "given" ? 1 : 1 / (scale == "common" ? common : s.deviation);
    if (ranks) rank(X.col(static_cast<Index>(k)), column.values, column.scores);
  }
}

template <class F>
RowMatrix Columns::each(const RowMatrix& X, const F& f) const {
  RowMatrix made = RowMatrix::Zero(X.rows(), X.cols());
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < X.rows(); ++i)
    for (Index k = 0; k < X.cols(); ++k)
      if (const Column& column = columns_[static_cast<std::size_t>(k)]; column.over != 0)
        made(i, k) = f(column, X(i, k));
  return made;
}

RowMatrix Columns::scaled(const RowMatrix& X) const {
  return each(X, [](const Column& c, double x) { return (x - c.middle) * c.over; });
}

RowMatrix Columns::ranks(const RowMatrix& X) const {
  return each(X, [](const Column& c, double x) { return score_of(x, c.values, c.scores); });
}

RowMatrix Columns::unit(const RowMatrix& scaled) const {
  const Index d = scaled.cols();
  RowMatrix made(scaled.rows(), d + 1);
  const double constant = kConstant * std::sqrt(static_cast<double>(width_));
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < made.rows(); ++i) {
    const double largest = std::max(scaled.row(i).cwiseAbs().maxCoeff(), constant);
    auto row = made.row(i);
    row.head(d) = scaled.row(i) / largest;
    row(d) = constant / largest;
    row /= row.norm();
  }
  return made;
}

Similarity::Similarity(const Inputs& train, const std::string& scale, const std::string& activation,
                       double derived)
    : Similarity({.ranks = scale == "columns" && derived < 1, .width = 1, .derived = derived}, activation) {
  if (derived < 1) columns_ = Columns(train.X, scale, shape_.ranks);
  if (derived > 0) derived_ = Columns(train.derived, "columns", false);
  shape_.width = columns_.width();
}

Similarity::Similarity(const SimilarityShape& shape, const std::string& activation)
    : shape_(shape),
      activation_(activation),
      kernel_(sigma(zeroloss::activation(activation))),
      at_one_(kernel_(1)) {}

Features Similarity::features(const Inputs& points) const {
  Features made;
  if (shape_.derived < 1) {
    made.scaled = columns_.scaled(points.X);
    if (shape_.ranks) made.ranks = columns_.ranks(points.X);
    made.unit = columns_.unit(made.scaled);
  }
  if (shape_.derived > 0) made.derived = derived_.unit(derived_.scaled(points.derived));
  return made;
}

void Similarity::tile(const Features& A, Index i, Index i_end, const Features& B, Index j, Index j_end,
                      double* K, double* distances, Index stride) const {
  if (shape_.derived < 1)
    tile_of_columns(A, i, i_end, B, j, j_end, K, shape_.derived > 0 ? nullptr : distances, stride);
  if (shape_.derived > 0) add_derived(A, i, i_end, B, j, j_end, K, distances, stride);
}

void Similarity::tile_of_columns(const Features& A, Index i, Index i_end, const Features& B, Index j,
                                 Index j_end, double* K, double* distances, Index stride) const {
  const Index d = A.scaled.cols(), rows = i_end - i, columns = j_end - j;
  const double mean = 1 / static_cast<double>(shape_.width);
  std::vector<double> apart(static_cast<std::size_t>(rows * columns)), by_rank;
  city_block(A.scaled.data() + i * d, rows, B.scaled.data() + j * d, columns, d, apart.data(), columns);
  if (shape_.ranks) {
    by_rank.resize(apart.size());
    city_block(A.ranks.data() + i * d, rows, B.ranks.data() + j * d, columns, d, by_rank.data(), columns);
  }
  cross_entries(A.unit.data() + i * (d + 1), rows, B.unit.data() + j * (d + 1), columns, d + 1, kernel_, K,
                stride);
  for (Index r = 0; r < rows; ++r)
    for (Index q = 0; q < columns; ++q) {
      const auto at = static_cast<std::size_t>(r * columns + q);
      const double near = std::exp(-mean * apart[at]);
      const double single = shape_.ranks ? (near + std::exp(-mean * by_rank[at])) / 2 : near;
      double& entry = K[r * stride + q];
      entry = (entry / at_one_ + single) / 2;
      if (distances != nullptr) distances[r * stride + q] = mean * apart[at];
    }
}

void Similarity::add_derived(const Features& A, Index i, Index i_end, const Features& B, Index j, Index j_end,
                             double* K, double* distances, Index stride) const {
  const Index p = A.derived.cols(), rows = i_end - i, columns = j_end - j;
  RowMatrix entry(rows, columns);  // inner products, then the kernel of them
  lapack::gemm('T', 'N', columns, rows, p, 1.0, B.derived.data() + j * p, p, A.derived.data() + i * p, p, 0.0,
               entry.data(), columns);
  for (Index r = 0; distances != nullptr && r < rows; ++r)
    for (Index q = 0; q < columns; ++q)
      distances[r * stride + q] = std::sqrt(std::max(0.0, 2 - 2 * entry(r, q)));
  entries::map(kernel_, entry.data(), static_cast<std::size_t>(entry.size()));
  const double share = shape_.derived;
  for (Index r = 0; r < rows; ++r)
    for (Index q = 0; q < columns; ++q) {
      double& all = K[r * stride + q];
      all = share * entry(r, q) / at_one_ + (share < 1 ? (1 - share) * all : 0);
    }
}

namespace {

struct Place {
  Index i, i_end, j, j_end;
};

std::vector<Place> places(Index n, Index m, bool lower) {
  std::vector<Place> list;
  for (Index i = 0; i < n; i += kSide)
    for (Index j = 0; j < (lower ? i + 1 : m); j += kSide)
      list.push_back({i, std::min(n, i + kSide), j, std::min(m, j + kSide)});
  return list;
}

}  // namespace

void offer(Nearest& nearest, Index i, Index j, double distance) {
  const auto at = static_cast<std::size_t>(i);
  if (distance < nearest.distance[at] || (distance == nearest.distance[at] && j < nearest.index[at])) {
    nearest.distance[at] = distance;
    nearest.index[at] = j;
  }
}

Nearest nobody(Index n) {
  const auto size = static_cast<std::size_t>(n);
  return {std::vector<Index>(size, n), std::vector<double>(size, std::numeric_limits<double>::infinity())};
}

void join(Nearest& all, const Nearest& more) {
  for (std::size_t i = 0; i < more.index.size(); ++i)
    offer(all, static_cast<Index>(i), more.index[i], more.distance[i]);
}

Packed<double> similarities(const Similarity& similarity, const Features& A, Nearest* nearest,
                            Progress& progress) {
  const Index n = A.n();
  Packed<double> K(n);
  const auto list = places(n, n, true);
  const Threads threads(list.size() > 1 ? 4 * kernel_work(n, n, A.scaled.cols() + A.derived.cols() / 4) / 2
                                        : 0);
  std::vector<Nearest> found(static_cast<std::size_t>(thread_count()), nearest ? nobody(n) : Nearest{});
  progress.stage("similarities", static_cast<double>(list.size()));
  progress.note(minutes_beforehand(n));
  for (std::size_t begin = 0; begin < list.size(); begin += kTilesBetween) {
    const std::size_t end = std::min(list.size(), begin + kTilesBetween);
    const SerialBlas serial;
    parallel_for(static_cast<Index>(end - begin), [&](Index k) {
      const Place& p = list[begin + static_cast<std::size_t>(k)];
      RowMatrix tile(p.i_end - p.i, p.j_end - p.j), apart(nearest ? tile.rows() : 0, tile.cols());
      similarity.tile(A, p.i, p.i_end, A, p.j, p.j_end, tile.data(), nearest ? apart.data() : nullptr,
                      tile.cols());
      for (Index i = p.i; i < p.i_end; ++i)
        for (Index j = p.j; j < std::min(p.j_end, i + 1); ++j) {
          K(i, j) = i == j ? 1 : tile(i - p.i, j - p.j);
          if (nearest == nullptr || i == j) continue;
          Nearest& mine = found[static_cast<std::size_t>(omp_get_thread_num())];
          offer(mine, i, j, apart(i - p.i, j - p.j));
          offer(mine, j, i, apart(i - p.i, j - p.j));
        }
    });
    progress.advance(static_cast<double>(end - begin));
  }
  if (nearest != nullptr) {
    *nearest = nobody(n);
    for (const Nearest& part : found) join(*nearest, part);
  }
  return K;
}

RowMatrix similarities(const Similarity& similarity, const Features& A, const Features& B, Nearest* nearest) {
  RowMatrix K(A.n(), B.n());
  const auto list = places(A.n(), B.n(), false);
  const Threads threads(
      list.size() > 1 ? 4 * kernel_work(A.n(), B.n(), A.scaled.cols() + A.derived.cols() / 4) : 0);
  std::vector<Nearest> found(static_cast<std::size_t>(thread_count()), nearest ? nobody(A.n()) : Nearest{});
  const SerialBlas serial;
  parallel_for(std::ssize(list), [&](Index t) {
    const Place& p = list[static_cast<std::size_t>(t)];
    RowMatrix apart(nearest ? p.i_end - p.i : 0, B.n());
    double* entries = K.data() + p.i * B.n() + p.j;
    similarity.tile(A, p.i, p.i_end, B, p.j, p.j_end, entries, nearest ? apart.data() : nullptr, B.n());
    if (nearest == nullptr) return;
    Nearest& mine = found[static_cast<std::size_t>(omp_get_thread_num())];
    for (Index i = p.i; i < p.i_end; ++i)
      for (Index j = p.j; j < p.j_end; ++j) offer(mine, i, j, apart(i - p.i, j - p.j));
  });
  if (nearest != nullptr) {
    *nearest = nobody(A.n());
    for (const Nearest& part : found) join(*nearest, part);
  }
  return K;
}

}  // namespace zeroloss::internal
