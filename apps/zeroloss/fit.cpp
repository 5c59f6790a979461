#include "zeroloss/train/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "training_options.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/present/fit.hpp"
#include "zeroloss/train/optimizers.hpp"

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

  if (folder) write_fit(*folder, data, options.read, settings, result, session.arguments);
  fmt::print("{}", options.json ? fit_json(data, settings, result) + "\n" : fit_text(data, settings, result));
  std::fflush(stdout);
  if (result.status == Status::interrupted) {
    if (folder)
      fmt::print(stderr, "zeroloss: interrupted; go on with: {}{}\n", shell_command(session.arguments),
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

void add_fit(Command& command, Session& session) {
  command.about("Train a two-layer network to zero loss, and prove that an exact solution is near");
  auto& o = command.runs(run, session);
  o.read.cache = session.cache;
  command.option("data", o.source, "A file, a folder, or a name such as digits or sphere:n=100,d=20")
      .required();
  add_read_options(command, o.read);
  add_training_options(command, o.fit);

  const Command network = command.group("Network"), training = command.group("Training"),
                stopping = command.group("Stopping and proof");
  network.option("--activation", o.fit.activation, "Activation of the hidden units")
      .one_of(activation_names());
  network.option("--width", o.fit.width, "Hidden units of each output, >= 1");
  network
      .option("--scaling", o.fit.scaling, "Output weights: ntk (+-1/sqrt(m)) or balanced (+-||y||/sqrt(m n))")
      .one_of({"ntk", "balanced"});
  training
      .option("--step", o.fit.step,
              fmt::format("Of {}: a number, auto (1.5/||J||^2), or theorem (what the paper allows)",
                          optimizers_with(&OptimizerFacts::step)))
      .type_name("NUMBER|auto|theorem");
  stopping.option("--tolerance", o.fit.tolerance,
                  fmt::format("Relative misfit to reach; 0 = {}, for float32 1e-4", default_tolerances()));
  stopping.option("--stop", o.fit.stop, "tolerance, or certificate: go on until one holds")
      .one_of({"tolerance", "certificate"});
  stopping.option("--certify-every", o.fit.certify_every,
                  "Passes over the data between certificates; 0 = at the end only");
  stopping.option("--record-every", o.fit.record_every,
                  "Steps between rows of metrics.csv; 0 = about 20 a decade");
  stopping.option("--failure-probability", o.fit.failure_probability,
                  "Allowed for the theorems' bounds, in (0, 1)");
  stopping.option("--require", o.require, "Exit with 1 unless this holds: certified or converged [none]")
      .one_of({"certified", "converged"})
      .repeated();
  stopping.flag(
      "--polish", o.fit.polish,
      "relu: write polished.safetensors, whose misfit is at rounding level, to the run folder [off]");
  command.option("--out", o.out, "Write a run folder: model, curve, result, manifest [none]");
  command.flag("--resume", o.fit.resume, "Go on with an interrupted run of the same --out [off]")
      .not_in_config();
  command.option("--checkpoint-every-s", o.fit.checkpoint_every_s,
                 "Seconds between checkpoints of a run folder");
  command.flag("--json", o.json, "Print one JSON object [off]");
}

}  // namespace zeroloss::app
