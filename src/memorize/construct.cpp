#include "memorize/construct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "linalg/rounding.hpp"
#include "memorize/forward.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

enum Draws : std::uint64_t { kFirstLayer, kConstant, kCodes };  // of Stream::memorizer

double power_of_two_near(double x) { return std::exp2(std::round(std::log2(x))); }

void require_construction_memory(const Memory& memory, Index k) {
  const auto n = static_cast<double>(memory.data.n()), d = static_cast<double>(memory.data.d());
  const auto K = static_cast<double>(k), r = static_cast<double>(memory.r);
  const double copies = memory.single() ? 1.5 : 2;  // of the network: as stored, and as it is run
  const double blocks = std::ceil(n / K) * K;
  const double proof = memory.Y != nullptr ? 3 : 0;  // ExactNetwork
  const double bytes =
      8 * ((2 + proof) * n * K + copies * (blocks * (2 * K + 1) + K * d + r * (r + K)) + 8 * K * K);
  require_memory(bytes, fmt::format("a memoriser of hidden width {}", k),
                 "try a smaller hidden width (hidden) or fewer points (n)");
}

// A row of A_0 for floats: integers at random columns, times their scales.
void draw_integers(const ExactWeights& exact, double factor, const Vector& scale, Random& random,
                   Eigen::Ref<Eigen::RowVectorXd> row) {
  row.setZero();
  std::vector<Index> columns = exact.columns;
  if (exact.chosen < columns.size()) shuffle(columns, random);
  for (std::size_t c = 0; c < exact.chosen; ++c) {
    const double size = 1 + static_cast<double>(random.below(static_cast<std::uint64_t>(exact.largest)));
    row(columns[c]) = (random.below(2) == 0 ? size : -size) * factor * scale(columns[c]);
  }
}

// A_0 of N(0, 1) entries, or of integers whose sums floats hold, times a power of two that brings the longest
// image to a length near 1, and b_0: the weights of a constant as large as the longest point, or what moves
// the origin to the mean.
Memorizer draw_first_layer(const Memory& memory, const Origin& origin, Index k) {
  const bool single = memory.single();
  const double length = origin.longest > 0 ? origin.longest : 1;
  double factor = 1 / power_of_two_near(length * std::sqrt(static_cast<double>(k)));
  Memorizer network;
  network.precision = memory.options.precision;
  network.task = memory.Y == nullptr ? Task::classification : Task::regression;
  if (memory.Y == nullptr) network.class_names = memory.data.class_names;
  network.encoding = memory.data.encoding;
  network.A_0.resize(k, memory.data.d());
  Random weights(memory.options.seed, Stream::memorizer, kFirstLayer);
  Vector mean = origin.mean;
  if (!memory.exact.columns.empty()) {
    // Rows of m integers of size w / sqrt(3) are as long as rows of normal numbers, if w sqrt(m / (3 d))
    // is 1.
    const double share = static_cast<double>(memory.exact.chosen) / static_cast<double>(memory.data.d());
    factor /= power_of_two_near(memory.exact.largest * std::sqrt(share / 3));
    for (Index i = 0; i < k; ++i)
      draw_integers(memory.exact, factor, memory.scale, weights, network.A_0.row(i));
    for (Index j = 0; j < mean.size(); ++j)
      if (const double q = memory.columns.quantum(j); q > 0)
        mean(j) = (std::floor(mean(j) / q) + 0.5) * q;  // no point is there
  } else {
    for (Index i = 0; i < k; ++i)
      for (Index j = 0; j < memory.data.d(); ++j)
        network.A_0(i, j) = stored(factor * weights.normal() * memory.scale(j), single);
  }
  if (mean.size() > 0) network.b_0 = -network.A_0 * mean;
  if (origin.constant) {
    Random constant(memory.options.seed, Stream::memorizer, kConstant);
    if (network.b_0.size() == 0) network.b_0 = Vector::Zero(k);
    const double unit = 1 / power_of_two_near(std::sqrt(static_cast<double>(k)));
    for (double& b : network.b_0) {
      const double weight = constant.normal();
      // A power of two joins exact sums exactly.
      b += memory.exact.columns.empty()
               ? factor * power_of_two_near(length) * weight
               : unit * std::copysign(power_of_two_near(std::max(std::abs(weight), 0x1p-4)), weight);
    }
  }
  for (double& b : network.b_0) b = stored(b, single);
  return network;
}

