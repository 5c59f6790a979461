#include "tables/placeholder.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace zeroloss::internal {
namespace {

constexpr double kFar = 10;
constexpr std::size_t kOthers = 10;

}  // namespace

std::optional<Placeholder> placeholder_in(const Column& column) {
  std::vector<double> values;
  for (const double x : column.numbers)
    if (!std::isnan(x)) values.push_back(x);
  if (values.empty()) return {};
  const auto [low, high] = std::ranges::minmax_element(values);
  for (const double odd : {*low, *high}) {
    std::vector<double> others;
    std::ranges::copy_if(values, std::back_inserter(others), [odd](double x) { return x != odd; });
    const Index cells = std::ssize(values) - std::ssize(others);
    if (cells < 2 || others.empty()) continue;
    const auto [least, greatest] = std::ranges::minmax(others);
    const double gap = odd < least ? least - odd : odd - greatest;
    if (!(gap > kFar * (greatest - least))) continue;
    std::ranges::sort(others);
    if (std::ranges::unique(others).begin() - others.begin() < static_cast<std::ptrdiff_t>(kOthers)) continue;
    const auto at = std::ranges::find(column.numbers, odd) - column.numbers.begin();
    return Placeholder{std::string(column.cells[at]), cells, least, greatest};
  }
  return {};
}

}  // namespace zeroloss::internal
