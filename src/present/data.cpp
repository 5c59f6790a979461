#include "zeroloss/present/data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/json.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss {
using namespace internal;
namespace {

/// "0, 5, 7, ... (12 in all)"
std::string some(const std::vector<Index>& values) {
  if (values.empty()) return "none";
  const auto shown = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(values.size()), 10);
  const std::string list = fmt::format("{}", fmt::join(values.begin(), values.begin() + shown, ", "));
  return static_cast<std::size_t>(shown) == values.size()
             ? list
             : fmt::format("{}, ... ({} in all)", list, values.size());
}

/// By their names, where they have any.
std::string some_features(const Dataset& data, const std::vector<Index>& columns) {
  constexpr std::size_t kShown = 10;
  if (data.feature_names.empty() || columns.size() > kShown) return some(columns);
  std::vector<std::string> names;
  for (const Index j : columns) names.push_back(excerpt(data.feature_names[static_cast<std::size_t>(j)]));
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// A whole number without an exponent.
std::string plain(double x) {
  return x == std::floor(x) && std::abs(x) < 1e9 ? with_commas(static_cast<long long>(x)) : short_number(x);
}

std::string values_of(const ColumnFacts& column) {
  if (!column.frequent.empty()) {
    std::vector<std::string> shown;
    shown.reserve(column.frequent.size());
    for (const auto& [cell, times] : column.frequent)
      shown.push_back(fmt::format("{} {}", excerpt(cell), with_commas(times)));
    return fmt::format("{}{}", fmt::join(shown, ", "), std::ssize(shown) < column.distinct ? ", .." : "");
  }
  if (column.distinct == 0) return "";
  const bool number = column.is == CellKind::number;
  const std::string least = number ? plain(column.least) : excerpt(column.least_cell);
  return column.distinct == 1 ? least
                              : fmt::format("{} to {}", least,
                                            number ? plain(column.greatest) : excerpt(column.greatest_cell));
}

bool is_proposed(const TableFacts& table, const ColumnFacts& column) {
  return table.proposed && &column == &table.columns.back();
}

std::string columns_text(const TableFacts& facts) {
  Table table({"column", "name", "type", "missing", "distinct", "values", "role"});
  for (const ColumnFacts& c : facts.columns)
    table.add({fmt::format("{}", c.place), excerpt(c.name), name(c.is), with_commas(c.missing),
               with_commas(c.distinct), values_of(c),
               name(c.role) + (is_proposed(facts, c) ? "; target?" : "")});
  return table.text();
}

Json columns_json(const TableFacts& facts) {
  Json columns = Json::array();
  for (const ColumnFacts& c : facts.columns) {
    Json range, frequent;
    if (c.distinct > 0 && is_date(c.is)) range = {c.least_cell, c.greatest_cell};
    if (c.distinct > 0 && !is_date(c.is) && c.frequent.empty()) range = {c.least, c.greatest};
    for (const auto& [cell, times] : c.frequent) frequent.push_back({{"value", cell}, {"records", times}});
    columns.push_back({{"column", c.place},
                       {"name", told(c.name)},
                       {"type", name(c.is)},
                       {"missing", c.missing},
                       {"distinct", c.distinct},
                       {"range", range},
                       {"frequent", frequent},
                       {"role", name(c.role)}});
  }
  return columns;
}

std::string folder_of(const KnownSet& set, const std::string& cache) { return cache + "/" + set.name; }

}  // namespace

std::string known_sets_json(const std::string& cache) {
  Json sets = Json::array();
  for (const KnownSet& set : known_sets())
    sets.push_back({{"name", set.name},
                    {"description", set.description},
                    {"n", set.n},
                    {"n_test", set.n_test},
                    {"d", set.d},
                    {"classes", set.classes},
                    {"licence", set.licence},
                    {"citation", set.citation},
                    {"in_cache", is_cached(set, cache)}});
  std::vector<std::string> names, forms;
  for (const Included& set : included()) names.push_back(set.name);
  for (const Generator& generator : generators()) forms.push_back(generator.form);
  const Json json{{"sets", sets},
                  {"cache", cache},
                  {"included", names},
                  {"generators", forms},
                  {"next", told(after_known_sets())}};
  return json.dump(1);
}

std::string known_sets_text(const std::string& cache) {
  Table table({"name", "points", "features", "classes", "there", "what"});
  for (const Included& set : included()) {
    const Dataset data = read_dataset(set.name);
    table.add({set.name, with_commas(data.n()), with_commas(data.d()), with_commas(data.classes()), "yes",
               set.what + " (included)"});
  }
  for (const KnownSet& set : known_sets())
    table.add({set.name, with_commas(set.n), with_commas(set.d), with_commas(set.classes),
               is_cached(set, cache) ? "yes" : "no", set.description});
  std::string text = table.text() + "\n";
  for (const Generator& generator : generators())
    text += fmt::format("Generated: {}, {}\n", generator.form, generator.what);
  return text +
         fmt::format("Download with: `fetch(NAME)`   (into {})\n\n{}", cache, next_text(after_known_sets()));
}

