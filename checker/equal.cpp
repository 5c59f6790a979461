// Points that are equal or antipodal, decided in whole numbers.

#include <algorithm>
#include <map>
#include <set>

#include "kinds.hpp"
#include "points.hpp"
#include "progress.hpp"
#include "verdict.hpp"
#include "whole.hpp"

namespace check {
namespace {

// The point as a text: two points are equal just where their texts are. `sign` is that of the first number
// that is not 0; antipodal points have one text but for it.
struct Key {
  std::string text;
  int sign = 1;
};

Key key_of(const Points& points, std::size_t i) {
  Whole row(points.exact_row(i));
  if (points.unit()) {
    row.primitive();
  }
  Key key;
  key.sign = row.first_sign();
  if (key.sign < 0) {
    row.negate();
  }
  if (key.sign == 0 && points.unit()) {
    throw Unreadable("a row of zeros has no direction");
  }
  key.text = row.text();
  return key;
}

std::vector<std::size_t> pairs_of(const Folder& folder, const Object& o, const Points& points) {
  const std::string name = o.text("pairs");
  if (folder.integers(name, 2).columns() != 2) {
    o.fail("pairs is not of two columns");
  }
  std::vector<std::size_t> pairs = folder.indices(name, points.rows());
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (std::size_t p = 0; p < pairs.size(); p += 2) {
    if (!seen.emplace(std::minmax(pairs[p], pairs[p + 1])).second) {
      o.fail("a pair stands twice");
    }
  }
  return pairs;
}

std::string named(std::size_t i, std::size_t j) {
  return "points " + std::to_string(i) + " and " + std::to_string(j);
}

// All pairs are equal (sign 1) or antipodal (-1) points.
std::string check_pairs(const Points& points, const std::vector<std::size_t>& pairs, int sign) {
  for (std::size_t p = 0; p < pairs.size(); p += 2) {
    const Key first = key_of(points, pairs[p]), second = key_of(points, pairs[p + 1]);
    const bool zero = first.sign == 0 && second.sign == 0;
    if (first.text != second.text || (first.sign != sign * second.sign && !zero) ||
        pairs[p] == pairs[p + 1]) {
      throw False(named(pairs[p], pairs[p + 1]) +
                  (sign > 0 ? " are not two equal ones" : " are not antipodal"));
    }
  }
  return std::to_string(pairs.size() / 2) + (sign > 0 ? " pairs are equal" : " pairs are antipodal");
}

// The points that have this text and sign, for all of them.
std::map<std::string, std::map<int, std::vector<std::size_t>>> groups_of(const Points& points) {
  std::map<std::string, std::map<int, std::vector<std::size_t>>> groups;
  Progress progress("comparing points", points.rows());
  for (std::size_t i = 0; i < points.rows(); ++i) {
    progress.at(i);
    Key key = key_of(points, i);
    groups[std::move(key.text)][key.sign].push_back(i);
  }
  return groups;
}

bool same_targets(const Array& y, std::size_t i, std::size_t j) {
  for (std::size_t k = 0; k < y.columns(); ++k) {
    const std::size_t a = i * y.columns() + k, b = j * y.columns() + k;
    if (y.integers() ? y.integer(a) != y.integer(b) : y.real(a) != y.real(b)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string check_equal_points(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "points", "pairs", "distinct"});
  const Points points(folder, o.text("points"));
  std::string found;
  if (o.has("pairs")) {
    found = check_pairs(points, pairs_of(folder, o, points), 1);
  }
  if (o.has("distinct")) {
    std::size_t distinct = 0;
    for (const auto& [text, group] : groups_of(points)) {
      distinct += group.size();
    }
    found += (found.empty() ? "" : "; ") + std::to_string(distinct) + " points are different";
    if (distinct != o.count("distinct")) {
      throw False(found);
    }
  }
  if (found.empty()) {
    o.fail("has neither pairs nor distinct");
  }
  return found;
}

std::string check_antipodal(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "points", "pairs", "none"});
  const Points points(folder, o.text("points"));
  if (o.has("pairs") == o.truth("none")) {
    o.fail("has not just one of pairs and none");
  }
  if (o.has("pairs")) {
    return check_pairs(points, pairs_of(folder, o, points), -1);
  }
  for (const auto& [text, group] : groups_of(points)) {
    const auto& first = group.begin()->second;
    const bool zeros = group.begin()->first == 0 && first.size() > 1;  // each is the other's antipode
    if (group.size() == 2 || zeros) {
      throw False(named(first.front(), zeros ? first[1] : group.rbegin()->second.front()) + " are antipodal");
    }
  }
  return "no two points are antipodal";
}

std::string check_conflict(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "points", "targets", "pairs", "none"});
  const Points points(folder, o.text("points"));
  const Array& y = folder.array(o.text("targets"));
  if (y.infinite) {
    throw False("targets have a number that is not finite");
  }
  if (y.rows() != points.rows()) {
    o.fail("targets are not as many as points");
  }
  if (o.has("pairs") == o.truth("none")) {
    o.fail("has not just one of pairs and none");
  }
  if (o.has("pairs")) {
    const std::vector<std::size_t> pairs = pairs_of(folder, o, points);
    check_pairs(points, pairs, 1);
    for (std::size_t p = 0; p < pairs.size(); p += 2) {
      if (same_targets(y, pairs[p], pairs[p + 1])) {
        throw False(named(pairs[p], pairs[p + 1]) + " have the same targets");
      }
    }
    return std::to_string(pairs.size() / 2) + " pairs are equal and have different targets";
  }
  for (const auto& [text, group] : groups_of(points)) {
    for (const auto& [sign, rows] : group) {
      for (const std::size_t i : rows) {
        if (!same_targets(y, rows.front(), i)) {
          throw False(named(rows.front(), i) + " are equal and have different targets");
        }
      }
    }
  }
  return "equal points have equal targets";
}

}  // namespace check
