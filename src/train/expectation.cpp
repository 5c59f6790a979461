#include "train/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "zeroloss/core/blas.hpp"
#include "zeroloss/kernel/dual.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kEveryEigenvalue = 3000;  // points up to which all of theory is computed unasked

// Which theorem covers a run; empty if none does.
std::string theorem_for(const Activation& activation, const FitOptions& options) {
  const bool relu = activation.name == "relu", bounded = activation.smooth() && activation.B < 1e300;
  const bool ntk = options.scaling == "ntk", gd = options.optimizer == "gd";
  if (ntk && relu && gd) return "Du et al. 2018, Thm 4.1";
  if (ntk && relu && options.optimizer == "flow") return "Du et al. 2018, Thm 3.1";
  if (!ntk && relu && gd) return "Oymak & Soltanolkotabi 2019, Thm 6.3";
  if (!ntk && bounded && gd) return "Oymak & Soltanolkotabi 2019, Thm 6.2";
  if (!ntk && bounded && options.optimizer == "sgd" && options.batch == 1)
    return "Oymak & Soltanolkotabi 2019, Thm 2.6";
  return "";
}

}  // namespace

PointTheory point_theory(const TrainingSet& set, const Activation& activation, const FitOptions& options,
                         Progress& progress) {
  const RowMatrix &X = set.points.X, &distinct = set.X();
  const SerialBlas serial;  // the theorems' steps decide the course of a run: no bit may depend on threads
  PointTheory theory;
  const bool all = X.rows() <= kEveryEigenvalue;
  if (!all) theory.missing = fmt::format("computed for at most {} points", kEveryEigenvalue);
  if (!all && options.step != "theorem") return theory;
  theory.norm_X = spectral_norm_bound(X);
  const Kernel kernel = sigma(activation);
  Gram<double> work{Packed<double>(distinct.rows())};
  const auto found = lambda_min(work, distinct, kernel, true, progress);
  theory.lambda = {"lambda_min", found.verified.holds ? found.verified.lambda_min : 0, found.verified.holds};
  if (options.optimizer == "sgd") {
    const auto product = lambda_min(work, distinct, power(2), true, progress).verified;
    theory.product = {"lambda_min(G o G)", product.holds ? product.lambda_min : 0, product.holds};
  }
  if (!all) return theory;
  work = gram(X, kernel, progress);
  progress.stage("all eigenvalues");
  auto system = eigensystem(work.K);
  theory.values = system.values.cwiseMax(0.0);
  theory.vectors = std::move(system.vectors);
  return theory;
}

Expectation::Expectation(const PointTheory& theory, const Activation& activation, const FitOptions& options,
                         const RowMatrix& X, const Vector& y, Index outputs)
    : theory_(theory),
      options_(options),
      n_(static_cast<double>(X.rows())),
      norm_y_(norm_above(y)),
      unit_(norm_y_ > 0 ? y.norm() : 1),
      ntk_(options.scaling == "ntk"),
      smooth_(activation.smooth()) {
  theorem_.theorem = theorem_for(activation, options);
  if (theorem_.theorem.empty()) {
    theorem_.reason = fmt::format("no theorem covers {} with {} scaling and {}", activation.name,
                                  options.scaling, options.optimizer);
    return;
  }
  if (!theory.lambda) {
    theorem_.reason = "lambda_min was not computed: " + theory.missing;
    return;
  }
  GuaranteeInput input;
  input.n = n_;
  input.d = static_cast<double>(X.cols());
  input.norm_X = theory.norm_X;
  input.norm_y = norm_y_;
  input.networks = static_cast<double>(outputs);
  input.lambdas = {*theory.lambda};
  input.lambda_product = theory.product;
  input.mu_phi = std::abs(hermite(activation, true).mu[1]) * (1 - 1e-14);
  const auto rows =
      guarantees(activation, input, {options.failure_probability, 0.5, static_cast<double>(options.width)});
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Guarantee& g) { return g.theorem == theorem_.theorem; });
  theorem_.holds = row->holds && row->verified;
  theorem_.step = row->step.value_or(0);
  theorem_.width = row->width.value_or(0);
  theorem_.failure_probability = row->failure_probability.value_or(1);
  theorem_.reason = row->reason;
  rate_ = row->rate.value_or(0);
}

void Expectation::begin(double v_squares, const Vector& r0, double step) {
  r0_ = r0.norm();
  scale_ = v_squares;
  if (theory_.values.size() > 0) weights_ = (theory_.vectors.transpose() * r0).cwiseAbs2();
  step_ = step;
  if (rate_ == 0 || flow()) return;
  if (step > theorem_.step) {
    theorem_.holds = false;
    const auto excess =
        fmt::format("step {:.3g} is a factor {:.2g} above {:.3g}", step, step / theorem_.step, theorem_.step);
    theorem_.reason = theorem_.reason.empty() ? excess : excess + "; " + theorem_.reason;
  } else {
    rate_ *= step / theorem_.step * (1 - rate_ / 2);  // 1 - sqrt(1 - s x) >= s x/2
  }
}

void Expectation::complete(CurvePoint& point) const {
  const double k = flow() ? point.time : static_cast<double>(point.step);
  if (weights_.size() > 0 && (flow() || options_.optimizer == "gd")) {
    double squares = 0;
    for (Index i = 0; i < weights_.size(); ++i) {
      const double decay = scale_ * theory_.values(i);
      const double log_factor = flow()              ? -decay
                                : step_ * decay < 1 ? std::log1p(-step_ * decay)
                                                    : std::log(std::abs(1 - step_ * decay));
      if (weights_(i) > 0) squares += weights_(i) * (k == 0 ? 1 : std::exp(2 * k * log_factor));
    }
    point.forecast = std::sqrt(squares) / unit_;
  }
  if (rate_ == 0 || options_.optimizer == "sgd") return;  // Thm 2.6 bounds a mean over runs, not one run
  const double log_factor = flow() ? -rate_ : std::log1p(-rate_);
  point.bound_misfit = std::exp(k * log_factor) * r0_ / unit_;
  const double lambda = theory_.lambda->value, m = static_cast<double>(options_.width);
  if (ntk_) {
    point.bound_max_distance = (flow() ? 2 : 4) * std::sqrt(n_ / m) * r0_ / lambda;
  } else if (smooth_ && options_.optimizer == "gd") {
    const double active = options_.width % 2 == 0 ? 1 : 1 - 1 / m;  // of ||v||^2
    const double path = std::sqrt(32 * n_ / lambda / active) * r0_ / norm_y_;
    point.bound_path_length = path;
    point.bound_distance = path * std::max(0.0, 1 - point.relative_misfit * unit_ / r0_);
  }
}

}  // namespace zeroloss::internal
