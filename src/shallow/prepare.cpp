#include "shallow/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "zeroloss/core/error.hpp"

namespace zeroloss {

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
  if (!normalize)
    for (Index i = 0; i < unit.n(); ++i)
      if (const double length = unit.X.row(i).norm(); !(std::abs(length - 1) <= 1e-12))
        throw DataError(fmt::format(
            "{}: record {} has length {:.17g}; without normalisation every row must have length 1", unit.name,
            unit.records[static_cast<std::size_t>(i)], length));
  normalize_rows(unit);
  return unit;
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
