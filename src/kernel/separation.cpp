#include "zeroloss/kernel/separation.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "zeroloss/core/random.hpp"

namespace zeroloss {
namespace {

constexpr double u = 0x1p-53;
constexpr double kEqual = 8 * u;

}  // namespace

Coincidences coincidences(const RowMatrix& X) {
  const Index n = X.rows(), d = X.cols();
  Random random(0, Stream::probes);
  Vector direction(d);
  for (Index k = 0; k < d; ++k) direction(k) = random.normal();
  direction.normalize();
  const Vector projection = (X * direction).cwiseAbs();
  const double window = kEqual + 4 * static_cast<double>(d) * u;  // the projections' own rounding included

  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return projection(a) != projection(b) ? projection(a) < projection(b) : a < b;
  });

  // Each row meets the representatives whose projection lies in the window behind its own.
  std::vector<Index> representatives, representative(static_cast<std::size_t>(n));
  Coincidences result;
  std::size_t first = 0;
  for (const Index i : order) {
    while (first < representatives.size() && projection(i) - projection(representatives[first]) > window)
      ++first;
    Index equal = -1;
    std::vector<Index> opposite;
    for (std::size_t r = first; r < representatives.size() && equal < 0; ++r) {
      const Index j = representatives[r];
      if ((X.row(i) - X.row(j)).norm() <= kEqual)
        equal = j;
      else if ((X.row(i) + X.row(j)).norm() <= kEqual)
        opposite.push_back(j);
    }
    representative[static_cast<std::size_t>(i)] = equal < 0 ? i : equal;
    if (equal >= 0) continue;
    representatives.push_back(i);
    for (const Index j : opposite) result.antipodal.push_back(std::minmax(i, j));
  }

  std::map<Index, std::vector<Index>> members;
  for (Index i = 0; i < n; ++i) members[representative[static_cast<std::size_t>(i)]].push_back(i);
  std::map<Index, Index> leader;  // representative -> first row of its group
  for (auto& [key, rows] : members) {
    leader[key] = rows.front();
    result.distinct.push_back(rows.front());
    if (rows.size() > 1) result.groups.push_back(rows);
  }
  for (auto& [i, j] : result.antipodal) std::tie(i, j) = std::minmax({leader[i], leader[j]});
  std::sort(result.distinct.begin(), result.distinct.end());
  std::sort(result.groups.begin(), result.groups.end());
  std::sort(result.antipodal.begin(), result.antipodal.end());
  return result;
}

Index dependent_pairs(const RowMatrix& X, const std::vector<std::pair<Index, Index>>& antipodal) {
  std::vector<Index> points;  // one of each pair; a point counts in one pair only
  std::set<Index> used;
  for (const auto& [i, j] : antipodal)
    if (!used.contains(i) && !used.contains(j)) {
      points.push_back(i);
      used.insert({i, j});
    }
  const auto pairs = static_cast<Index>(points.size());
  if (pairs > X.cols()) return pairs - X.cols();
  if (pairs == 0) return 0;
  const Matrix columns = X(points, Eigen::all).transpose();
  return pairs - Eigen::ColPivHouseholderQR<Matrix>(columns).rank();
}

}  // namespace zeroloss
