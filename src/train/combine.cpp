#include "train/combine.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/rounding.hpp"

namespace zeroloss::internal {

double combined_misfit(const std::vector<double>& relative, const Matrix& Y) {
  double squares = 0;
  for (std::size_t c = 0; c < relative.size(); ++c) {
    const double norm = Y.col(static_cast<Index>(c)).norm();
    squares += std::pow(relative[c] * (norm > 0 ? norm : 1), 2);
  }
  const double norm_Y = Y.leftCols(static_cast<Index>(relative.size())).norm();
  return std::sqrt(squares) / (norm_Y > 0 ? norm_Y : 1);
}

namespace {

// NaN stays: of two upper bounds one that is unknown is.
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace

Certificate combined(const std::vector<Certificate>& outputs) {
  Certificate all = outputs.front();
  all.misfit = 0;
  for (const Certificate& c : outputs) {
    if (!c.holds || !all.holds)
      all.kind = "none";
    else if (c.kind != "descent")
      all.kind = c.kind;
    if (all.holds && !c.holds) all.reason = c.reason;
    if (c.holds && all.holds && all.reason.empty()) all.reason = c.reason;
    all.holds = all.holds && c.holds;
    all.radius = larger(all.radius, c.radius);
    all.margin = std::min(all.margin, c.margin);
    all.any_margin = std::min(all.any_margin, c.any_margin);
    all.misfit = std::hypot(all.misfit, c.misfit) * (1 + 8 * u);
    all.lambda_min = std::min(all.lambda_min, c.lambda_min);
    all.norm_J = all.norm_J > 0 && c.norm_J > 0 ? larger(all.norm_J, c.norm_J) : 0;
    all.step = std::min(all.step, c.step);
    all.rate = std::min(all.rate, c.rate);
    all.kinks = std::max(all.kinks, c.kinks);
    all.kink_bound = larger(all.kink_bound, c.kink_bound);
  }
  if (!all.holds) all.radius = all.step = all.rate = 0;
  if (all.kind != "descent") all.step = all.rate = 0;
  return all;
}

}  // namespace zeroloss::internal
