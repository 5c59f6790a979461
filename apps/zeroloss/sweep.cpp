#include "zeroloss/sweep/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "signals.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/present/sweep.hpp"

namespace zeroloss::app {
namespace {

struct SweepArguments {
  std::string source, out, device;
  SweepOptions sweep;
  std::map<std::string, std::string> axes;  ///< by name, as written
  bool json = false;
};

[[noreturn]] void fail(const std::string& flag, const std::string& text, const std::string& what) {
  throw std::invalid_argument(fmt::format(
      "{} {}: {}; expected values such as 5, 1:25, 10:100:10, 16:1024:*2 or 0.1,0.2", flag, text, what));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

double number(const std::string& flag, const std::string& text, const std::string& part) {
  const auto value = parsed_number(part);
  if (!value || !std::isfinite(*value)) fail(flag, text, "\"" + part + "\" is no number");
  return *value;
}

// first:last, first:last:step or first:last:*factor; the end is included.
std::vector<double> range(const std::string& flag, const std::string& text,
                          const std::vector<std::string>& parts) {
  constexpr double kMost = 1e6, kSlack = 1e-9;
  const double first = number(flag, text, parts[0]), last = number(flag, text, parts[1]);
  const bool grows = parts.size() == 3 && parts[2].starts_with("*");
  const double by = parts.size() < 3 ? 1 : number(flag, text, grows ? parts[2].substr(1) : parts[2]);
  if (last < first) fail(flag, text, "the range ends before it begins");
  if (grows ? by <= 1 || first <= 0 : by <= 0)
    fail(flag, text,
         grows ? "a factor must be above 1 and the range begin above 0" : "a step must be above 0");
  const double steps = grows ? std::log(last / first) / std::log(by) : (last - first) / by;
  if (steps > kMost) fail(flag, text, "more than a million values");
  std::vector<double> values;
  for (Index k = 0; k <= static_cast<Index>(steps + kSlack); ++k) {
    const auto count = static_cast<double>(k);
    const double value = grows ? first * std::pow(by, count) : first + by * count;
    values.push_back(parsed_number(fmt::format("{:.12g}", value)).value());  // 0.3, not 0.30000000000000004
  }
  return values;
}

std::vector<double> numbers(const std::string& flag, const std::string& text) {
  std::vector<double> values;
  if (text.empty()) return values;
  for (const std::string& item : split(text, ',')) {
    const auto parts = split(item, ':');
    if (parts.size() > 3) fail(flag, text, "\"" + item + "\" has too many parts");
    if (parts.size() == 1)
      values.push_back(number(flag, text, item));
    else
      for (const double value : range(flag, text, parts)) values.push_back(value);
  }
  return values;
}

std::vector<Index> integers(const std::string& flag, const std::string& text) {
  std::vector<Index> values;
  for (const double value : numbers(flag, text)) {
    if (value != std::floor(value) || std::abs(value) > 1e15)
      fail(flag, text, fmt::format("{} is no whole number", value));
    values.push_back(static_cast<Index>(value));
  }
  return values;
}

std::vector<std::string> words(const std::string& text) {
  return text.empty() ? std::vector<std::string>{} : split(text, ',');
}

// A step is a number, auto or theorem; ranges give numbers.
std::vector<std::string> steps(const std::string& text) {
  std::vector<std::string> values;
  for (const std::string& item : words(text))
    if (item.find(':') == std::string::npos)
      values.push_back(item);
    else
      for (const double value : numbers("--step", item)) values.push_back(fmt::format("{}", value));
  return values;
}

SweepOptions settings(const SweepArguments& options) {
  SweepOptions sweep = options.sweep;
  fields(sweep.axes, [&]<class T>(const Field& field, std::vector<T>& values) {
    const std::string flag = flag_of(field), &text = options.axes.at(field.name);
    if constexpr (std::is_same_v<T, Index>)
      values = integers(flag, text);
    else if constexpr (std::is_same_v<T, double>)
      values = numbers(flag, text);
    else
      values = flag == "--step" ? steps(text) : words(text);
  });
  return sweep;
}

SweepResult work(const std::string& source, const SweepOptions& sweep, const std::optional<RunFolder>& folder,
                 Progress& progress, const Group& group, DescentEngine* engine) {
  try {
    return engine != nullptr ? zeroloss::sweep(source, sweep, progress, *engine)
                             : zeroloss::sweep(source, sweep, progress, group);
  } catch (const ResourceError&) {
    // Another process has finished it and renamed the folder while this one was about to join.
    if (folder && std::filesystem::exists(folder->path()))
      throw std::invalid_argument(
          fmt::format("{} exists already: another process has just finished it", folder->path().string()));
    throw;
  }
}

void run_sweep(const SweepArguments& options, Session& session) {
  SweepOptions sweep = settings(options);
  const std::unique_ptr<DescentEngine> engine = session.descents(session, options.device);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty()) {
    // A sweep always goes on with what is there, and others may work on it too.
    folder.emplace(options.out, true, RunFolder::Writers::several);
    sweep.store = folder->file("trials.db");
  }
  SweepResult result = work(options.source, sweep, folder, progress, session.group, engine.get());
  result.seconds = session.seconds();
  const Next next = result.complete ? after_figures(session.arguments, options.out) : Next{};
  // Who joins while another finishes may find all complete and nobody there: nothing is left to write then.
  if (folder && result.last && !std::filesystem::exists(folder->path()))
    write_sweep(*folder, sweep, result, session.arguments, next);
  answer(options.json ? sweep_json(sweep, result, next) + "\n" : sweep_text(sweep, result) + next_text(next));
  if (!result.complete)
    tell_interrupted(folder ? shell_command(session.arguments) : "", "with --out a sweep can be continued",
                     session);
}

}  // namespace

void add_sweep(Command& command, Session& session) {
  command.about("Train many small networks over a grid of options: where does training succeed?");
  auto& o = command.runs(run_sweep, session);
  SweepOptions& s = o.sweep;
  s.read.cache = session.cache;
  s.fit.precision = "float32";
  command
      .option("data", o.source,
              "A file, a folder, - (standard input), or a name such as digits or sphere:n=100 (what is "
              "missing is an axis)")
      .required();
  command.footer(
      "An axis is a list of values and ranges: 5 or 1:25 or 10:100:10 or 16:1024:*2 or 0.1,0.2.\n"
      "Each trial is the run of zeroloss fit with the same options and the seed in the table `trials` of\n"
      "trials.db. Several processes may work on one --out at the same time; a stopped one is continued.");

  fields(s.axes, [&, axes = command.group("Axes")](const Field& field, const auto&) {
    std::string help = field.help;
    if (std::string_view(field.name) == "activation")
      help = fmt::format("{}; a comma separated list [relu]", fmt::join(activation_names(), ", "));
    axes.option(flag_of(field), o.axes[field.name], help).type_name("VALUES");
  });
  add_fields(command, s);
  add_fields(command, s.fit, [&](const Field& field) { return field.trial && !o.axes.contains(field.name); });
  add_read_options(command, s.read, false);
  command
      .option("--device", o.device,
              "Train trials of all cells at once with LibTorch on cpu, cuda, cuda:N, or auto: a GPU where "
              "there is one; relu, one hidden layer, gd [none]")
      .type_name("DEVICE");
  command.option("--out", o.out,
                 "Write a run folder: trials.db, metrics.csv, figures; goes on with a stopped one [none]");
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples(
      {"zeroloss sweep sphere:n=20,y=normal --d 4 --width 1:8 --max-steps 500",
       "zeroloss sweep digits --classes 3,8 --n 20,40 --width 4:16:*2 --max-steps 200 --out runs/grid",
       "zeroloss sweep sphere:n=20,y=normal --d 4 --width 2:20 --adaptive --max-trials 40"});
}

}  // namespace zeroloss::app
