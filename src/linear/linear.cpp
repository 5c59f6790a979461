#include "zeroloss/linear/linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "base/clock.hpp"
#include "linear/descent.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kDeepest = 1'000'000;

std::string above(double x) { return decimal(x, 3, Rounding::up); }

std::string layers_text(Index l) { return fmt::format("{} {}", l, l == 1 ? "layer" : "layers"); }

std::string represent(Index l) { return layers_text(l) + (l == 1 ? " represents" : " represent"); }

std::string norm_sentence(const LinearResult& r) {
  const Factorization& first = r.depths.front().smallest();
  const Factorization& last = r.depths.back().smallest();
  const auto needed = [&] {
    return r.layers_needed > 0 ? fmt::format(": {} would be enough", layers_text(r.layers_needed)) : "";
  };
  const auto bound = [](const Factorization& f) {
    return f.missing.empty() ? above(f.max_norm) : std::string("no bound");
  };
  if (r.depths.size() == 1 && !first.missing.empty())
    return fmt::format("No exact factorisation into {} is proved: {}{}.", layers_text(first.layers),
                       first.missing, needed());
  const std::string exactly = fmt::format("{} R exactly with every ||A_i|| <= {} (proved; {})",
                                          represent(first.layers), bound(first), first.name);
  if (r.depths.size() == 1)
    return first.small() ? exactly + "."
                         : exactly + fmt::format("; none with every ||A_i|| < 1 was found{}.", needed());
  std::string text = fmt::format(
      "From {} to {} the best exact factorisation's bound of max ||A_i|| (proved) goes from {} to {}",
      first.layers, layers_text(last.layers), bound(first), bound(last));
  const auto large = std::find_if(r.depths.rbegin(), r.depths.rend(),
                                  [](const DepthResult& depth) { return !depth.small(); });
  const auto small = large.base();  // from here on all are
  if (small == r.depths.end()) {
    const bool never =
        std::none_of(r.depths.begin(), r.depths.end(), [](const auto& depth) { return depth.small(); });
    return text + (never ? fmt::format(", never below 1{}.", needed()) : ".");
  }
  if (small != r.depths.begin()) text += fmt::format(", below 1 from {} on", layers_text(small->layers));
  return text + ".";
}

std::string descent_sentence(const LinearResult& r, const DescentResult& descent,
                             const Factorization& logarithm) {
  const std::string steps = fmt::format("{} {}", descent.steps, descent.steps == 1 ? "step" : "steps");
  const std::string domain =
      descent.left_domain_at
          ? fmt::format(
                "at step {} the bound of some ||A_i|| had reached 1, where the landscape inequality says "
                "nothing: try more layers",
                *descent.left_domain_at)
          : fmt::format("at every recorded step all ||A_i|| <= {} (proved)", above(descent.largest_norm));
  switch (descent.status) {
    case DescentStatus::converged:
      return fmt::format("Gradient descent from A = 0 reached relative misfit {} (computed) in {}; {}.",
                         above(descent.relative_misfit), steps, domain);
    case DescentStatus::diverged:
      return fmt::format("Gradient descent from A = 0 diverged within {}: {}.", steps, descent.reason);
    case DescentStatus::interrupted:
      return fmt::format("Gradient descent was interrupted after {}, at relative misfit {} (computed).",
                         steps, above(descent.relative_misfit));
    case DescentStatus::budget_spent:
      break;
  }
  std::string text = fmt::format(
      "Gradient descent from A = 0 did not converge: relative misfit {} (computed) after {} ({}); {}.",
      above(descent.relative_misfit), steps, descent.reason, domain);
  const double condition = r.map.s_max / r.map.s_min;
  if (condition > 30)
    text += fmt::format(
        " R has condition number {:.2g} (computed): its small singular values are learnt last.", condition);
  if (!logarithm.missing.empty())
    text += fmt::format(" {}{}: descent from A = 0 learns reversed directions late, if at all.",
                        r.treatment == "none" ? "" : "After that treatment ", logarithm.missing);
  return text;
}

std::string study_sentence(const LinearResult& r) {
  Index trained = 0, converged = 0;
  const DescentResult *fewest = nullptr, *most = nullptr;
  for (const DepthResult& depth : r.depths) {
    if (!depth.descent) continue;
    ++trained;
    if (depth.descent->status != DescentStatus::converged) continue;
    ++converged;
    const DescentResult* descent = &*depth.descent;
    if (fewest == nullptr || descent->steps < fewest->steps) fewest = descent;
    if (most == nullptr || descent->steps > most->steps) most = descent;
  }
  std::string text =
      fmt::format("Gradient descent from A = 0 converged at {} of {} depths", converged, trained);
  if (converged > 0)
    text += fewest->steps == most->steps ? fmt::format(", in {} steps", most->steps)
                                         : fmt::format(", in {} to {} steps", fewest->steps, most->steps);
  return text + ".";
}

