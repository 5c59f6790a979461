#include "present/table.hpp"

#include <algorithm>
#include <cmath>

namespace zeroloss::internal {
namespace {

bool numeric(const std::string& cell) {
  return !cell.empty() && std::string("0123456789-+.~<>=").find(cell.front()) != std::string::npos;
}

// Columns on the terminal: UTF-8 continuation bytes take none.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Names come from files: what would break a line is a space.
void keep_to_one_line(std::string& cell) {
  std::ranges::replace_if(
      cell, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
}

}  // namespace

Table::Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

void Table::add(std::vector<std::string> row) {
  row.resize(rows_.front().size());
  std::ranges::for_each(row, keep_to_one_line);
  rows_.push_back(std::move(row));
}

std::string Table::text(const std::string& indent) const {
  const std::size_t count = rows_.front().size();
  std::vector<std::size_t> width(count, 0);
  std::vector<bool> right(count, rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (std::size_t c = 0; c < count; ++c) {
      width[c] = std::max(width[c], columns(rows_[r][c]));
      if (r > 0 && !rows_[r][c].empty() && !numeric(rows_[r][c])) right[c] = false;
    }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t c = 0; c < count; ++c) {
      const std::string space(width[c] - columns(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (right[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string short_number(double value, Rounding rounding) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || (size != 0 && (size >= 1e6 || size < 1e-4)))
    return decimal(value, 2, rounding);
  if (value == std::floor(value)) return with_commas(static_cast<long long>(value));
  return decimal(value, 4, rounding);
}

}  // namespace zeroloss::internal
