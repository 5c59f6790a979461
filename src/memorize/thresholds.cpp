#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/rounding.hpp"
#include "memorize/blocks.hpp"
#include "memorize/construct.hpp"
#include "memorize/tasks.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kRows = 64;  // images whose products with all others one task takes, at least

/// Images component by component, as blocks:: wants them, with zeros to read beyond the last one.
RowMatrix by_component(const Eigen::Ref<const RowMatrix>& Z) {
  RowMatrix columns = RowMatrix::Zero(Z.cols(), Z.rows() + blocks::kPoints);
  columns.leftCols(Z.rows()) = Z.transpose();
  return columns;
}

/// Largest product of each row of `Z` (which has as many columns as `columns` rows) with images from `first`
/// on.
Vector largest_with_later(const Eigen::Ref<const RowMatrix>& Z, const RowMatrix& columns, Index first,
                          Index count) {
  Vector largest = Vector::Constant(Z.rows(), -kInfinity);
  const Index padded = (count - first + blocks::kPoints - 1) / blocks::kPoints * blocks::kPoints;
  if (first < count)
    blocks::largest_products(Z.data(), Z.rows(), Z.cols(), columns.data() + first, columns.cols(), padded,
                             largest.data());
  return largest;
}

}  // namespace

void order_by_norm(const Memory& memory, const Images& images, Memorizer& network, Vector& margins,
                   Progress& progress) {
  constexpr double kRoom = 0.02;  // of ||z||^2: then a neuron is silent on the others of its block, too
  const Index m = images.count(), k = network.hidden(), rows = (kRows + k - 1) / k * k;
  const double longest_code = memory.Y == nullptr ? std::sqrt(images.Q.rowwise().squaredNorm().maxCoeff())
                                                  : images.scale * memory.largest_target;
  // Zeros beyond the last image do no harm: thresholds are positive because of the codes.
  const RowMatrix columns = by_component(network.U.topRows(m));
  const auto work = [&](Index begin) {
    const Index size = std::min(rows, m - begin);
    const auto Z = network.U.middleRows(begin, size);
    const Vector later = largest_with_later(Z, columns, begin + size, m);
    const Matrix G = Z * Z.transpose();
    for (Index a = 0; a < size; ++a) {
      const Index block = a / k * k, place = begin + a;
      const double square = images.squares(place);
      double low = std::max(later(a), std::sqrt(square) * longest_code);
      for (Index i = a + 1; i < size; ++i) low = std::max(low, G(a, i));
      double all = low;
      for (Index i = block; i < a; ++i) all = std::max(all, G(a, i));
      if (square - all >= kRoom * square) low = all;
      const double t = stored(low + (square - low) / 2, memory.single());
      network.s(place) = -t;
      margins(place) = smaller(square - t, t - low) / square;
    }
    for (Index first = 0; first < size; first += k) {
      const Index own = std::min(k, size - first);
      if (margins.segment(begin + first, own).minCoeff() > 0)
        solve_block(memory, images, (begin + first) / k, G.block(first, first, own, own), network);
    }
  };

  progress.stage(fmt::format("thresholds, hidden width {}", k), static_cast<double>(m));
  in_batches((m + rows - 1) / rows, static_cast<double>(rows), progress, [&](Index t) { work(t * rows); },
             [](Index, Index) { return true; });
}

PaperCheck check_paper(const Images& images, const RowMatrix& U, Progress& progress) {
  const Index m = images.count(), r = images.Q.rows(), k = U.cols(), count = m + r;
  // With (z, 1) as rows and (z, -||z||^2/2) as columns a product is (||z_a||^2 - ||z_a - z_i||^2)/2.
  RowMatrix rows(count, k + 1);
  rows.topLeftCorner(m, k) = U.topRows(m);
  rows.bottomLeftCorner(r, k) = images.Q;
  const Vector squares = rows.leftCols(k).rowwise().squaredNorm();
  rows.col(k) = -squares / 2;
  RowMatrix columns = by_component(rows);
  columns.row(k).tail(blocks::kPoints).setConstant(-1e300);  // what lies beyond is far from everything
  rows.col(k).setOnes();

  const double off = (squares.array() - 1).abs().maxCoeff();
  Vector apart(count);  // least ||z_a - z_i||^2 of the later ones
  apart(count - 1) = kInfinity;
  const auto work = [&](Index begin) {
    const Index size = std::min(kRows, count - begin);
    const Vector later = largest_with_later(rows.middleRows(begin, size), columns, begin + size, count);
    for (Index a = begin; a < begin + size; ++a) {
      apart(a) = squares(a) - 2 * later(a - begin);
      for (Index i = a + 1; i < begin + size; ++i)
        apart(a) = std::min(apart(a), (rows.row(a) - rows.row(i)).squaredNorm());
    }
  };

  PaperCheck check;
  progress.stage(fmt::format("conditions, hidden width {}", k), static_cast<double>(count));
  const auto holds = [&](Index begin, Index end) {
    for (Index a = begin * kRows; a < std::min(count, end * kRows); ++a) {
      if (apart(a) >= 6 * off) continue;
      const auto distance = [&](Index i) { return (rows.row(a) - rows.row(i)).squaredNorm(); };
      check.first = a;
      check.second = a + 1;
      for (Index i = a + 1; i < count && distance(check.second) >= 6 * off; ++i) check.second = i;
      check.failure = fmt::format(
          "their images have squared distance {:.3g}, where 6 rho' = {:.3g} is needed, since squared norms "
          "are off 1 by up to rho' = {:.3g}",
          distance(check.second), 6 * off, off);
      return false;
    }
    return true;
  };
  in_batches((count + kRows - 1) / kRows, static_cast<double>(kRows), progress,
             [&](Index t) { work(t * kRows); }, holds);
  if (!check.failure.empty()) return check;
  check.rho = (off + apart.minCoeff() / 6) / 2;
  check.product = 1 + off - apart.minCoeff() / 2;
  return check;
}

void apply_paper(const Memory& memory, const Images& images, const PaperCheck& check, double t,
                 Memorizer& network, Vector& margins) {
  const Index m = images.count(), k = network.hidden();
  network.s.head(m).setConstant(-t);
  margins = (images.squares.array() - t).min(t - check.product) / images.squares.array();
  for (Index block = 0; block * k < m; ++block) {
    const auto Z = network.U.middleRows(block * k, std::min(k, m - block * k));
    if (margins.segment(block * k, Z.rows()).minCoeff() > 0)
      solve_block(memory, images, block, Z * Z.transpose(), network);
  }
}

}  // namespace zeroloss::internal
