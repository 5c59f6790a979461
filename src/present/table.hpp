#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {

/// An aligned table: header, then rows; numbers flush right. Columns are two spaces apart.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);
  std::size_t rows() const { return rows_.size() - 1; }  ///< without the header
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Of more items than can be shown those of the largest `badness`, worst first; fewer stay as they are.
/// Returns how many were left out.
template <class T, class Badness>
std::size_t keep_worst(std::vector<T>& items, std::size_t shown, Badness badness) {
  if (items.size() <= shown) return 0;
  std::ranges::stable_sort(items, std::ranges::greater{}, badness);
  const std::size_t more = items.size() - shown;
  items.erase(items.end() - static_cast<std::ptrdiff_t>(more), items.end());
  return more;
}

/// 4 significant digits, 2 with an exponent where that helps: "2.1e+19", "0.0131", "43,433".
std::string short_number(double value, Rounding rounding = Rounding::nearest);

}  // namespace zeroloss::internal
