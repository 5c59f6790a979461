#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "data_options.hpp"
#include "zeroloss/data/fetch.hpp"
#include "zeroloss/data/summary.hpp"

namespace zeroloss::app {
namespace {

struct Arguments {
  std::string name;
  ReadOptions read;
  FetchOptions fetch;
  bool json = false;
};

/// "0, 5, 7, ... (12 in all)"
std::string some(const std::vector<Index>& values) {
  if (values.empty()) return "none";
  const auto shown = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(values.size()), 10);
  const std::string list = fmt::format("{}", fmt::join(values.begin(), values.begin() + shown, ", "));
  return static_cast<std::size_t>(shown) == values.size()
             ? list
             : fmt::format("{}, ... ({} in all)", list, values.size());
}

void list(const Arguments& arguments, Session&) {
  if (arguments.json) {
    nlohmann::ordered_json sets = nlohmann::ordered_json::array();
    for (const KnownSet& set : known_sets())
      sets.push_back({{"name", set.name},
                      {"description", set.description},
                      {"n", set.n},
                      {"n_test", set.n_test},
                      {"d", set.d},
                      {"classes", set.classes},
                      {"licence", set.licence},
                      {"citation", set.citation},
                      {"in_cache", is_cached(set, arguments.read.cache)}});
    fmt::print("{}\n", dump({{"sets", sets},
                             {"cache", arguments.read.cache},
                             {"included", {"digits"}},
                             {"generators", {"sphere:n=..,d=..[,y=normal|sign|none][,seed=..]"}}}));
    return;
  }
  Table table({"name", "points", "features", "classes", "there", "what"});
  table.add(
      {"digits", with_commas(1797), "64", "10", "yes", "handwritten digits, 8x8 pixels 0..16 (included)"});
  for (const KnownSet& set : known_sets())
    table.add({set.name, with_commas(set.n), with_commas(set.d), with_commas(set.classes),
               is_cached(set, arguments.read.cache) ? "yes" : "no", set.description});
  fmt::print(
      "{}\nGenerated: sphere:n=..,d=..[,y=normal|sign|none][,seed=..], points uniform on the unit sphere\n"
      "Download with: zeroloss data get NAME   (into {})\n",
      table.text(), arguments.read.cache);
}

nlohmann::ordered_json to_json(const Dataset& data, const Summary& summary) {
  nlohmann::ordered_json classes = nullptr, targets = nullptr;
  if (data.task == Task::classification) {
    classes = nlohmann::ordered_json::array();
    for (std::size_t k = 0; k < data.class_names.size(); ++k)
      classes.push_back({{"name", data.class_names[k]}, {"points", summary.class_counts[k]}});
  }
  if (data.task == Task::regression) targets = {summary.target_least, summary.target_greatest};
  const bool labelled = data.task != Task::none;
  return {{"data", data.name},
          {"n", data.n()},
          {"d", data.d()},
          {"task", labelled ? nlohmann::ordered_json(name(data.task)) : nullptr},
          {"target", labelled ? nlohmann::ordered_json(data.target_name) : nullptr},
          {"labels", data.label_treatment},
          {"classes", classes},
          {"range", {summary.least, summary.greatest}},
          {"target_range", targets},
          {"constant_columns", summary.constant_columns},
          {"zero_rows", summary.zero_rows},
          {"duplicates", summary.duplicates},
          {"conflicts", labelled ? nlohmann::ordered_json(summary.conflicts) : nullptr},
          {"digest", data.digest}};
}

void info(const Arguments& arguments, Session&) {
  const Dataset data = read_dataset(arguments.name, arguments.read);
  const Summary summary = summarize(data);
  if (arguments.json) {
    fmt::print("{}\n", dump(to_json(data, summary)));
    return;
  }
  fmt::print("{}: {} points, {} features, {}\n\n", data.name, with_commas(data.n()), with_commas(data.d()),
             data.task == Task::none ? "no targets" : name(data.task));
  const auto line = [](const char* what, const std::string& value) { fmt::print("{:<18}{}\n", what, value); };
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
  if (data.task != Task::classification) return;
  Table table({"class", "points"});
  for (std::size_t k = 0; k < data.class_names.size(); ++k)
    table.add({data.class_names[k], with_commas(summary.class_counts[k])});
  fmt::print("\n{}", table.text());
}

void get(const Arguments& arguments, Session& session) {
  const auto& sets = known_sets();
  const auto set = std::ranges::find(sets, arguments.name, &KnownSet::name);
  Progress progress = session.progress();
  const bool was_there = is_cached(*set, arguments.read.cache);
  fetch(*set, arguments.read.cache, progress, arguments.fetch);
  const std::string folder = arguments.read.cache + "/" + set->name;
  if (arguments.json)
    fmt::print("{}\n", dump({{"name", set->name}, {"folder", folder}, {"downloaded", !was_there}}));
  else
    fmt::print("{} {} {}\ncite: {}\nlicence: {}\n", set->name, was_there ? "was already in" : "is now in",
               folder, set->citation, set->licence);
}

void add_cache(const Command& command, Arguments& arguments) {
  command.option("--cache", arguments.read.cache, "folder of downloaded data sets [XDG_CACHE_HOME/zeroloss]")
      .type_name("FOLDER")
      .default_text("");
}

}  // namespace

void add_data(Command& command, Session& session) {
  command.about("List, inspect and download data sets");
  command.require_subcommand();
  const auto add = [&](const Command& part, const char* about, auto work) -> Arguments& {
    part.about(about);
    Arguments& arguments = part.runs(work, session);
    arguments.read.cache = session.cache;
    part.flag("--json", arguments.json, "print one JSON object [off]");
    return arguments;
  };

  const Command listed = command.subcommand("list");
  add_cache(listed, add(listed, "Show the known data sets and generators", list));

  const Command described = command.subcommand("info");
  Arguments& what = add(described, "Describe DATA: shape, task, classes, ranges, duplicates, digest", info);
  described
      .option("DATA", what.name, "a csv, npy, npz or idx file, a folder, or a name from `zeroloss data list`")
      .required();
  add_read_options(described, what.read);

  const Command wanted = command.subcommand("get");
  Arguments& which = add(wanted, "Download a data set into the cache and verify it", get);
  std::vector<std::string> names;
  for (const KnownSet& set : known_sets()) names.push_back(set.name);
  wanted.option("NAME", which.name, fmt::format("{}", fmt::join(names, ", "))).required().one_of(names);
  wanted.option("--mirror", which.fetch.mirror, "base URL tried before the usual ones [none]")
      .type_name("URL");
  add_cache(wanted, which);
}

}  // namespace zeroloss::app