void conclude(LinearResult& r) {
  r.conclusion = norm_sentence(r);
  const DepthResult& last = r.depths.back();
  if (!last.descent) return;
  r.conclusion += '\n';
  r.conclusion += r.depths.size() > 1 ? study_sentence(r)
                                      : descent_sentence(r, *last.descent, last.factorizations.back());
}

}  // namespace

const Factorization& DepthResult::smallest() const {
  const Factorization* least = &factorizations.front();
  for (const Factorization& f : factorizations) {
    if (!f.missing.empty()) continue;
    // Those of a rotation are the same but for rounding, which is not the same on all processors.
    if (!least->missing.empty() || f.max_norm < (1 - 1e-9) * least->max_norm) least = &f;
  }
  return *least;
}

bool DepthResult::small() const { return std::ranges::any_of(factorizations, &Factorization::small); }

LinearResult linear(const LinearProblem& problem, const LinearOptions& options, Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  if (options.layers.empty()) throw std::invalid_argument("linear: layers names no depth");
  for (const Index layers : options.layers)
    if (layers < 1 || layers > kDeepest)
      throw std::invalid_argument(
          fmt::format("linear: layers must be >= 1 and at most {}; got {}", kDeepest, layers));
  check_descent(options.layers.front(), options.descent);
  const auto d = static_cast<double>(problem.d() + 1);
  const Index deepest = *std::max_element(options.layers.begin(), options.layers.end());
  require_memory(8 * d * d * (6 * static_cast<double>(deepest) + 30),  // three factorisations, A, gradient, P
                 fmt::format("{} of {} x {}", layers_text(deepest), problem.d(), problem.d()),
                 "try fewer layers");

  std::optional<SerialBlas> serial;  // threads gain nothing on small matrices, and wait for each other
  if (problem.d() < 200) serial.emplace();
  progress.stage("decomposing R");
  LinearResult result;
  result.d = problem.d();
  result.n = problem.n;
  OrientedProblem oriented = orient(problem, options.reflection);
  result.map = oriented.map;
  result.treatment = oriented.treatment;
  result.problem = std::move(oriented.problem);
  const Factorizer factorizer(result.problem.R, progress.silent());
  try {
    for (const Index layers : options.layers) {
      if (!result.depths.empty()) {
        for (Factorization& f : result.depths.back().factorizations) f.network = {};
        if (auto& descent = result.depths.back().descent) descent->network = {};
      }
      progress.stage(fmt::format("factorising, {}", layers_text(layers)));
      DepthResult depth{layers, factorizer.all(layers, progress.silent()), {}};
      if (options.train) depth.descent = descend(result.problem, layers, options.descent, progress);
      const bool interrupted = depth.descent && depth.descent->status == DescentStatus::interrupted;
      result.depths.push_back(std::move(depth));
      if (result.depths.size() == 1 && !result.depths.front().small())
        result.layers_needed = factorizer.layers_needed();
      if (interrupted) throw Interrupted();
    }
  } catch (const Interrupted&) {
    if (result.depths.empty()) throw;
    result.interrupted = true;
  }
  progress.finish();
  conclude(result);
  result.seconds = seconds_since(began);
  return result;
}

LinearResult linear(const LinearProblem& problem, const LinearOptions& options) {
  Progress silent;
  return linear(problem, options, silent);
}

void save_linear(const std::filesystem::path& path, const LinearResult& result, const Metadata& extra) {
  const DepthResult& depth = result.depths.back();
  const Index d = result.problem.d();
  std::vector<RowMatrix> rows;  // files are in row order
  std::vector<TensorView> tensors;
  const auto add = [&](const std::string& name, const LinearResnet& network) {
    if (network.A.empty()) return;
    TensorView tensor{name, Dtype::f64, {network.layers(), d, d}, {}};
    for (const Matrix& A : network.A) tensor.pieces.push_back(rows.emplace_back(A).data());
    tensors.push_back(std::move(tensor));
  };
  rows.reserve(static_cast<std::size_t>(4 * depth.layers + 1));  // its data stays where it is
  for (const Factorization& f : depth.factorizations) add(f.name, f.network);
  if (depth.descent) add("descent", depth.descent->network);
  tensors.push_back(view_of("R", {d, d}, rows.emplace_back(result.problem.R).data()));
  Metadata metadata{{"kind", "linear"},
                    {"format_version", "1"},
                    {"layers", fmt::to_string(depth.layers)},
                    {"treatment", result.treatment}};
  metadata.insert(extra.begin(), extra.end());
  write_tensors(path, tensors, metadata);
}

}  // namespace zeroloss
