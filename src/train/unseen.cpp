#include "train/unseen.hpp"

#include <vector>

#include "zeroloss/base/blas.hpp"
#include "zeroloss/data/summary.hpp"
#include "zeroloss/kernel/ridge.hpp"
#include "zeroloss/theory/suspects.hpp"

namespace zeroloss::internal {

double left_out_error(const Dataset& points, const Matrix& Y, const Matrix& residuals) {
  return judge_labels(points, Y, Y - residuals).error;
}

void expect_of_unseen(const TrainingSet& set, const CheckedOptions& options, const Kernel& kernel,
                      FitResult& result, Progress& progress) {
  if (!options.proved || set.points.n() > kMostLeftOut || !result.conflicts.empty() || set.n_distinct < 2)
    return;
  Dataset points = set.points;
  Matrix Y = set.Y;
  if (!set.distinct.empty()) {
    keep(points, set.distinct);
    Y = set.Y(set.distinct, Eigen::all).eval();
  }
  const SerialBlas serial;
  const double scale = kernel(1);
  for (const double ridge : {0.0, 1e-12, 1e-9, 1e-6}) {  // the least that makes the kernel definite
    Gram<double> gram = zeroloss::gram(points.X, kernel, progress);
    progress.stage("leave-one-out");
    const auto solution = solve_ridge(std::move(gram.K), {}, ridge * scale, Y, progress);
    if (!solution) continue;
    result.leave_one_out_error = left_out_error(points, Y, solution->residuals);
    result.guessing_error = guessing_error(points);
    return;
  }
}

}  // namespace zeroloss::internal