// Scales the first layer so that the largest and the smallest ||z||^2 lie evenly about 1, and Z with it.
void scale_to_unit_norms(const Memory& memory, Memorizer& network, RowMatrix& Z, Progress& progress) {
  const Vector squares = Z.rowwise().squaredNorm();
  const double factor = std::sqrt(2 / (squares.maxCoeff() + squares.minCoeff()));
  if (!std::isfinite(factor)) return;
  for (double& a : network.A_0.reshaped()) a = stored(a * factor, memory.single());
  for (double& b : network.b_0) b = stored(b * factor, memory.single());
  Z = first_layer(network, memory.data.X, progress);
}

struct Distinct {
  std::vector<Index> rows;                          // of different images, by decreasing norm
  std::vector<Index> places;                        // of every point: where its image is in `rows`
  std::optional<std::pair<Index, Index>> together;  // points with one image and different targets
};

Distinct distinct_images(const Memory& memory, const RowMatrix& Z) {
  const Vector squares = Z.rowwise().squaredNorm();
  const RowMatrix& X = memory.data.X;
  std::vector<Index> order(static_cast<std::size_t>(Z.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index i, Index j) {
    if (squares(i) != squares(j)) return squares(i) > squares(j);
    for (Index c = 0; c < Z.cols(); ++c)
      if (Z(i, c) != Z(j, c)) return Z(i, c) < Z(j, c);
    return i < j;
  });
  Distinct distinct;
  distinct.places.resize(order.size());
  std::vector<Index> points;  // that differ and have the last image
  for (const Index i : order) {
    const bool other = distinct.rows.empty() || Z.row(distinct.rows.back()) != Z.row(i);
    if (other) distinct.rows.push_back(i);
    distinct.places[static_cast<std::size_t>(i)] = std::ssize(distinct.rows) - 1;
    if (other) {
      points = {i};
      continue;
    }
    const auto same =
        std::find_if(points.begin(), points.end(), [&](Index j) { return X.row(j) == X.row(i); });
    if (same != points.end() && !memory.same_target(*same, i))
      throw DataError(fmt::format(
          "{}: samples {} and {} are the same point: no network gives it both targets", memory.data.name,
          describe(sample(memory.data, *same)), describe(sample(memory.data, i))));
    if (same == points.end()) points.push_back(i);
    const Index first = distinct.rows.back();
    if (!distinct.together && !memory.same_target(first, i)) distinct.together = {first, i};
  }
  return distinct;
}

// The output layer for classes: neuron j reads code q_j, thresholds t; its smallest margin.
double read_codes(const RowMatrix& Q, const Vector& t, bool single, Memorizer& network) {
  const Matrix products = Q * Q.transpose();
  const Index r = Q.rows();
  network.U_out = Q;
  network.s_out = -t;
  network.V_out = RowMatrix::Zero(r, r);
  double least = 1;
  for (Index j = 0; j < r; ++j) {
    const double square = Q.row(j).squaredNorm();
    network.V_out(j, j) = stored(1 / (square - t(j)), single);
    least = smaller(least, (square - t(j)) / square);
    for (Index i = 0; i < r; ++i)
      if (i != j) least = smaller(least, (t(j) - products(i, j)) / square);
  }
  return least;
}

// Thresholds halfway between ||q_j||^2 and the largest <q_j, q_i>; half of ||q||^2 for a single code.
Vector halfway_thresholds(const RowMatrix& Q, bool single) {
  Vector t(Q.rows());
  for (Index j = 0; j < Q.rows(); ++j) {
    Vector products = Q * Q.row(j).transpose();
    const double square = products(j);
    products(j) = -square;
    t(j) = stored((Q.rows() == 1 ? square : square + products.maxCoeff()) / 2, single);
  }
  return t;
}

// The output layer for real-valued targets: the first r coordinates through pairs of neurons, divided by the
// scale.
void read_coordinates(Index r, double scale, Memorizer& network) {
  const Index k = network.hidden();
  network.U_out = RowMatrix::Zero(2 * r, k);
  network.s_out = Vector::Zero(2 * r);
  network.V_out = RowMatrix::Zero(r, 2 * r);
  for (Index j = 0; j < r; ++j) {
    network.U_out(2 * j, j) = 1, network.U_out(2 * j + 1, j) = -1;
    network.V_out(j, 2 * j) = 1 / scale, network.V_out(j, 2 * j + 1) = -1 / scale;
  }
}

