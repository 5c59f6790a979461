#include "network/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "linalg/rounding.hpp"
#include "network/stored.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

// An equation for each distinct point: one of every group of equal points, or one a label where labels
// differ.
void find_equations(const UnitPoints& unit, TrainingSet& set) {
  const Dataset& data = unit.data;
  if (unit.coincide.groups.empty()) return;
  std::vector<double> count(static_cast<std::size_t>(data.n()),
                            1);  // 0 where another row stands for this one
  for (const auto& group : unit.coincide.groups)
    for (auto i = group.begin(); i != group.end(); ++i) {
      const auto leader = std::find_if(group.begin(), i, [&](Index j) { return data.y(j) == data.y(*i); });
      if (leader == i) continue;
      count[static_cast<std::size_t>(*leader)] += 1;
      count[static_cast<std::size_t>(*i)] = 0;
    }
  for (Index i = 0; i < data.n(); ++i)
    if (count[static_cast<std::size_t>(i)] > 0) set.distinct.push_back(i);
  std::erase(count, 0);
  set.counts = Eigen::Map<const Vector>(count.data(), std::ssize(count));
  set.distinct_X = data.X(set.distinct, Eigen::all);
}

}  // namespace

UnitPoints unit_points(const Dataset& data, bool center, bool normalize) {
  if (data.stored) return stored_unit_points(data, center, normalize);
  check_dataset(data);
  UnitPoints unit{data, {}, {}, {}};
  unit.standardization = standardization_for(data, normalize);
  const Standardization& standard = unit.standardization;
  if (!standard.empty() && !normalize)
    throw std::invalid_argument(
        "points that are not normalised are taken as they are: leave out `standardize` and `bias`");
  RowMatrix made;
  const RowMatrix& X = exact_points(data, standard, made);
  if (!standard.empty()) unit.data.X = X;
  if (standard.bias != 0 && !unit.data.feature_names.empty())
    unit.data.feature_names.emplace_back("constant");
  if (unit.data.records.empty()) {  // made by hand: rows are their own records
    unit.data.records.resize(static_cast<std::size_t>(data.n()));
    std::iota(unit.data.records.begin(), unit.data.records.end(), Index{0});
  }
  unit.center = standard.origin;
  if (center && unit.center.empty()) {
    unit.center = mean_point(X);
    if (standard.bias != 0) unit.center.high(X.cols() - 1) = unit.center.low(X.cols() - 1) = 0;
  }
  if (!normalize) check_unit_rows(unit.data, unit.center);
  normalize_rows(unit.data, unit.center);
  unit.coincide = coincidences(unit.data.X, X, unit.center);
  return unit;
}

const Standardization& standardization_for(const Dataset& data, bool normalize) {
  static const Standardization nothing;
  return normalize || !data.standardization.automatic ? data.standardization : nothing;
}

const RowMatrix& exact_points(const Dataset& data, const Standardization& standardization, RowMatrix& made) {
  if (standardization.empty()) return data.X;
  made = scaled(data.X, standardization);
  return made;
}

bool labels_agree(const Dataset& data, const std::vector<Index>& rows) {
  return data.task == Task::none ||
         std::ranges::all_of(rows, [&](Index i) { return data.y(i) == data.y(rows.front()); });
}

std::vector<Sample> samples(const Dataset& data, const std::vector<Index>& rows) {
  std::vector<Sample> found;
  found.reserve(rows.size());
  for (const Index i : rows) found.push_back(sample(data, i));
  return found;
}

std::vector<std::vector<Sample>> conflicting_samples(const UnitPoints& unit) {
  std::vector<std::vector<Sample>> found;
  for (const auto& group : unit.coincide.groups)
    if (!labels_agree(unit.data, group)) found.push_back(samples(unit.data, group));
  return found;
}

std::optional<SamplePair> nearest(const UnitPoints& unit) {
  const auto& near = unit.coincide.near;
  if (near.empty()) return {};
  const auto differs = [&](const Pair& pair) { return !labels_agree(unit.data, {pair.i, pair.j}); };
  const auto worst = std::ranges::find_if(near, differs);
  return sample_pair(unit.data, worst == near.end() ? near.front() : *worst);
}

TrainingSet training_set(const Dataset& data, bool center, bool normalize) {
  require_targets(data, "fit");
  check_dataset(data);
  UnitPoints unit = unit_points(data, center, normalize);
  TrainingSet set;
  set.conflicts = conflicting_samples(unit);
  set.nearest = nearest(unit);
  find_equations(unit, set);
  set.n_distinct = std::ssize(unit.coincide.distinct);
  set.points = std::move(unit.data);
  set.center = std::move(unit.center);
  set.standardization = std::move(unit.standardization);
  set.Y = targets(set.points);
  return set;
}

Vector TrainingSet::y(Index output) const {
  if (counts.size() == 0) return Y.col(output);
  return Y(distinct, output);
}

void keep(Dataset& data, const std::vector<Index>& rows) {
  const auto count = static_cast<Index>(rows.size());
  if (count == data.n()) return;
  for (Index i = 0; i < count; ++i) {
    const Index from = rows[static_cast<std::size_t>(i)];
    if (!data.stored) data.X.row(i) = data.X.row(from);
    data.records[static_cast<std::size_t>(i)] = data.records[static_cast<std::size_t>(from)];
    if (data.task != Task::none) data.y(i) = data.y(from);
  }
  if (data.stored)
    data.stored = std::make_shared<StoredPoints>(
        StoredPoints{count, data.d(), [read = data.stored->read, rows](const std::vector<Index>& wanted) {
                       std::vector<Index> kept;
                       kept.reserve(wanted.size());
                       for (const Index i : wanted) kept.push_back(rows[static_cast<std::size_t>(i)]);
                       return read(kept);
                     }});
  else
    data.X.conservativeResize(count, Eigen::NoChange);
  data.records.resize(rows.size());
  if (data.task != Task::none) data.y.conservativeResize(count);
}

SamplePair sample_pair(const Dataset& data, const Pair& pair) {
  const auto [i, j] = std::minmax(pair.i, pair.j);
  return {sample(data, i), sample(data, j), pair.distance, pair.antipodal};
}

std::string nearness(const SamplePair& pair, Index d) {
  const double most = (pair.distance + 2.1 * unit_row_error(d)) * (1 + 0x1p-20);
  return fmt::format(
      "samples {} and {} are different points, but {} {} once they are divided by their lengths",
      describe(pair.first), describe(pair.second),
      pair.antipodal ? "opposite up to" : "no farther apart than", decimal(most, 2, Rounding::up));
}

std::string conflict_text(const std::vector<std::vector<Sample>>& conflicts) {
  const auto& group = conflicts.front();
  const auto other = std::find_if(group.begin(), group.end(),
                                  [&](const Sample& s) { return s.label != group.front().label; });
  return fmt::format("samples {} and {} are the same point, but their labels differ", describe(group.front()),
                     describe(*other));
}

std::string more_conflicts(const std::vector<std::vector<Sample>>& conflicts) {
  return conflicts.size() > 1 ? fmt::format(" (and {} such {})", conflicts.size() - 1,
                                            conflicts.size() == 2 ? "group more" : "groups more")
                              : "";
}

double norm_above(const Vector& y) {
  const double largest = y.size() > 0 ? y.cwiseAbs().maxCoeff() : 0;  // squares neither overflow nor vanish
  if (largest == 0) return 0;
  return largest * (y / largest).norm() * (1 + static_cast<double>(y.size() + 8) * u);
}

}  // namespace zeroloss::internal