std::string summary_json(const Dataset& data, const Summary& summary, const std::optional<TableFacts>& table,
                         const Next& next) {
  Json classes, targets;
  if (data.task == Task::classification) {
    for (std::size_t k = 0; k < data.class_names.size(); ++k)
      classes.push_back({{"name", data.class_names[k]}, {"points", summary.class_counts[k]}});
  }
  if (data.task == Task::regression) targets = {summary.target_least, summary.target_greatest};
  const bool labelled = data.task != Task::none;
  const Json json{{"data", data.name},
                  {"n", data.n()},
                  {"d", data.d()},
                  {"task", labelled ? Json(name(data.task)) : Json()},
                  {"target", labelled ? Json(data.target_name) : Json()},
                  {"labels", data.label_treatment},
                  {"classes", classes},
                  {"range", {summary.least, summary.greatest}},
                  {"target_range", targets},
                  {"constant_columns", summary.constant_columns},
                  {"zero_rows", summary.zero_rows},
                  {"duplicates", summary.duplicates},
                  {"conflicts", labelled ? Json(summary.conflicts) : Json()},
                  {"remarks", data.remarks},
                  {"columns", table ? columns_json(*table) : Json()},
                  {"proposed_target", table ? Json(table->proposed) : Json()},
                  {"next", told(next)},
                  {"digest", data.digest}};
  return json.dump(1);
}

std::string summary_text(const Dataset& data, const Summary& summary,
                         const std::optional<TableFacts>& table) {
  Facts line(18);
  if (data.task != Task::none) line("target", data.target_name);
  if (data.label_treatment != "given") line("labels", data.label_treatment);
  if (data.task == Task::regression)
    line("target values",
         fmt::format("{} to {}", short_number(summary.target_least), short_number(summary.target_greatest)));
  line("values", fmt::format("{} to {}", short_number(summary.least), short_number(summary.greatest)));
  line("constant features", some_features(data, summary.constant_columns));
  line("zero rows", some(summary.zero_rows));
  line("duplicates", with_commas(summary.duplicates) + (summary.conflicts > 0
                                                            ? fmt::format(", {} of them with another target",
                                                                          with_commas(summary.conflicts))
                                                            : ""));
  line("SHA-256", data.digest);
  std::string text = fmt::format("{}: {}, {}, {}\n", data.name, count(data.n(), "point", "points"),
                                 count(data.d(), "feature", "features"),
                                 data.task == Task::none ? "no targets" : name(data.task));
  for (const std::string& remark : data.remarks) text += "  " + remark + "\n";
  if (table) text += "\n" + columns_text(*table);
  text += "\n" + line.text();
  if (data.task == Task::classification) {
    constexpr std::size_t kShown = 30;
    Table classes({"class", "points"});
    const std::size_t all = data.class_names.size(), shown = std::min(kShown, all);
    for (std::size_t k = 0; k < shown; ++k)
      classes.add({data.class_names[k], with_commas(summary.class_counts[k])});
    text += "\n" + classes.text();
    if (all > shown) text += fmt::format("and {} more (JSON lists all)\n", all - shown);
  }
  return text;
}

std::string fetched_json(const KnownSet& set, const std::string& cache, bool downloaded) {
  const Json json{{"name", set.name},
                  {"folder", folder_of(set, cache)},
                  {"downloaded", downloaded},
                  {"next", told(after_fetch(set.name))}};
  return json.dump(1);
}

std::string fetched_text(const KnownSet& set, const std::string& cache, bool downloaded) {
  return fmt::format("{} {} {}\ncite: {}\nlicence: {}\n\n{}", set.name,
                     downloaded ? "is now in" : "was already in", folder_of(set, cache), set.citation,
                     set.licence, next_text(after_fetch(set.name)));
}

std::string encoded_text(const std::string& file, const std::string& model, const Dataset& data) {
  std::string text =
      fmt::format("{}: {} as {} takes them: {} x {} numbers, float64\n",
                  file == "-" ? "standard output" : file, data.name, model, data.n(), data.d());
  if (!data.feature_names.empty()) text += fmt::format("x: {}\n", fmt::join(data.feature_names, ", "));
  for (const std::string& remark : data.shown_remarks()) text += "  " + remark + "\n";
  return text;
}

}  // namespace zeroloss
