#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/rounding.hpp"
#include "proof/certificate.hpp"
#include "width/search.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/network/pairs.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// By this much the labels may be longer than those given: as long as they are said to be, in four digits.
constexpr double kReserve = 1e-3;

// In three decimal digits, as it is printed and typed.
double told(double value, Rounding rounding) { return parsed_number(decimal(value, 3, rounding)).value(); }

// A little more than a margin of 1 asks for.
double scale_for(double scale, double margin) {
  if (!(margin > 0)) return kInfinite;
  const double least = (1 + 2 * kReserve) * scale / margin;
  return told(std::max(least, 1e-100), Rounding::up);  // targets that are all zero ask for none
}

// A network of pairs, whatever its output scale.
class Pairs {
 public:
  Pairs(const TrainingSet& set, const CertifiedPoints& points, const Activation& activation, Index width,
        std::uint64_t seed)
      : set_(set),
        points_(points),
        activation_(activation),
        pairs_(draw_pairs({.width = width, .d = set.points.d(), .seed = seed}, activation, set.points.X)) {}

  /// The first scale that is looked at, in proportion to the targets: the outputs' rounding grows with it,
  /// and so does with them the scale that is needed, some 1e3 to 1e6 times their length on real data.
  double first_scale(Index output) const {
    constexpr double kMany = 1e5;
    const double length = norm_above(set_.y(output));
    return kMany * (length > 0 ? length : 1);
  }

  Certificate at(double scale, Index output, const Progress& progress) const {
    TwoLayer network = pairs_;
    scale_pairs(network, scale);
    Progress silent = progress.silent();
    return certify_descent(network, activation_, points_, set_.y(output), silent);
  }

 private:
  const TrainingSet& set_;
  const CertifiedPoints& points_;
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

// What is proved of descent at a scale.
struct Descent {
  double scale = kInfinite, step = kInfinite, rate = kInfinite;

  void also(const Certificate& c) {
    step = std::min(step, c.step);
    rate = std::min(rate, c.rate);
  }
  double told_step() const { return told(step, Rounding::down); }
  /// (1 - x)^k <= exp(-k x)
  double steps(double accuracy) const {
    return std::ceil(-std::log(accuracy) / (told_step() * rate * kDown) * kUp);
  }
};

// At the least scale seen to be enough for the targets of every output, certified again with it; at that of
// any labels where the time is over.
Descent descent_of_these(const Pairs& pairs, Index outputs, const Descent& any, const Look& first,
                         const Deadline& deadline, const Progress& progress) {
  Descent these{.scale = scale_for(first.scale, first.margin)};
  for (Index c = 1; c < outputs; ++c) {
    if (deadline.left() <= 0) return any;
    const Look other = look(pairs, c, progress);
    these.scale = std::max(these.scale, scale_for(other.scale, other.margin));
  }
  if (!(these.scale < any.scale)) return any;
  for (Index output = 0; output < outputs; ++output) {
    const Certificate c = deadline.left() > 0 ? pairs.at(these.scale, output, progress) : Certificate{};
    if (c.kind != "descent") return any;
    these.also(c);
  }
  return these;
}

}  // namespace

DrawnWidth draw_width(const TrainingSet& set, const CertifiedPoints& points, const Activation& activation,
                      Index width, const WidthOptions& options, const Deadline& deadline,
                      Progress& progress) {
  DrawnWidth best{.width = width};
  Look first;  // at the first output: targets of classes are all as long as each other
  Descent proved;
  for (; best.draws < options.draws && (best.draws == 0 || deadline.left() > 0); ++best.draws) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(best.draws);
    const Pairs pairs(set, points, activation, width, seed);
    const Look found = look(pairs, 0, progress);
    progress.check();
    if (found.margin < 0) continue;
    ++best.full_rank;
    const double any = scale_for(found.scale, found.any_margin);
    if (!(any < best.any_scale.value_or(kInfinite))) continue;
    const Certificate c = pairs.at(any, 0, progress);
    if (!(c.kind == "descent" && c.any_margin > 1 + kReserve)) continue;
    first = found;
    proved = {.scale = any, .step = c.step, .rate = c.rate};
    best.seed = seed;
    best.any_scale = any;
    best.lambda_min = c.lambda_min / (any * any) * kDown;
    best.condition = c.norm_J * c.norm_J / c.lambda_min * kUp;
  }
  if (best.any_scale) {
    best.step = proved.told_step();
    best.steps = proved.steps(options.accuracy);
    const Pairs pairs(set, points, activation, width, best.seed);
    const Descent these = descent_of_these(pairs, set.Y.cols(), proved, first, deadline, progress);
    best.these_scale = these.scale;
    best.these_step = these.told_step();
    best.these_steps = these.steps(options.accuracy);
  }
  return best;
}

}  // namespace zeroloss::internal
