#include "zeroloss/train/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "fit_output.hpp"
#include "report.hpp"
#include "training_options.hpp"
#include "zeroloss/kernel/activation.hpp"

namespace zeroloss::app {
namespace {

struct Options {
  std::string source, out;
  ReadOptions read;
  FitOptions fit;
  std::vector<std::string> require;
  bool json = false;
};

bool holds(const std::string& property, const FitResult& result) {
  const bool certified = result.status == Status::certified;
  return property == "certified" ? certified : certified || result.status == Status::converged;
}

void run(const Options& options, Session& session) {
  FitOptions settings = options.fit;
  settings.seed = options.read.seed;
  if (settings.resume && options.out.empty())
    throw std::invalid_argument("--resume needs --out: the run to go on with");
  if (settings.polish && options.out.empty())
    throw std::invalid_argument("--polish needs --out: where to write that network");
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty()) {
    folder.emplace(options.out, settings.resume);
    settings.checkpoint = folder->partial() / "checkpoint.safetensors";
  }
  progress.stage("reading " + options.source);
  const Dataset data = read_dataset(options.source, options.read);
  const FitResult result = fit(data, settings, progress);

  if (folder) {
    write_fit(*folder, data, settings, result);
    if (result.status != Status::interrupted) {
      folder->write("manifest.json", manifest("fit", session.arguments, fit_options_json(settings), data,
                                              options.read, result.seconds));
      folder->remove("checkpoint.safetensors");
      folder->finish();
    }
  }
  fmt::print("{}", options.json ? fit_json(data, settings, result) + "\n" : fit_text(data, settings, result));
  std::fflush(stdout);
  if (result.status == Status::interrupted) {
    if (folder)
      fmt::print(stderr, "zeroloss: interrupted; go on with: {}{}\n", quoted(session.arguments),
                 settings.resume ? "" : " --resume");
    else
      fmt::print(stderr, "zeroloss: interrupted; with --out a run can be resumed\n");
    session.exit_code = kInterrupted;
    return;
  }
  for (const auto& property : options.require)
    if (!holds(property, result)) {
      fmt::print(stderr, "zeroloss: required property does not hold: {}\n", property);
      session.exit_code = kRequirementFailed;
    }
}

}  // namespace

void add_fit(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand(
      "fit", "Train a two-layer network to zero loss, and prove that an exact solution is near");
  auto options = std::make_shared<Options>();
  auto& o = *options;
  o.read.cache = session.cache;
  command->add_option("data", o.source, "A file, a folder, or a name such as digits or sphere:n=100,d=20")
      ->required();
  add_read_options(*command, o.read);

  add_training_options(*command, o.fit);
  const auto add = [&](const char* group, const char* flag, auto& field, const char* help) {
    return command->add_option(flag, field, help)->group(group)->capture_default_str();
  };
  constexpr auto kNetwork = "Network", kTraining = "Training", kStopping = "Stopping and proof";
  add(kNetwork, "--activation", o.fit.activation, "Activation of the hidden units")
      ->check(CLI::IsMember(activation_names()));
  add(kNetwork, "--width", o.fit.width, "Hidden units of each output, >= 1");
  add(kNetwork, "--scaling", o.fit.scaling,
      "Output weights: ntk (+-1/sqrt(m)) or balanced (+-||y||/sqrt(m n))")
      ->check(one_of({"ntk", "balanced"}));
  add(kTraining, "--step", o.fit.step,
      "Of gd and sgd: a number, auto (1.5/||J||^2), or theorem (what the paper allows)")
      ->type_name("NUMBER|auto|theorem");
  add(kStopping, "--tolerance", o.fit.tolerance,
      "Relative misfit to reach; 0 = 1e-6, for gauss_newton 1e-9, for float32 1e-4");
  add(kStopping, "--stop", o.fit.stop, "tolerance, or certificate: go on until one holds")
      ->check(one_of({"tolerance", "certificate"}));
  add(kStopping, "--certify-every", o.fit.certify_every,
      "Passes over the data between certificates; 0 = at the end only");
  add(kStopping, "--record-every", o.fit.record_every,
      "Steps between rows of metrics.csv; 0 = about 20 a decade");
  add(kStopping, "--failure-probability", o.fit.failure_probability,
      "Allowed for the theorems' bounds, in (0, 1)");
  command->add_option("--require", o.require, "Exit with 1 unless this holds: certified or converged [none]")
      ->check(one_of({"certified", "converged"}))
      ->allow_extra_args(false)
      ->group(kStopping);
  command
      ->add_flag(
          "--polish", o.fit.polish,
          "relu: write polished.safetensors, whose misfit is at rounding level, to the run folder [off]")
      ->group(kStopping);
  command->add_option("--out", o.out, "Write a run folder: model, curve, result, manifest [none]");
  command->add_flag("--resume", o.fit.resume, "Go on with an interrupted run of the same --out [off]")
      ->configurable(false);
  add("Options", "--checkpoint-every-s", o.fit.checkpoint_every_s,
      "Seconds between checkpoints of a run folder");
  command->add_flag("--json", o.json, "Print one JSON object [off]");
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace zeroloss::app
