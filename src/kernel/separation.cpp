#include "zeroloss/kernel/separation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "kernel/distances.hpp"
#include "kernel/exact_collinearity.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr double kClose = 1e-6;  // distance

// Rows in the order of their projections on one random direction, up to sign.
struct Line {
  std::vector<Index> order;
  Vector projection;
};
Line project(const RowMatrix& unit) {
  Random random(0, Stream::probes);
  Vector direction(unit.cols());
  for (double& x : direction) x = random.normal();
  direction.normalize();
  Line line{std::vector<Index>(static_cast<std::size_t>(unit.rows())), (unit * direction).cwiseAbs()};
  std::iota(line.order.begin(), line.order.end(), Index{0});
  std::sort(line.order.begin(), line.order.end(), [&](Index a, Index b) {
    return line.projection(a) != line.projection(b) ? line.projection(a) < line.projection(b) : a < b;
  });
  return line;
}

// Distances of distinct rows to the next few along the line: enough to name pairs that stand in the way.
std::vector<Pair> near_pairs(const Line& line, const RowMatrix& unit, const Coincidences& found) {
  constexpr std::size_t kNext = 4;
  std::vector<Index> order;
  for (const Index i : line.order)
    if (std::ranges::binary_search(found.distinct, i)) order.push_back(i);
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < order.size(); ++a)
    for (std::size_t b = a + 1; b < std::min(a + 1 + kNext, order.size()); ++b) {
      const auto [j, i] = std::minmax(order[a], order[b]);
      if (line.projection(order[b]) - line.projection(order[a]) > kClose) break;
      const auto [apart, across] = distances(unit.row(i).data(), unit.row(j).data(), unit.cols());
      if (std::min(apart, across) <= kClose && !std::ranges::binary_search(found.antipodal, std::pair(j, i)))
        pairs.push_back({i, j, std::min(apart, across), across < apart});
    }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(a.distance, a.j, a.i) < std::tie(b.distance, b.j, b.i);
  });
  return pairs;
}

// Sorts rows that may coincide into classes of equal points. Rows with the same numbers are equal; of the
// others, integers decide, which are kept as hashes and made anew where those agree.
class Classes {
 public:
  Classes(const RowMatrix& points, const Center& center) : points_(points), center_(center) {}

  void add(const std::vector<Index>& rows) {
    if (rows.size() == 1) {
      members_[rows.front()] = rows;
      return;
    }
    std::unordered_map<std::string_view, Index> same;  // as stored
    std::vector<Index> leaders;
    for (const Index i : rows) {
      const auto [leader, fresh] = same.emplace(bytes(i), i);
      if (fresh) leaders.push_back(i);
      members_[leader->second].push_back(i);
    }
    if (leaders.size() < 2) return;
    std::unordered_multimap<std::size_t, Index> seen;
    for (const Index i : leaders) {
      const Integers numbers = direction(points_, i, center_);
      const std::string mine = key(numbers);
      const auto equal = find(seen, mine);
      if (equal) {
        auto& group = members_[*equal];
        group.insert(group.end(), members_[i].begin(), members_[i].end());
        members_.erase(i);
        continue;
      }
      if (const auto opposite = find(seen, key(numbers, -1))) antipodal_.emplace_back(*opposite, i);
      seen.emplace(std::hash<std::string>{}(mine), i);
    }
  }

  Coincidences take() {
    Coincidences result;
    std::map<Index, Index> first;  // of a leader's class
    for (auto& [leader, rows] : members_) {
      std::sort(rows.begin(), rows.end());
      first[leader] = rows.front();
      result.distinct.push_back(rows.front());
      if (rows.size() > 1) result.groups.push_back(std::move(rows));
    }
    for (const auto& [a, b] : antipodal_) result.antipodal.push_back(std::minmax(first[a], first[b]));
    std::sort(result.distinct.begin(), result.distinct.end());
    std::sort(result.groups.begin(), result.groups.end());
    std::sort(result.antipodal.begin(), result.antipodal.end());
    return result;
  }

 private:
  std::string_view bytes(Index i) const {
    return {reinterpret_cast<const char*>(points_.row(i).data()),
            sizeof(double) * static_cast<std::size_t>(points_.cols())};
  }
  std::optional<Index> find(const std::unordered_multimap<std::size_t, Index>& seen,
                            const std::string& wanted) const {
    const auto [begin, end] = seen.equal_range(std::hash<std::string>{}(wanted));
    for (auto at = begin; at != end; ++at)
      if (key(direction(points_, at->second, center_)) == wanted) return at->second;
    return {};
  }

  const RowMatrix& points_;
  const Center& center_;
  std::map<Index, std::vector<Index>> members_;  // by the class's leader
  std::vector<std::pair<Index, Index>> antipodal_;
};

}  // namespace

Coincidences coincidences(const RowMatrix& unit, const RowMatrix& points, const Center& center) {
  const Line line = project(unit);
  // Equal points have unit rows within two errors of each other; then the projections' own rounding.
  const double window = 2.1 * unit_row_error(unit.cols()) + 4 * static_cast<double>(unit.cols() + 2) * u;
  Classes classes(points, center);
  for (std::size_t begin = 0, end = 0; begin < line.order.size(); begin = end) {
    const auto at = [&](std::size_t k) { return line.projection(line.order[k]); };
    for (end = begin + 1; end < line.order.size() && at(end) - at(end - 1) <= window;) ++end;
    classes.add({line.order.begin() + static_cast<std::ptrdiff_t>(begin),
                 line.order.begin() + static_cast<std::ptrdiff_t>(end)});
  }
  Coincidences result = classes.take();
  result.near = near_pairs(line, unit, result);
  return result;
}

Index dependent_pairs(const RowMatrix& points, const Center& center,
                      const std::vector<std::pair<Index, Index>>& antipodal) {
  constexpr Index kExact = 40;
  const auto pairs = static_cast<Index>(antipodal.size());
  if (pairs > points.cols()) return pairs - points.cols();
  if (pairs > kExact) return 0;
  std::vector<Integers> rows;
  rows.reserve(antipodal.size());
  for (const auto& [i, j] : antipodal) rows.push_back(direction(points, i, center));
  return pairs - rank(std::move(rows));
}

}  // namespace zeroloss