// Codes of the classes, as stored, on a sphere.
RowMatrix codes(const Memory& memory, Index k, double radius) {
  RowMatrix Q = unit_codes(memory.r, k, memory.options.seed);
  for (double& q : Q.reshaped()) q = stored(radius * q, memory.single());
  return Q;
}

// The later image whose product with z_a is largest.
Index nearest_later(const RowMatrix& U, Index a, Index count) {
  Index place = 0;
  (U.middleRows(a + 1, count - a - 1) * U.row(a).transpose()).maxCoeff(&place);
  return a + 1 + place;
}

// The blocks' U: images in the order given, and rows of 0 to the end of the last block.
Images place(std::vector<Index> rows, const RowMatrix& Z, Memorizer& network) {
  const Index m = std::ssize(rows), k = Z.cols(), padded = (m + k - 1) / k * k;
  network.U = network.V = RowMatrix::Zero(padded, k);
  network.s = Vector::Zero(padded);
  for (Index a = 0; a < m; ++a) network.U.row(a) = Z.row(rows[static_cast<std::size_t>(a)]);
  return {std::move(rows), network.U.topRows(m).rowwise().squaredNorm(), {}, 1};
}

struct Margins {
  Vector images;
  double output = 1;  // of the output layer
};

// Both return false with a failure in `result` if there is nothing to build.
bool build_by_norm(const Memory& memory, Images& images, Construction& result, Margins& margins,
                   Progress& progress) {
  Memorizer& network = result.network;
  const double shortest = std::sqrt(images.squares.minCoeff());
  if (!(shortest > 0)) {
    result.failure =
        fmt::format("a first layer of width {} maps a point to 0 in {}", network.hidden(), network.precision);
    return false;
  }
  if (memory.Y == nullptr) {
    images.Q = codes(memory, network.hidden(), shortest / 2);
    margins.output =
        read_codes(images.Q, halfway_thresholds(images.Q, memory.single()), memory.single(), network);
  } else {
    if (memory.largest_target > 0)
      images.scale = std::exp2(std::floor(std::log2(shortest / 2 / memory.largest_target)));
    read_coordinates(memory.r, images.scale, network);
  }
  order_by_norm(memory, images, network, margins.images, progress);
  return true;
}

bool build_paper(const Memory& memory, Images& images, Construction& result, Margins& margins,
                 Progress& progress) {
  Memorizer& network = result.network;
  images.Q = codes(memory, network.hidden(), 1);
  const PaperCheck check = check_paper(images, network.U, progress);
  if (check.failure.empty()) {
    const double t = stored(1 - 2 * check.rho, memory.single());
    apply_paper(memory, images, check, t, network, margins.images);
    margins.output = read_codes(images.Q, Vector::Constant(memory.r, t), memory.single(), network);
    return true;
  }
  const auto who = [&](Index a) {
    const Index code = a - images.count();
    if (code >= 0)
      return fmt::format("the code of class {}", memory.data.class_names[static_cast<std::size_t>(code)]);
    result.closest.push_back(sample(memory.data, images.rows[static_cast<std::size_t>(a)]));
    return "sample " + describe(result.closest.back());
  };
  const std::string first = who(check.first), second = who(check.second);
  result.failure = fmt::format("the paper's construction does not apply with width {}: {} and {}: {}",
                               network.hidden(), first, second, check.failure);
  return false;
}

// What rounding may have added to a margin (theory 11): ||z||^2, inner products and the codes' lengths are
// each off by gamma_(k+4) ||z||^2 at most; the paper's construction sums k + 1 terms, and has ||z||^2 >= 1/3.
double margin_rounding(Index k) { return static_cast<double>(16 * k + 64) * u; }

// The smallest margin, whose it is, and whether the network is one.
void judge(const Memory& memory, const Images& images, const Margins& margins, Construction& result) {
  const Memorizer& network = result.network;
  const Index m = images.count(), k = network.hidden();
  Index worst = 0;
  const double least = margins.images.minCoeff<Eigen::PropagateNaN>(&worst);
  result.min_margin = std::max(0.0, smaller(least, margins.output) - margin_rounding(k));
  for (Index a = 0; a < m; a += k)
    result.block_margins.push_back(
        std::max(0.0, margins.images.segment(a, std::min(k, m - a)).minCoeff() - margin_rounding(k)));
  if (least <= margins.output) {
    const auto named = [&](Index a) { return sample(memory.data, images.rows[static_cast<std::size_t>(a)]); };
    result.closest = {named(worst)};
    if (worst + 1 < m) result.closest.push_back(named(nearest_later(network.U, worst, m)));
  }
  if (!(smaller(least, margins.output) > 0))
    result.failure = fmt::format("{} are too close for {} with width {}: there is no room for a threshold",
                                 names(result.closest), network.precision, k);
  else if (!network.V.allFinite() || !network.V_out.allFinite())
    result.failure = fmt::format("{} are too close for {} with width {}: weights exceed its range",
                                 names(result.closest), network.precision, k);
}

}  // namespace

