#include <algorithm>
#include <cmath>
#include <set>

#include "kernel/exact_collinearity.hpp"
#include "width/search.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kColumns = 24, kRows = 2000;  // that are eliminated: long numbers, rows columns^2 products

bool is_zero(const RowMatrix& points, const Center& center, Index k) {
  if (center.empty()) return (points.col(k).array() == 0).all();
  return center.low(k) == 0 && (points.col(k).array() == center.high(k)).all();
}

// As stored; centred columns that are equal are equal before.
std::vector<double> numbers_of(const RowMatrix& points, Index k) {
  const Vector column = points.col(k);
  return {column.data(), column.data() + column.size()};
}

// Of the library's own only z^2/2 is smooth with a slope that is not bounded.
bool is_quadratic(const Activation& activation) {
  return activation.tabulated && activation.smooth() && std::isinf(activation.B);
}

}  // namespace

Index rank_bound(const RowMatrix& points, const Center& center) {
  std::set<std::vector<double>> columns;
  for (Index k = 0; k < points.cols(); ++k)
    if (!is_zero(points, center, k)) columns.insert(numbers_of(points, k));
  const Index bound = std::min(points.rows(), static_cast<Index>(columns.size()));
  if (points.cols() > kColumns || points.rows() > kRows) return bound;
  std::vector<Integers> rows;
  rows.reserve(static_cast<std::size_t>(points.rows()));
  for (Index i = 0; i < points.rows(); ++i) rows.push_back(direction(points, i, center));
  return std::min(bound, rank(std::move(rows)));
}

bool homogeneous(const Activation& activation) {
  return activation.piecewise_linear() || is_quadratic(activation);
}

std::optional<Index> necessary_width(const Activation& activation, Index n, Index rank) {
  if (rank == 0) return {};
  if (is_quadratic(activation) && rank * (rank + 1) / 2 < n) return {};
  return (n + rank - 1) / rank;
}

}  // namespace zeroloss::internal
