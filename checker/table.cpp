#include "table.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <set>
#include <string_view>

#include "verdict.hpp"

namespace check {
namespace {

constexpr double kNone =
    std::numeric_limits<double>::quiet_NaN();  // a cell that is no number: equal to nothing

using Table = std::vector<std::vector<double>>;

// What is around a cell: blanks, then quotes.
std::string_view trimmed(std::string_view text, const char* around) {
  const std::size_t first = std::min(text.find_first_not_of(around), text.size());
  return text.substr(first, text.find_last_not_of(around) + 1 - first);
}

double cell(std::string_view all) {
  const std::string text(trimmed(trimmed(trimmed(all, " \t\r"), "\""), " "));
  double x = kNone;
  const char* end = text.data() + text.size();
  const char* from = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [at, error] = std::from_chars(from, end, x);
  return error == std::errc() && at == end && at != from ? x : kNone;
}

// Cells apart by commas; a first line without a number is names. Commas in quotes are not known here.
Table read(const std::string& file) {
  std::ifstream in(file);
  if (!in) {
    throw Unreadable(file + " cannot be read");
  }
  Table rows;
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty() || line == "\r") {
      continue;
    }
    std::vector<double> row;
    for (std::size_t from = 0; from <= line.size();) {
      const std::size_t to = std::min(line.find(',', from), line.size());
      row.push_back(cell(std::string_view(line).substr(from, to - from)));
      from = to + 1;
    }
    const bool names = rows.empty() && std::all_of(row.begin(), row.end(), [](double x) { return x != x; });
    if (!names) {
      if (!rows.empty() && rows[0].size() != row.size()) {
        throw Unreadable(file + " has a line of another number of cells");
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// Whether the array's rows are rows of the table, in this order, without the column `left_out`.
bool rows_of(const Array& x, const Table& table, std::size_t left_out) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.rows(); ++i, ++at) {
    const auto same = [&] {
      for (std::size_t j = 0; j < x.columns(); ++j) {
        if (x.real(i * x.columns() + j) != table[at][j + (j >= left_out ? 1 : 0)]) {
          return false;
        }
      }
      return true;
    };
    while (at < table.size() && !same()) {
      ++at;
    }
    if (at == table.size()) {
      return false;
    }
  }
  return true;
}

// Whether the array's columns are columns of the table, in this order, where it has as many rows.
bool columns_of(const Array& x, const Table& table) {
  const std::size_t columns = table.empty() || table.size() != x.rows() ? 0 : table[0].size();
  std::size_t at = 0;
  for (std::size_t j = 0; j < x.columns(); ++j, ++at) {
    const auto same = [&] {
      for (std::size_t i = 0; i < x.rows(); ++i) {
        if (x.real(i * x.columns() + j) != table[i][at]) {
          return false;
        }
      }
      return true;
    };
    while (at < columns && !same()) {
      ++at;
    }
    if (at >= columns) {
      return false;
    }
  }
  return true;
}

}  // namespace

void expect_table(const Folder& folder, const std::string& file) {
  const Table table = read(file);
  const std::size_t columns = table.empty() ? 0 : table[0].size();
  std::set<std::string> arrays;
  for (const std::string& points : folder.names("points")) {
    arrays.insert(
        Object(folder.points(points), "points " + points, {"array", "rows", "steps"}).text("array"));
  }
  for (const std::string& name : arrays) {
    const Array& x = folder.reals(name, 2);
    bool found = columns_of(x, table) || (x.columns() == columns && rows_of(x, table, columns));
    for (std::size_t j = 0; j < columns && !found && x.columns() + 1 == columns; ++j) {
      found = rows_of(x, table, j);
    }
    if (!found) {
      throw Unreadable("array " + name + ": its rows are not rows of " + file +
                       " in their order, of all columns or all but one, nor its columns columns of it");
    }
  }
}

}  // namespace check
