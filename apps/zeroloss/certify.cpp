#include "zeroloss/theory/certify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/present/certify.hpp"
#include "zeroloss/sources/readers.hpp"
#include "zeroloss/width/width.hpp"

namespace zeroloss::app {
namespace {

struct CertifyArguments {
  std::string source, out, step = "auto", device;
  ReadOptions read;
  CertifyOptions certify;
  std::vector<std::string> require;
  bool json = false, stream = false, copy_points = false;
  Index block = 64;
};

// The x of "lambda_min>=x"; nothing if `property` is not of this form.
std::optional<double> least_lambda(const std::string& property) {
  constexpr std::string_view kBound = "lambda_min>=";
  if (!property.starts_with(kBound)) return {};
  const auto value = parsed_number(property.substr(kBound.size()));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// Whether `property` (conflict-free, certified, lambda_min>=x) holds of the result.
bool holds(const std::string& property, const CertifyResult& result) {
  if (property == "conflict-free") return result.conflicts.empty();
  if (property == "certified") return result.outcome == "verified";
  const auto least = least_lambda(property);
  return least && result.lambda_min_verified && *result.lambda_min_verified >= *least;
}

std::string check_certify_property(const std::string& property) {
  if (property == "conflict-free" || property == "certified" || least_lambda(property)) return "";
  return fmt::format("'{}' is not a property of certify; take conflict-free, certified or lambda_min>=x",
                     property);
}

// "auto" or a positive number.
std::string check_step(const std::string& step) {
  const double value = parsed_number(step).value_or(0);
  if (step == "auto" || (value > 0 && std::isfinite(value))) return "";
  return fmt::format("'{}' is not a step; take auto or a number > 0", step);
}

// Points of a table are in memory when they are opened; others are left where they are if they would not fit.
Dataset points_of(const CertifyArguments& options, const CertifyOptions& settings) {
  const Source source = open_source(options.source, options.read);
  const Index n = options.read.n > 0 ? std::min(options.read.n, source.n) : source.n;
  const bool in_place = options.stream || (!source.table && certify_in_place(n, source.d, settings));
  return in_place ? select_stored(source, options.read) : select(source, options.read);
}

void run_certify(const CertifyArguments& options, Session& session) {
  auto settings = options.certify;
  settings.seed = options.read.seed;
  settings.step = parsed_number(options.step).value_or(0);
  const std::unique_ptr<Engine> engine = session.engine(session, options.device, options.block);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty()) {
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
    folder->copy_points(options.copy_points);
  }

  progress.stage("reading " + options.source);
  const Dataset data = points_of(options, settings);
  CertifyResult result = certify(data, settings, progress, *engine);
  widths_in_short(data, settings, result, progress);
  result.seconds = session.seconds();

  const Next next = after_certify(data, options.read, settings, result);
  if (folder) write_certify(*folder, data, options.read, settings, result, session.arguments, next);
  answer(options.json ? certify_json(data, settings, result, next) + "\n"
                      : in_flags(certify_text(data, settings, result)) + next_text(next));
  require(options.require, session, [&](const std::string& property) { return holds(property, result); });
}

}  // namespace

void add_certify(Command& command, Session& session) {
  command.about(
      "Can a wide network fit this data, how wide, with what step, and which samples stand in the way?");
  auto& o = command.runs(run_certify, session);
  o.read.cache = session.cache;
  add_source(command, o.source);
  add_read_options(command, o.read);
  add_fields(command, o.certify, any_field, known_activations);
  command.option("--step", o.step, "Step of the forecast: a number, or auto for 1.5/lambda_max")
      .check(check_step, "NUMBER|auto");
  command
      .option("--require", o.require,
              "Exit with 1 unless this holds: conflict-free, certified or lambda_min>=x [none]")
      .check(check_certify_property, "PROPERTY")
      .repeated();
  command.flag(
      "--stream", o.stream,
      "Leave the points in their file and read them by blocks: for the tail, and by itself where they "
      "would not fit into memory [off]");
  command.option(
      "--block", o.block,
      "Under mpirun, rows and columns of a block of the matrix that is dealt to the processes, 1 to 4096");
  command
      .option(
          "--device", o.device,
          "Do the heavy work with LibTorch on cpu, cuda, cuda:N, or auto: a GPU where there is one [none]")
      .type_name("DEVICE");
  command.option("--out", o.out, "Write a run folder: manifest, result, figures [none]");
  add_copy_points(command, o.copy_points);
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss certify digits --classes 3,8",
                    "zeroloss certify table.csv --target price --out runs/kernel",
                    "zeroloss certify digits --n 200 --labels random --require certified"});
}

}  // namespace zeroloss::app
