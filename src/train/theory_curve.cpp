#include "train/theory_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "train/optimizers/optimizers.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::internal {
namespace {

// The id of the theorem that covers a run; empty if none does. That of sgd is about single points.
std::string_view theorem_for(const Activation& activation, const CheckedOptions& options) {
  for (const std::string_view id : options.method->theorems)
    if (options.batch == 1 && covers(id, activation, options.scaling)) return id;
  return {};
}

}  // namespace

PointTheory point_theory(const TrainingSet& set, const Activation& activation, const CheckedOptions& options,
                         Progress& progress) {
  const RowMatrix &X = set.points.X, &distinct = set.X();
  const SerialBlas serial;  // the theorems' steps decide the course of a run: no bit may depend on threads
  PointTheory theory;
  const bool all = X.rows() <= kEveryEigenvalue;
  const bool wanted = all && options.proved;
  if (!all) theory.missing = fmt::format("computed for at most {} points", kEveryEigenvalue);
  if (!wanted && options.rule.kind != Step::Kind::theorem) return theory;
  const Kernel kernel = sigma(activation);
  if (const auto id = theorem_for(activation, options); !id.empty()) {
    theory.norm_X = spectral_norm_bound(X);
    PackedMatrix work(distinct);
    const VerifiedBound proved = lambda_min(work, kernel, Proof::theorem, progress).verified;
    theory.bounds = {.lambda = {"lambda_min", proved.holds ? proved.lambda_min : 0, proved.holds},
                     .separation = work.seen().separation};
  }
  if (!wanted || options.method->left == nullptr) return theory;  // no curve of the kernel stands beside it
  if (!options.start.drawn()) {
    theory.missing = "for weights drawn from a Gaussian only";
    return theory;
  }
  const Gram<double> all_samples = gram(X, kernel, progress);
  progress.stage("all eigenvalues");
  auto system = eigensystem(all_samples.K);
  theory.values = system.values.cwiseMax(0.0);
  theory.vectors = std::move(system.vectors);
  return theory;
}

TheoryCurve::TheoryCurve(const PointTheory& theory, const Activation& activation,
                         const CheckedOptions& options, const RowMatrix& X, const Vector& y, Index outputs)
    : theory_(theory),
      options_(options),
      n_(static_cast<double>(X.rows())),
      norm_y_(norm_above(y)),
      unit_(norm_y_ > 0 ? y.norm() : 1) {
  theorem_.id = theorem_for(activation, options);
  if (theorem_.id.empty()) {
    theorem_.reason = fmt::format("no theorem covers {} with {} scaling and {}", activation.name,
                                  options.scaling, options.optimizer);
    return;
  }
  theorem_.theorem = zeroloss::theorem(theorem_.id).title();
  if (!theory.bounds) {
    theorem_.reason = "lambda_min was not computed: " + theory.missing;
    return;
  }
  GuaranteeInput input =
      guarantee_input(activation, n_, static_cast<double>(X.cols()), theory.norm_X, *theory.bounds);
  input.norm_y = norm_y_;
  input.networks = static_cast<double>(outputs);
  const auto rows =
      guarantees(activation, input, {options.failure_probability, 0.5, static_cast<double>(options.width)});
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const Guarantee& g) { return g.id == theorem_.id; });
  theorem_.holds = row->holds && row->verified;
  theorem_.step = row->step.value_or(0);
  theorem_.width = row->width.value_or(0);
  theorem_.failure_probability = row->failure_probability.value_or(1);
  theorem_.reason = row->reason;
  rate_ = row->rate.value_or(0);
  if (const auto lambda = lambda_of(theorem_.id, activation, input)) lambda_ = lambda->value;
}

bool TheoryCurve::flow() const { return options_.method->facts.flow; }

void TheoryCurve::begin(double v_squares, const Vector& r0, double step) {
  r0_ = r0.norm();
  scale_ = v_squares;
  if (theory_.values.size() > 0) weights_ = (theory_.vectors.transpose() * r0).cwiseAbs2();
  step_ = step;
  if (rate_ != 0 && !flow()) {
    if (step > theorem_.step)
      fails(fmt::format("step {:.3g} is a factor {:.2g} above {:.3g}", step, step / theorem_.step,
                        theorem_.step));
    else
      rate_ *= step / theorem_.step * (1 - rate_ / 2);  // 1 - sqrt(1 - s x) >= s x/2
  }
  // Every theorem of the register speaks of random weights.
  if (theorem_.id.empty()) return;
  if (!options_.start.drawn())
    fails("it asks for W_0 with independent N(0, 1) entries, and this start was given");
  else if (options_.start.paired())
    fails("it asks for W_0 with independent N(0, 1) entries, and these come in pairs");
  else if (options_.output_scale != 1)
    fails(fmt::format("it asks for output weights {:.3g} times these", 1 / options_.output_scale));
}

void TheoryCurve::begin(const Certificate& start) {
  const Method& method = *options_.method;
  if (start.kind != "descent" || theorem_.holds || method.facts.batch || !method.facts.step ||
      method.theorems.empty() || !(step_ > 0 && step_ <= start.step))
    return;
  theorem_ = {"", "The start's certificate", true, start.step, static_cast<double>(options_.width), 0, ""};
  rate_ = step_ * start.rate;
  r0_ = start.misfit;
  radius_ = start.radius;
}

void TheoryCurve::fails(const std::string& why) {
  theorem_.holds = false;
  theorem_.reason = theorem_.reason.empty() ? why : why + "; " + theorem_.reason;
}

void TheoryCurve::complete(CurvePoint& point) const {
  const double k = flow() ? point.time : static_cast<double>(point.step);
  if (const auto left = options_.method->left; weights_.size() > 0 && left != nullptr) {
    double squares = 0;
    for (Index i = 0; i < weights_.size(); ++i)
      if (weights_(i) > 0)
        squares += weights_(i) * (k == 0 ? 1 : left(scale_ * theory_.values(i), step_, options_, k));
    point.forecast = std::sqrt(squares) / unit_;
  }
  if (rate_ == 0) return;
  if (radius_ > 0) {
    point.bound_misfit = r0_ * std::exp(k * std::log1p(-std::min(rate_, 1.0))) / unit_;
    point.bound_distance = radius_;
    return;
  }
  const auto bounds = bounds_along(theorem_.id, {.n = n_,
                                                 .width = static_cast<double>(options_.width),
                                                 .lambda = lambda_,
                                                 .norm_X = theory_.norm_X,
                                                 .norm_y = norm_y_,
                                                 .start = r0_,
                                                 .rate = rate_,
                                                 .k = k,
                                                 .residual = point.relative_misfit * unit_});
  if (bounds.residual) point.bound_misfit = *bounds.residual / unit_;
  point.bound_max_distance = bounds.max_distance;
  point.bound_distance = bounds.distance;
  point.bound_path_length = bounds.path_length;
}

}  // namespace zeroloss::internal
