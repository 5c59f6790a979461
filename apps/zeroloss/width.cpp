#include "zeroloss/width/width.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/present/width.hpp"

namespace zeroloss::app {
namespace {

struct WidthArguments {
  std::string source, out;
  ReadOptions read;
  WidthOptions width;
  std::vector<std::string> require;
  bool json = false, copy_points = false;
};

// "proved<=64": which row has to be there, and its largest width.
struct Property {
  std::string row;
  double most = 0;
};
std::optional<Property> property_of(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 2> kRows{
      {{"proved<=", "any_labels"}, {"measured<=", "measured"}}};
  for (const auto& [name, row] : kRows) {
    if (!text.starts_with(name)) continue;
    const double most = parsed_number(text.substr(name.size())).value_or(0);
    if (most > 0) return Property{row, most};
  }
  return {};
}

std::string check_width_property(const std::string& text) {
  return property_of(text)
             ? ""
             : fmt::format("'{}' is not a property of width; take proved<=N or measured<=N", text);
}

bool holds(const std::string& text, const WidthResult& result) {
  const auto property = property_of(text);
  if (!property) return false;
  const double found = result.width_of(property->row);
  return found > 0 && found <= property->most;
}

void run_width(const WidthArguments& options, Session& session) {
  WidthOptions settings = options.width;
  settings.seed = options.read.seed;
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty()) {
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
    folder->copy_points(options.copy_points);
  }
  progress.stage("reading " + options.source);
  const Dataset data = read_dataset(options.source, options.read);
  WidthResult result = width(data, settings, progress);
  result.seconds = session.seconds();

  const Next next = after_width(data, options.read, settings, result);
  if (folder) write_width(*folder, data, options.read, settings, result, session.arguments, next);
  answer(options.json ? width_json(data, settings, result, next) + "\n"
                      : in_flags(width_text(data, settings, result)) +
                            fits_text(data, options.read, settings, result) + next_text(next));
  require(options.require, session, [&](const std::string& property) { return holds(property, result); });
}

}  // namespace

void add_width(Command& command, Session& session) {
  command.about("How wide a two-layer network has to be: too few, found, proved to be enough");
  auto& o = command.runs(run_width, session);
  o.read.cache = session.cache;
  add_source(command, o.source);
  add_read_options(command, o.read);
  add_fields(command, o.width, any_field, known_activations);
  command
      .option("--require", o.require,
              "Exit with 1 unless this holds: proved<=N (for any labels) or measured<=N [none]")
      .check(check_width_property, "PROPERTY")
      .repeated();
  command.option("--out", o.out, "Write a run folder: rows, widths, figures, manifest [none]");
  add_copy_points(command, o.copy_points);
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss width digits --classes 3,8",
                    "zeroloss width table.csv --target price --out runs/width",
                    "zeroloss width digits --classes 3,8 --restarts 0 --require 'proved<=64'"});
}

}  // namespace zeroloss::app
