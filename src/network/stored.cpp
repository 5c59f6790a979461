#include "network/stored.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kProjections = 4;
constexpr double kWindow = 1.01e-6;  // what coincidences() calls near, and rounding

Center mean_of(const RowBlocks& points) {
  MeanPoint mean(points.d());
  for (Index k = 0; k < points.count(); ++k) mean.add(points.load(k).X());
  return mean.mean();
}

// Rows as they are read, divided by their lengths.
StoredPoints unit_rows(const Dataset& data, const Center& center, bool normalize) {
  return {data.n(), data.d(),
          [read = data.stored->read, center, normalize, name = data.name,
           records = data.records](const std::vector<Index>& rows) {
            Dataset block;
            block.X = read(rows);
            block.name = name;
            for (const Index row : rows)
              block.records.push_back(records.empty() ? row : records[static_cast<std::size_t>(row)]);
            if (!normalize) check_unit_rows(block, center);
            normalize_rows(block, center);
            return std::move(block.X);
          }};
}

// Projections of unit rows on random directions: of rows that are near each other none differs by more than
// the window, up to a common sign.
Matrix projections(const RowBlocks& unit) {
  Matrix directions(unit.d(), kProjections);
  for (Index k = 0; k < kProjections; ++k)
    Random(0, Stream::probes, static_cast<std::uint64_t>(k)).fill_normal(directions.col(k));
  directions.colwise().normalize();
  Matrix found(unit.n(), kProjections);
  for (Index k = 0; k < unit.count(); ++k) {
    const RowBlocks::Block block = unit.load(k);
    found.middleRows(block.begin, block.X().rows()) = block.X() * directions;
  }
  return found;
}

bool may_be_near(const Matrix& projected, Index i, Index j) {
  return (projected.row(i) - projected.row(j)).cwiseAbs().maxCoeff() <= kWindow ||
         (projected.row(i) + projected.row(j)).cwiseAbs().maxCoeff() <= kWindow;
}

// Rows that may be near another one, ascending.
std::vector<Index> near_rows(const Matrix& projected) {
  std::vector<Index> order(static_cast<std::size_t>(projected.rows())), found;
  std::iota(order.begin(), order.end(), Index{0});
  const auto at = [&](std::size_t k) { return std::abs(projected(order[k], 0)); };
  std::ranges::sort(order, {}, [&](Index i) { return std::abs(projected(i, 0)); });
  const auto has_neighbour = [&](std::size_t k) {
    for (std::size_t other = k + 1; other < order.size() && at(other) - at(k) <= kWindow; ++other)
      if (may_be_near(projected, order[k], order[other])) return true;
    for (std::size_t other = k; other-- > 0 && at(k) - at(other) <= kWindow;)
      if (may_be_near(projected, order[k], order[other])) return true;
    return false;
  };
  for (std::size_t k = 0; k < order.size(); ++k)
    if (has_neighbour(k)) found.push_back(order[k]);
  std::ranges::sort(found);
  return found;
}

Coincidences stored_coincidences(const StoredPoints& points, const StoredPoints& unit, const Center& center) {
  const std::vector<Index> near = near_rows(projections({unit.n, unit.d, unit.read}));
  Coincidences found;
  if (!near.empty()) {
    require_memory(16.0 * static_cast<double>(near.size()) * static_cast<double>(unit.d),
                   count(std::ssize(near), "point", "points") + " that are next to equal",
                   "take fewer points");
    found = coincidences(unit.read(near), points.read(near), center);
  }
  const auto row = [&](Index& k) { k = near[static_cast<std::size_t>(k)]; };
  for (auto& group : found.groups) std::ranges::for_each(group, row);
  for (auto& [i, j] : found.antipodal) row(i), row(j);
  for (Pair& pair : found.near) row(pair.i), row(pair.j);
  std::ranges::for_each(found.distinct, row);
  std::vector<Index> all(static_cast<std::size_t>(points.n)), apart, distinct;
  std::iota(all.begin(), all.end(), Index{0});
  std::ranges::set_difference(all, near, std::back_inserter(apart));
  std::ranges::merge(apart, found.distinct, std::back_inserter(distinct));
  found.distinct = std::move(distinct);
  return found;
}

}  // namespace

UnitPoints stored_unit_points(const Dataset& data, bool center, bool normalize) {
  check_around_points(data);
  UnitPoints unit{data, {}, {}, {}};
  if (center) unit.center = mean_of(blocks_of(data));
  unit.data.stored = std::make_shared<StoredPoints>(unit_rows(data, unit.center, normalize));
  unit.coincide = stored_coincidences(*data.stored, *unit.data.stored, unit.center);
  return unit;
}

RowBlocks blocks_of(const Dataset& data) {
  return data.stored ? RowBlocks(data.n(), data.d(), data.stored->read) : RowBlocks(data.X);
}

RowMatrix exact_rows(const Dataset& data, const Standardization& standardization,
                     const std::vector<Index>& rows) {
  RowMatrix points = data.stored ? data.stored->read(rows) : RowMatrix(data.X(rows, Eigen::all));
  return standardization.empty() ? points : scaled(points, standardization);
}

}  // namespace zeroloss::internal