std::string names(const std::vector<Sample>& points) {
  if (points.empty()) return "the codes of the classes";
  if (points.size() == 1) return "sample " + describe(points[0]) + " and the codes";
  return fmt::format("samples {} and {}", describe(points[0]), describe(points[1]));
}

RowMatrix unit_codes(Index r, Index k, std::uint64_t seed) {
  RowMatrix Q(r, k);
  Random random(seed, Stream::memorizer, kCodes);
  const auto draw = [&] {
    Vector q(k);
    for (double& c : q) c = random.normal();
    return Vector(q / q.norm());
  };
  const Index candidates = r <= 1000 ? 16 : 1;
  for (Index j = 0; j < r; ++j) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(r);
    if (k == 1) Q(j, 0) = j % 2 == 0 ? 1 : -1;
    if (k == 2) Q.row(j) << std::cos(angle), std::sin(angle);
    if (k <= 2) continue;
    double best = 2;
    for (Index c = 0; c < candidates; ++c) {
      const Vector q = draw();
      const double closest = j == 0 ? -1 : (Q.topRows(j) * q).maxCoeff();
      if (closest < best) Q.row(j) = q.transpose(), best = closest;
    }
  }
  return Q;
}

void solve_block(const Memory& memory, const Images& images, Index block, const Eigen::Ref<const Matrix>& G,
                 Memorizer& network) {
  const Index k = network.hidden(), first = block * k, size = G.rows();
  Matrix D(k, size);  // where the images have to go; then V
  for (Index i = 0; i < size; ++i) {
    const Index row = images.rows[static_cast<std::size_t>(first + i)];
    if (memory.Y == nullptr) {
      D.col(i) = images.Q.row(static_cast<Index>(memory.data.y(row))).transpose();
    } else {
      D.col(i).setZero();
      for (Index j = 0; j < memory.r; ++j)
        D(j, i) = stored(images.scale * (*memory.Y)(row, j), memory.single());
    }
    D.col(i) -= network.U.row(first + i).transpose();
  }
  const Matrix T = (G.colwise() + network.s.segment(first, size)).cwiseMax(0);
  T.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(D);
  for (Index a = 0; a < size; ++a)
    for (Index j = 0; j < k; ++j) network.V(first + j, a) = stored(D(j, a), memory.single());
}

Construction construct(const Memory& memory, const Origin& origin, Index k, Progress& progress) {
  require_construction_memory(memory, k);
  const SerialBlas serial;  // the same bits for any number of threads
  const bool paper = memory.options.construction == "paper";
  Construction result{draw_first_layer(memory, origin, k)};
  RowMatrix Z = first_layer(result.network, memory.data.X, progress);
  if (paper) scale_to_unit_norms(memory, result.network, Z, progress);
  Distinct distinct = distinct_images(memory, Z);
  if (distinct.together && !memory.exact.columns.empty()) {  // normal weights tell more points apart
    Memory normal = memory;
    normal.exact = {};
    return construct(normal, origin, k, progress);
  }
  if (distinct.together) {
    const auto [i, j] = *distinct.together;
    result.closest = {sample(memory.data, i), sample(memory.data, j)};
    result.failure = fmt::format("{} have the same image in {} under a first layer of width {}",
                                 names(result.closest), memory.options.precision, k);
    return result;
  }
  if (paper) std::sort(distinct.rows.begin(), distinct.rows.end());
  Images images = place(std::move(distinct.rows), Z, result.network);
  Z.resize(0, 0);
  result.n_distinct = images.count();
  Margins margins{Vector(images.count())};
  if (paper ? build_paper(memory, images, result, margins, progress)
            : build_by_norm(memory, images, result, margins, progress))
    judge(memory, images, margins, result);
  result.points = std::move(images.rows);
  result.neurons = std::move(distinct.places);
  return result;
}

}  // namespace zeroloss::internal
