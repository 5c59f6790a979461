#include "zeroloss/present/data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "zeroloss/data/readers.hpp"

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
  const Json json{{"sets", sets}, {"cache", cache}, {"included", names}, {"generators", forms}};
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
  return text + fmt::format("Download with: `fetch(NAME)`   (into {})\n", cache);
}

std::string summary_json(const Dataset& data, const Summary& summary) {
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
                  {"digest", data.digest}};
  return json.dump(1);
}

std::string summary_text(const Dataset& data, const Summary& summary) {
  Facts line(18);
  if (data.task != Task::none) line("target", data.target_name);
  if (data.label_treatment != "given") line("labels", data.label_treatment);
  if (data.task == Task::regression)
    line("target values",
         fmt::format("{} to {}", short_number(summary.target_least), short_number(summary.target_greatest)));
  line("values", fmt::format("{} to {}", short_number(summary.least), short_number(summary.greatest)));
  line("constant columns", some(summary.constant_columns));
  line("zero rows", some(summary.zero_rows));
  line("duplicates", with_commas(summary.duplicates) + (summary.conflicts > 0
                                                            ? fmt::format(", {} of them with another target",
                                                                          with_commas(summary.conflicts))
                                                            : ""));
  line("SHA-256", data.digest);
  const std::string text = fmt::format("{}: {} points, {} features, {}\n\n{}", data.name,
                                       with_commas(data.n()), with_commas(data.d()),
                                       data.task == Task::none ? "no targets" : name(data.task), line.text());
  if (data.task != Task::classification) return text;
  Table table({"class", "points"});
  for (std::size_t k = 0; k < data.class_names.size(); ++k)
    table.add({data.class_names[k], with_commas(summary.class_counts[k])});
  return text + "\n" + table.text();
}

std::string fetched_json(const KnownSet& set, const std::string& cache, bool downloaded) {
  const Json json{{"name", set.name}, {"folder", folder_of(set, cache)}, {"downloaded", downloaded}};
  return json.dump(1);
}

std::string fetched_text(const KnownSet& set, const std::string& cache, bool downloaded) {
  return fmt::format("{} {} {}\ncite: {}\nlicence: {}\n", set.name,
                     downloaded ? "is now in" : "was already in", folder_of(set, cache), set.citation,
                     set.licence);
}

}  // namespace zeroloss
