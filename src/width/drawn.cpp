#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/rounding.hpp"
#include "width/search.hpp"
#include "zeroloss/network/pairs.hpp"
#include "zeroloss/proof/certificate.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Rounded up to three digits, and a little more than a margin of 1 asks for.
double scale_for(double scale, double margin) {
  if (!(margin > 0)) return kInfinite;
  const double least = std::max(1.001 * scale / margin, 1e-100);  // targets that are all zero
  const double unit = std::pow(10, std::floor(std::log10(least)) - 2);
  return std::ceil(least / unit) * unit;
}

// A network of pairs, whatever its output scale.
class Pairs {
 public:
  Pairs(const TrainingSet& set, const Activation& activation, Index width, std::uint64_t seed)
      : set_(set),
        activation_(activation),
        pairs_(draw_pairs({.width = width, .d = set.points.d(), .seed = seed}, activation, set.points.X)) {}

  /// The first scale that is looked at. The outputs' rounding grows with it, so it is as large as the
  /// targets.
  double first_scale(Index output) const {
    const double length = norm_above(set_.y(output));
    return 1e5 * (length > 0 ? length : 1);
  }

  Certificate at(double scale, Index output, const Progress& progress) const {
    TwoLayer network = pairs_;
    scale_pairs(network, scale);
    const Vector y = set_.y(output);
    Progress silent = progress.silent();
    return certify_descent(network, activation_, {set_.X(), y, set_.counts, unit_row_error(set_.points.d())},
                           silent);
  }

 private:
  const TrainingSet& set_;
  const Activation& activation_;
  TwoLayer pairs_;
};

// What was certified at one scale; margins are proportional to it. A margin below 0 if K is not proved to
// have full rank, 0 if no scale was large enough to tell.
struct Look {
  double scale = 1, margin = 0, any_margin = 0;
};
Look look(const Pairs& pairs, Index output, const Progress& progress) {
  constexpr int kLooks = 3;
  constexpr double kFactor = 1e4;
  double scale = pairs.first_scale(output);
  for (int k = 0; k < kLooks; ++k, scale *= kFactor) {
    const Certificate c = pairs.at(scale, output, progress);
    if (!(c.lambda_min > 0)) return {scale, -1, -1};
    if (c.any_margin > 0 && c.margin > 0) return {scale, c.margin, c.any_margin};
  }
  return {};
}

// Those with the longest targets first: what holds of any targets as long as these holds of the others.
std::vector<Index> by_length(const TrainingSet& set) {
  std::vector<Index> outputs(static_cast<std::size_t>(set.Y.cols()));
  std::iota(outputs.begin(), outputs.end(), Index{0});
  std::ranges::stable_sort(outputs, std::greater{}, [&](Index c) { return norm_above(set.Y.col(c)); });
  return outputs;
}

// The least scale seen to be enough for the targets of every output; certified again with it.
std::optional<double> scale_of_these(const Pairs& pairs, const std::vector<Index>& outputs, double any,
                                     const Look& first, const Progress& progress) {
  double scale = scale_for(first.scale, first.margin);
  for (std::size_t c = 1; c < outputs.size(); ++c) {
    const Look other = look(pairs, outputs[c], progress);
    scale = std::max(scale, scale_for(other.scale, other.margin));
  }
  if (!(scale < any)) return any;
  const bool holds =
      std::ranges::all_of(outputs, [&](Index c) { return pairs.at(scale, c, progress).holds; });
  return holds ? scale : any;
}

}  // namespace

DrawnWidth draw_width(const TrainingSet& set, const Activation& activation, Index width,
                      const WidthOptions& options, const Deadline& deadline, Progress& progress) {
  DrawnWidth best{.width = width};
  const std::vector<Index> outputs = by_length(set);
  Look first;
  for (; best.draws < options.draws && (best.draws == 0 || deadline.left() > 0); ++best.draws) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(best.draws);
    const Pairs pairs(set, activation, width, seed);
    const Look found = look(pairs, outputs.front(), progress);
    progress.check();
    if (found.margin < 0) continue;
    ++best.full_rank;
    const double any = scale_for(found.scale, found.any_margin);
    if (!(any < best.any_scale.value_or(kInfinite))) continue;
    const Certificate c = pairs.at(any, outputs.front(), progress);
    if (!(c.kind == "descent" && c.any_margin > 1)) continue;
    first = found;
    best.seed = seed;
    best.any_scale = any;
    best.lambda_min = c.lambda_min / (any * any) * kDown;
    best.condition = c.norm_J * c.norm_J / c.lambda_min * kUp;
    best.step = c.step;
    best.steps = std::ceil(-std::log(options.accuracy) / -std::log1p(-c.step * c.rate) * kUp);
  }
  if (best.any_scale)
    best.these_scale =
        scale_of_these(Pairs(set, activation, width, best.seed), outputs, *best.any_scale, first, progress);
  return best;
}

}  // namespace zeroloss::internal
