#include "zeroloss/train/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "finished.hpp"
#include "predictor_options.hpp"
#include "signals.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/present/fit.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss::app {
namespace {

struct FitArguments {
  std::string source, out, start = "gaussian", test, device;
  std::optional<Index> start_seed;
  ReadOptions read;
  FitOptions fit;
  std::vector<std::string> require;
  bool json = false, copy_points = false;
};

void check_fit(const std::vector<std::string>& properties, const std::string& status, Session& session) {
  require(properties, session,
          [&](const std::string& property) { return status == property || status == "certified"; });
}

/// Weights of the user's own.
void begin_at(const FitArguments& options, FitOptions& settings, Progress& progress) {
  if (options.start == settings.start.source) return;
  if (options.start != "pairs") progress.stage("reading " + options.start);
  settings.start = read_start(options.start);
}

TestSet test_of(const FitArguments& options, const Dataset& data, Progress& progress) {
  if (options.test.empty()) return {};
  return TestSet(std::make_shared<Dataset>(read_test(options.test, data, options.read, progress)));
}

void run_fit(const FitArguments& options, Session& session) {
  FitOptions settings = options.fit;
  settings.seed = options.start_seed ? static_cast<std::uint64_t>(*options.start_seed) : options.read.seed;
  if (settings.resume && options.out.empty())
    throw std::invalid_argument("--resume needs --out: the run to go on with");
  if (settings.polish && options.out.empty())
    throw std::invalid_argument("--polish needs --out: where to write that network");
  if (settings.optimizer == "kernel" && std::ranges::count(options.require, "certified") > 0)
    throw std::invalid_argument(
        "--require certified: a certificate is of weights, and the network of kernel is infinitely wide; "
        "leave "
        "it out, or take another --optimizer");
  const auto finished = settings.resume ? finished_run(options.out) : std::nullopt;
  const auto engine = finished ? nullptr : session.tangents(session, options.device);
  auto progress = session.progress();
  begin_at(options, settings, progress);
  std::optional<RunFolder> folder;
  if (!options.out.empty() && !finished) {
    folder.emplace(options.out, settings.resume);
    folder->copy_points(options.copy_points);
    settings.checkpoint = folder->file("checkpoint.safetensors");
  }
  progress.stage("reading " + options.source);
  const Dataset data = read_dataset(options.source, options.read);
  settings.test = test_of(options, data, progress);
  if (finished) {
    check_same_run(*finished, data, settings);
    progress.finish();
    return check_fit(options.require, say_finished(options.out, options.json).value_or(finished->status),
                     session);
  }
  FitResult result =
      engine ? fit(data, settings, progress, *engine) : fit(data, settings, progress, session.group);
  result.seconds = session.seconds();

  Next next = after_fit(data, options.read, settings, result, options.out);
  if (engine && result.status == Status::certified && options.out.empty())  // the same command, with --out
    next.command.insert(next.command.end(), {"--device", options.device});
  const auto say = [&] {
    answer(options.json ? fit_json(data, settings, result, next) + "\n"
                        : in_flags(fit_text(data, settings, result)) + next_text(next));
  };
  try {
    if (folder) write_fit(*folder, data, options.read, settings, result, session.arguments, next);
  } catch (const ResourceError&) {  // what was found out is not lost with the disk
    say();
    throw;
  }
  say();
  if (result.status == Status::interrupted) {
    const std::string again = shell_command(session.arguments) + (settings.resume ? "" : " --resume");
    return tell_interrupted(folder ? again : "", "with --out a run can be resumed", session);
  }
  check_fit(options.require, name(result.status), session);
}

}  // namespace

void add_fit(Command& command, Session& session) {
  command.about("Train a network to zero loss, and prove that an exact solution is near");
  auto& o = command.runs(run_fit, session);
  o.read.cache = session.cache;
  add_source(command, o.source);
  add_read_options(command, o.read);
  add_fields(command, o.fit, any_field, with_auto);
  command.group("Network")
      .option("--start", o.start,
              "Where training begins: gaussian; pairs, whose outputs cancel and which need no luck for a "
              "proof; or a "
              "FILE of weights W and v: a model, .safetensors, .npz or .npy; then the width is that of W, "
              "and v is "
              "drawn if there is none")
      .type_name("gaussian|pairs|FILE");
  command.group("Network")
      .option("--start-seed", o.start_seed,
              "Of weights and batches, where --seed is that of the data only [--seed]")
      .between(0, kMostSeed);
  command.group("Data")
      .option("--test", o.test,
              "Data like DATA that are not fitted: their error stands beside every record [none]")
      .type_name("DATA");
  command
      .option("--device", o.device,
              "Take the steps of gauss_newton with LibTorch on cpu, cuda, cuda:N, or auto: a GPU where there "
              "is one; one hidden layer [none]")
      .type_name("DEVICE");
  command.group("Stopping and proof")
      .option("--require", o.require,
              "Exit with 1 unless this holds: certified, or converged, to the tolerance or certified [none]")
      .one_of({"certified", "converged"})
      .repeated();
  command.option("--out", o.out, "Write a run folder: model, curve, result, manifest [none]");
  add_copy_points(command, o.copy_points);
  command.flag("--resume", o.fit.resume, "Go on with an interrupted run of the same --out [off]")
      .not_in_config();
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples(
      {"zeroloss fit digits --classes 3,8 --n 100 --optimizer gauss_newton --out runs/first",
       "zeroloss fit table.csv --target price --test new.csv --optimizer output_layer",
       "zeroloss fit digits --classes 3,8 --n 100 --optimizer gauss_newton --out runs/first --resume"});
}

}  // namespace zeroloss::app
