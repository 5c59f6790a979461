#include "zeroloss/data/summary.hpp"

#include <algorithm>
#include <numeric>

namespace zeroloss {
namespace {

void count_duplicates(const Dataset& data, Summary& summary) {
  std::vector<Index> order(static_cast<std::size_t>(data.n()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto row = [&](Index i) { return data.X.row(i).data(); };
  std::ranges::stable_sort(order, [&](Index a, Index b) {
    return std::lexicographical_compare(row(a), row(a) + data.d(), row(b), row(b) + data.d());
  });
  Index first = order.front();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!std::equal(row(first), row(first) + data.d(), row(order[i]))) {
      first = order[i];
      continue;
    }
    ++summary.duplicates;
    if (data.task != Task::none && data.y(first) != data.y(order[i])) ++summary.conflicts;
  }
}

}  // namespace

Summary summarize(const Dataset& data) {
  check_dataset(data);
  Summary summary{.least = data.X.minCoeff(), .greatest = data.X.maxCoeff()};
  for (Index j = 0; j < data.d(); ++j)
    if ((data.X.col(j).array() == data.X(0, j)).all()) summary.constant_columns.push_back(j);
  for (Index i = 0; i < data.n(); ++i)
    if ((data.X.row(i).array() == 0).all())
      summary.zero_rows.push_back(data.records.empty() ? i : data.records[static_cast<std::size_t>(i)]);
  if (data.task == Task::regression) {
    summary.target_least = data.y.minCoeff();
    summary.target_greatest = data.y.maxCoeff();
  }
  summary.class_counts.resize(static_cast<std::size_t>(data.classes()));
  if (data.task == Task::classification)
    for (const double y : data.y) ++summary.class_counts[static_cast<std::size_t>(y)];
  count_duplicates(data, summary);
  return summary;
}

double guessing_error(const Dataset& data) {
  if (data.task != Task::classification) return 1;
  std::vector<Index> counts(static_cast<std::size_t>(data.classes()));
  for (const double y : data.y) ++counts[static_cast<std::size_t>(y)];
  return 1 - static_cast<double>(*std::ranges::max_element(counts)) / static_cast<double>(data.n());
}

}  // namespace zeroloss
