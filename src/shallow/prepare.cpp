#include "shallow/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "zeroloss/core/error.hpp"
#include "zeroloss/kernel/separation.hpp"

namespace zeroloss {
namespace {

// Equal points with equal labels become one; groups with different labels are reported and left as they are.
void merge_duplicates(Dataset& data, std::vector<std::vector<Sample>>& conflicts) {
  const auto found = coincidences(data.X);
  std::vector<Index> rows = found.distinct;
  for (const auto& group : found.groups) {
    const auto same = [&](Index i) { return data.y(i) == data.y(group.front()); };
    if (std::all_of(group.begin(), group.end(), same)) continue;
    std::vector<Sample> samples;
    for (const Index i : group) samples.push_back(sample(data, i));
    conflicts.push_back(std::move(samples));
    for (std::size_t k = 1; k < group.size(); ++k)  // a row a label
      if (std::none_of(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(k),
                       [&](Index i) { return data.y(i) == data.y(group[k]); }))
        rows.push_back(group[k]);
  }
  std::sort(rows.begin(), rows.end());
  keep(data, rows);
}

}  // namespace

Dataset unit_points(const Dataset& data, bool center, bool normalize, Vector* mean) {
  check_dataset(data);
  Dataset unit = data;
  if (unit.records.empty()) {  // made by hand: rows are their own records
    unit.records.resize(static_cast<std::size_t>(unit.n()));
    std::iota(unit.records.begin(), unit.records.end(), Index{0});
  }
  if (center) {
    const Vector subtracted = zeroloss::center(unit);
    if (mean != nullptr) *mean = subtracted;
  }
  if (!normalize) check_unit_rows(unit);
  normalize_rows(unit);
  return unit;
}

TrainingSet training_set(const Dataset& data, bool center, bool normalize) {
  if (data.task == Task::none)
    throw DataError(fmt::format("{}: fit needs targets; none were found (target)", data.name));
  TrainingSet set;
  set.points = unit_points(data, center, normalize, &set.mean);
  merge_duplicates(set.points, set.conflicts);
  set.Y = targets(set.points);
  for (Index c = 0; c < set.Y.cols(); ++c)
    if (const double norm = norm_above(set.Y.col(c)); norm != 0 && !(norm > 1e-140 && norm < 1e140))
      throw DataError(
          fmt::format("{}: targets of norm {:.3g} are out of scale: divide them by it", data.name, norm));
  return set;
}

void keep(Dataset& data, const std::vector<Index>& rows) {
  const auto count = static_cast<Index>(rows.size());
  if (count == data.n()) return;
  for (Index i = 0; i < count; ++i) {
    const Index from = rows[static_cast<std::size_t>(i)];
    data.X.row(i) = data.X.row(from);
    data.records[static_cast<std::size_t>(i)] = data.records[static_cast<std::size_t>(from)];
    if (data.task != Task::none) data.y(i) = data.y(from);
  }
  data.X.conservativeResize(count, Eigen::NoChange);
  data.records.resize(rows.size());
  if (data.task != Task::none) data.y.conservativeResize(count);
}

std::string conflict_text(const std::vector<std::vector<Sample>>& conflicts) {
  const auto& group = conflicts.front();
  const auto other = std::find_if(group.begin(), group.end(),
                                  [&](const Sample& s) { return s.label != group.front().label; });
  return fmt::format("samples {} and {} are the same point, up to rounding, but their labels differ",
                     describe(group.front()), describe(*other));
}

std::string more_conflicts(const std::vector<std::vector<Sample>>& conflicts) {
  return conflicts.size() > 1 ? fmt::format(" (and {} more such groups)", conflicts.size() - 1) : "";
}

double norm_above(const Vector& y) {
  const double largest = y.size() > 0 ? y.cwiseAbs().maxCoeff() : 0;  // squares neither overflow nor vanish
  if (largest == 0) return 0;
  return largest * (y / largest).norm() * (1 + static_cast<double>(y.size() + 8) * 0x1p-53);
}

}  // namespace zeroloss
