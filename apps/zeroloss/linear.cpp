#include "zeroloss/linear/linear.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "command.hpp"
#include "field_options.hpp"
#include "signals.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/present/linear.hpp"

namespace zeroloss::app {
namespace {

struct LinearArguments {
  std::string source, map, sigma, out, layers = "10";
  LinearOptions linear;
  std::uint64_t seed = 0;
  std::vector<std::string> require;
  bool json = false;
};

// "10" or "2:100" or "2:100:7", both ends included.
std::vector<Index> parse_layers(const std::string& text) {
  constexpr Index kMost = 10'000;  // depths in a study
  std::vector<Index> parts;
  std::string_view rest = text;
  bool good = true, more = true;
  while (good && more) {
    const std::string_view item = rest.substr(0, rest.find(':'));
    more = item.size() < rest.size();
    if (more) rest.remove_prefix(item.size() + 1);
    parts.push_back(parsed_integer<Index>(item).value_or(0));
    good = parts.back() >= 1 && parts.size() <= 3;
  }
  good = good && (parts.size() == 1 || parts[0] <= parts[1]);
  const Index stride = parts.size() == 3 ? parts[2] : 1;
  if (!good || (parts.size() > 1 && (parts[1] - parts[0]) / stride >= kMost))
    throw std::invalid_argument(fmt::format(
        "linear: layers must be a number >= 1 or a range FIRST:LAST[:STRIDE] of at most {} depths, "
        "as in 2:100; got \"{}\"",
        kMost, text));
  const Index count = parts.size() > 1 ? (parts[1] - parts[0]) / stride + 1 : 1;
  std::vector<Index> layers(static_cast<std::size_t>(count));
  for (Index k = 0; k < count; ++k) layers[static_cast<std::size_t>(k)] = parts[0] + k * stride;
  return layers;
}

NamedProblem read(const LinearArguments& o) {
  if (o.source.empty() == o.map.empty())
    throw std::invalid_argument(
        o.map.empty()
            ? "linear: give a problem: an npz with X and Y, gaussian:d=.., rotation:d=.., or --map R.npy"
            : "linear: give DATA or --map, not both");
  if (!o.sigma.empty() && o.map.empty()) throw std::invalid_argument("linear: --sigma goes with --map");
  return o.map.empty() ? read_linear_problem(o.source, o.seed) : read_linear_map(o.map, o.sigma);
}

bool holds(const std::string& property, const LinearResult& result) {
  for (const DepthResult& depth : result.depths) {
    if (property == "small-norm" && !depth.small()) return false;
    if (property == "converged" && (!depth.descent || depth.descent->status != DescentStatus::converged))
      return false;
  }
  return true;
}

void run_linear(const LinearArguments& options, Session& session) {
  LinearOptions settings = options.linear;
  settings.layers = parse_layers(options.layers);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty())
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
  progress.stage("reading " + (options.map.empty() ? options.source : options.map));
  const NamedProblem named = read(options);
  LinearResult result = linear(named.problem, settings, progress);
  result.seconds = session.seconds();

  const Next next = result.interrupted ? Next{} : after_figures(session.arguments, options.out);
  if (folder && !result.interrupted) write_linear(*folder, named, settings, result, session.arguments, next);
  answer(options.json ? linear_json(named, settings, result, next) + "\n"
                      : linear_text(named, settings, result) + next_text(next));
  std::fflush(stdout);
  if (result.interrupted) {
    tell(fmt::format("zeroloss: interrupted at {} layers; what was done is above{}\n",
                     result.depths.back().layers,
                     folder ? fmt::format(", {} is not written", options.out) : ""));
    session.exit_code = stopped_code();
    return;
  }
  require(options.require, session, [&](const std::string& property) { return holds(property, result); });
}

}  // namespace

void add_linear(Command& command, Session& session) {
  command.about(
      "Deep linear residual networks: exact factorisations with small layers, and gradient descent");
  auto& o = command.runs(run_linear, session);
  command.option("data", o.source,
                 "An npz with X (n x d) and Y (n x d), or gaussian:d=.. or rotation:d=.. (a random map)");
  const Command problem = command.group("Problem");
  problem.option("--map", o.map, "Instead of DATA: an npy file with the map R, d x d [none]")
      .type_name("R.npy");
  problem.option("--sigma", o.sigma, "Of --map: an npy file with Sigma = E[x x^T] [identity]")
      .type_name("SIGMA.npy");
  problem.option("--seed", o.seed, "Of a random map: an integer from 0 to 2^53 - 1").between(0, kMostSeed);
  command.group("Network")
      .option("--layers", o.layers, "Depth, or a range of depths FIRST:LAST[:STRIDE]")
      .type_name("INT|RANGE");
  add_fields(command, o.linear);
  command
      .option("--require", o.require,
              "Exit with 1 unless this holds at every depth: small-norm (a factorisation with every "
              "||A_i|| < 1) or converged [none]")
      .one_of({"small-norm", "converged"})
      .repeated();
  command.option("--out", o.out, "Write a run folder: factors, curve, figures, result, manifest [none]");
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss linear rotation:d=6 --layers 8",
                    "zeroloss linear gaussian:d=4 --layers 2:10 --out runs/depth",
                    "zeroloss linear --map R.npy --layers 40 --no-train --require small-norm"});
}

}  // namespace zeroloss::app
