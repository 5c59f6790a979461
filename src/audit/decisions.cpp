#include "zeroloss/audit/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/ascii.hpp"
#include "sources/csv.hpp"
#include "tables/cells.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

struct Decisions {
  std::map<Index, bool> wrong;  // of the samples that were decided, by position
  Index open = 0;               // rows without a decision
  std::optional<std::uint64_t> drawn, seed;
};

const Column* column_called(const DataTable& table, const std::string& name) {
  const auto found =
      std::ranges::find_if(table.columns, [&](const Column& c) { return lowered(c.name) == name; });
  return found == table.columns.end() ? nullptr : &*found;
}

/// Whether the label is wrong; nothing where it is left open.
std::optional<bool> wrong_by(const std::string& path, const std::string& sample, const std::string& word) {
  const std::string said = lowered(word);
  if (said.empty()) return {};
  for (const char* right : {"keep", "right", "k"})
    if (said == right) return false;
  for (const char* wrong : {"relabel", "drop", "wrong", "w", "d"})
    if (said == wrong) return true;
  throw DataError(fmt::format(
      "{}: the decision on sample {} is '{}'; expected right (or keep) or wrong (or relabel, drop)", path,
      sample, excerpt(word)));
}

/// Spreadsheets drop blanks around a cell, write TRUE for true, and round numbers to what they show.
bool same_label(const std::string& there, const std::string& here) {
  constexpr double kShown = 1e-6;
  if (lowered(there) == lowered(trimmed(here))) return true;
  const auto x = parsed_number(there), y = parsed_number(here);
  return x && y && std::abs(*x - *y) <= kShown * std::max(std::abs(*x), std::abs(*y));
}

/// The whole number that each row of a column has; nothing without the column.
std::optional<std::uint64_t> one_number(const std::string& path, const Column* column) {
  if (column == nullptr || column->cells.size() == 0) return {};
  const std::string first(column->cells[0]);
  for (Index i = 1; i < column->cells.size(); ++i)
    if (column->cells[i] != first)
      throw DataError(fmt::format("{}: column '{}' has {} and {}; expected one number", path, column->name,
                                  excerpt(first), excerpt(std::string(column->cells[i]))));
  const auto number = parsed_integer<std::uint64_t>(first);
  if (!number)
    throw DataError(
        fmt::format("{}: column '{}' is '{}'; expected a whole number", path, column->name, excerpt(first)));
  return *number;
}

Decisions read_decisions(const std::string& path, const Dataset& data) {
  const DataTable table = read_csv(file_bytes(path), {.header = true, .may_be_empty = true, .exact = true});
  const Column *samples = column_called(table, "sample"), *said = column_called(table, "decision"),
               *labels = column_called(table, "label");
  if (samples == nullptr || said == nullptr)
    throw DataError(fmt::format(
        "{}: expected columns sample and decision, as drawn.csv and the page of a report have them", path));
  Decisions decisions;
  decisions.drawn = one_number(path, column_called(table, "drawn"));
  decisions.seed = one_number(path, column_called(table, "seed"));
  std::unordered_map<Index, Index> position;
  for (Index i = 0; i < data.n(); ++i) position.emplace(data.records[static_cast<std::size_t>(i)], i);
  for (Index r = 0; r < table.n(); ++r) {
    const std::string name(samples->cells[r]);
    const auto record = parsed_integer<Index>(name);
    const auto at = record ? position.find(*record) : position.end();
    if (at == position.end())
      throw DataError(fmt::format("{}: sample '{}' is not one of {}; read the data as when it was drawn",
                                  path, excerpt(name), data.name));
    const std::string label = sample(data, at->second).label;
    if (labels != nullptr && !same_label(std::string(labels->cells[r]), label))
      throw DataError(
          fmt::format("{}: the label of sample {} is {} there and {} in {}: it was decided on other labels: "
                      "take the row out",
                      path, name, excerpt(std::string(labels->cells[r])), excerpt(label), data.name));
    const auto wrong = wrong_by(path, name, std::string(said->cells[r]));
    if (!wrong)
      ++decisions.open;
    else if (!decisions.wrong.emplace(at->second, *wrong).second)
      throw DataError(fmt::format("{}: sample {} is there twice", path, name));
  }
  return decisions;
}

}  // namespace

CheckedSamples read_checked(const std::string& path, const Dataset& data) {
  const Decisions decisions = read_decisions(path, data);
  if (!decisions.drawn || !decisions.seed)
    throw DataError(fmt::format(
        "{}: no columns `drawn` and `seed`: its samples were not drawn at random. What was decided on a list "
        "of suspects says nothing of other samples; give it as `accepted`",
        path));
  if (decisions.open > 0)
    throw DataError(fmt::format("{}: {} without a decision; all samples of a draw have to be looked at", path,
                                count(decisions.open, "sample", "samples")));
  if (*decisions.seed >= std::uint64_t{1} << 53)
    throw DataError(fmt::format("{}: seed {}; expected one below 2^53", path, *decisions.seed));
  CheckedSamples checked{.seed = *decisions.seed};
  for (const auto& [at, wrong] : decisions.wrong) {
    checked.positions.push_back(at);
    checked.wrong.push_back(wrong);
  }
  const auto drawn =
      static_cast<Index>(std::min<std::uint64_t>(*decisions.drawn, static_cast<std::uint64_t>(data.n())));
  if (checked.positions != draw_samples(data.n(), drawn, checked.seed))
    throw DataError(fmt::format("{}: its {} are not the {} that the seed {} draws of the {} of {}", path,
                                count(std::ssize(checked.positions), "sample", "samples"), drawn,
                                checked.seed, data.n(), data.name));
  return checked;
}

std::vector<Index> read_accepted(const std::string& path, const Dataset& data) {
  std::vector<Index> accepted;
  for (const auto& [at, wrong] : read_decisions(path, data).wrong)
    if (!wrong) accepted.push_back(at);
  return accepted;
}

}  // namespace zeroloss
