#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sources/text_formats.hpp"
#include "tables/cells.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

using Series = std::vector<std::vector<std::string>>;  ///< the numbers of each dimension

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// What is said behind a word such as @classLabel; nothing for another line.
std::optional<std::vector<std::string>> said_of(std::string_view word, const std::string& line) {
  const auto words = words_of(line);
  if (words.empty() || lowered(words[0]) != word) return {};
  return std::vector<std::string>(words.begin() + 1, words.end());
}

bool is_true(const std::vector<std::string>& words) { return !words.empty() && lowered(words[0]) == "true"; }

}  // namespace

bool is_time_series(const std::vector<std::string>& first_lines) {
  return std::ranges::any_of(
      first_lines, [](const std::string& line) { return said_of("@problemname", line).has_value(); });
}

DataTable read_time_series(const Bytes& bytes) {
  DataTable table;
  table.name = bytes.name;
  table.header = true;
  bool classes = false, data = false;
  std::vector<Series> all;
  std::vector<std::string> labels;
  std::vector<std::size_t> lengths;  // of each dimension, the longest
  ByteReader reader = bytes.open();
  std::string text;
  for (Index number = 1; reader.line(text); ++number) {
    const std::string line(trimmed(text));
    if (line.empty() || line.starts_with('#')) continue;
    const auto fault = [&](const std::string& what) {
      return DataError(fmt::format("{}: line {}: {}", bytes.name, number, what));
    };
    if (!data) {
      if (!line.starts_with('@')) throw fault("expected a line that begins with @ before @data");
      if (const auto said = said_of("@classlabel", line)) classes = is_true(*said);
      if (const auto said = said_of("@targetlabel", line)) classes = classes || is_true(*said);
      if (const auto said = said_of("@timestamps", line); said && is_true(*said))
        throw fault("series with time stamps are not read; write their values alone");
      data = said_of("@data", line).has_value();
      continue;
    }
    std::vector<std::string> parts = parts_of(line, ':');
    if (classes) {
      labels.push_back(parts.back());
      parts.pop_back();
    }
    if (all.empty()) lengths.resize(parts.size());
    if (parts.empty() || parts.size() != lengths.size())
      throw fault(fmt::format("found {} dimensions, expected {}", parts.size(), lengths.size()));
    Series series;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      series.push_back(parts_of(parts[k], ','));
      lengths[k] = std::max(lengths[k], series.back().size());
    }
    all.push_back(std::move(series));
    table.lines.push_back(number);
  }
  if (all.empty()) throw DataError(bytes.name + ": has no series behind @data");
  const double columns = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
  constexpr double kOfCell = 32;
  require_memory(kOfCell * columns * static_cast<double>(all.size()), bytes.name,
                 "keep fewer or shorter series");
  bool shorter = false;
  for (std::size_t k = 0; k < lengths.size(); ++k)
    for (std::size_t t = 0; t < lengths[k]; ++t) {
      Column column{.name = lengths.size() == 1 ? fmt::format("t{}", t) : fmt::format("{}:t{}", k, t),
                    .place = std::ssize(table.columns)};
      for (const Series& series : all) {
        shorter |= t >= series[k].size();
        column.cells.add(t < series[k].size() ? series[k][t] : "");
      }
      table.columns.push_back(std::move(column));
    }
  if (shorter) table.remarks.emplace_back("series: of several lengths; shorter ones end in missing cells");
  if (classes) {
    Column column{.name = "class", .place = std::ssize(table.columns)};
    for (const std::string& label : labels) column.cells.add(label);
    table.columns.push_back(std::move(column));
  }
  return table;
}

}  // namespace zeroloss::internal
