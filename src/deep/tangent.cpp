#include "zeroloss/deep/tangent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "deep/certificate.hpp"
#include "deep/equations.hpp"
#include "linalg/rounding.hpp"
#include "proof/evaluate.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/packed.hpp"
#include "zeroloss/kernel/spectrum.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss {

struct internal::TangentFactors {
  DeepNetwork network;
  Moving moving;
  ForwardPass pass;
  BackwardPass back;
  Vector ones;
};

using namespace internal;
namespace {

Moving checked_layers(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                      const std::vector<bool>& moving) {
  check_points(network, X);
  if (X.rows() < 1) throw DataError("there are no points");
  const Moving layers = moving.empty() ? Moving(network.layers.size() + 1, true) : moving;
  if (layers.size() != network.layers.size() + 1)
    throw std::invalid_argument(fmt::format("`moving` must have one flag a layer, {}; got {}",
                                            network.layers.size() + 1, layers.size()));
  return layers;
}

TangentFactors factors_of(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X, Moving moving,
                          const Progress& progress) {
  TangentFactors f{network, std::move(moving), forward(network, X), {}, Vector::Ones(X.rows())};
  progress.check();
  f.back = backward(f.network, f.pass, f.moving, f.ones);
  progress.check();
  return f;
}

}  // namespace

Matrix tangent_kernel(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                      const std::vector<bool>& moving, const Progress& progress) {
  const Moving layers = checked_layers(network, X, moving);
  require_gram_memory(network, layers, X.rows(), 1, "the tangent kernel",
                      "all of it comes in strips of rows or as products with vectors");
  const TangentFactors f = factors_of(network, X, layers, progress);
  Matrix K;
  tangent_gram(f.network, f.pass, f.back, f.moving, f.ones, K);
  K.triangularView<Eigen::StrictlyUpper>() = K.transpose();
  return K;
}

TangentKernel factored_tangent_kernel(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                                      const std::vector<bool>& moving, const Progress& progress) {
  const Moving layers = checked_layers(network, X, moving);
  require_gram_memory(network, layers, X.rows(), 0, "the factors of the tangent kernel");
  return {X.rows(), network.outputs(),
          std::make_shared<const TangentFactors>(factors_of(network, X, layers, progress))};
}

RowMatrix rows_of(const TangentKernel& kernel, Index first, Index count, const Progress& progress) {
  if (first < 0 || count < 0 || count > kernel.points - first)
    throw std::invalid_argument(fmt::format(
        "the tangent kernel has rows of points 0 to {}; got {} from {} on", kernel.points - 1, count, first));
  require_memory(8.0 * static_cast<double>(count * kernel.outputs) * static_cast<double>(kernel.side()),
                 "a strip of the tangent kernel", "ask for fewer rows");
  const TangentFactors& f = *kernel.factors;
  progress.check();
  RowMatrix rows;
  tangent_rows(f.network, f.pass, f.back, f.moving, f.ones, first, count, rows);
  return rows;
}

Index points_together(const TangentKernel& kernel) { return points_of_tile(kernel.outputs); }

Matrix product(const TangentKernel& kernel, const Matrix& V, const Progress& progress) {
  if (V.rows() != kernel.side())
    throw std::invalid_argument(
        fmt::format("the tangent kernel has {} columns; got {} rows", kernel.side(), V.rows()));
  const TangentFactors& f = *kernel.factors;
  Matrix products(V.rows(), V.cols());
  for (Index j = 0; j < V.cols(); ++j) {
    progress.check();
    const DeepNetwork step = pulled_back(f.network, f.pass, f.back, f.moving, f.ones, V.col(j));
    products.col(j) = pushed_forward(f.network, f.pass, f.back, f.moving, f.ones, step);
  }
  return products;
}

Vector diagonal(const TangentKernel& kernel) {
  const TangentFactors& f = *kernel.factors;
  return tangent_diagonal(f.network, f.pass, f.back, f.moving, f.ones);
}

namespace {

// By Lanczos on the products, which sees the least eigenvalue from above alone.
void estimate_by_products(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                          const Moving& moving, TangentLambdaMin& result, Progress& progress) {
  constexpr Index kSteps = 40;
  const TangentKernel kernel = factored_tangent_kernel(network, X, moving, progress);
  const Matrix start = random_block(kernel.side());
  require_memory(8.0 * static_cast<double>(kernel.side()) * static_cast<double>(start.cols() * (kSteps + 4)),
                 "Lanczos on the tangent kernel", "use fewer points");
  progress.stage("smallest eigenvalue", static_cast<double>(kSteps));
  const auto apply = [&](const Matrix& V) {
    Matrix W = product(kernel, V, progress);
    progress.advance(1);
    return W;
  };
  const BlockLanczos lanczos = block_lanczos(apply, start, kSteps, kSteps, 0);
  progress.finish();
  result.estimate = std::max(0.0, lanczos.values(0));
  result.method = fmt::format("the least Ritz value of {} steps of Lanczos, from above", lanczos.iterations);
}

// Points at which the sign of a pre-activation is not certain where phi has a kink: J may be another one.
std::string uncertain_sign(const verified::DeepEvaluation& e) {
  for (std::size_t l = 0; l + 1 < e.points.size(); ++l)
    for (Index i = 0; i < e.points[l].uncertain.size(); ++i)
      if (e.points[l].uncertain(i) != 0)
        return fmt::format("the sign of a unit of layer {} at point {} is not certain: z is 0 up to rounding",
                           l + 1, i);
  return {};
}

void prove_packed(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X, const Moving& moving,
                  TangentLambdaMin& result, Progress& progress) {
  const Index N = X.rows() * network.outputs();
  const auto side = static_cast<double>(N);
  progress.stage("the tangent kernel");
  const auto norms = verified::layer_norms(network, progress);
  const Vector ones = Vector::Ones(X.rows());
  const verified::DeepEvaluation e = verified::evaluate(network, norms, X, ones, moving, progress);
  const Vector diagonal = tangent_diagonal(network, e.pass, e.back, moving, ones);
  Packed<double> K(N);
  const auto factor_of = [&](double s) {
    progress.stage("Cholesky factorisation", side * side * side / 6);
    tangent_gram(network, e.pass, e.back, moving, ones, K);
    if (s != 0) shift_diagonal(K, -s);
    const bool completed = factor(K, progress);
    progress.finish();
    return completed;
  };
  const auto solved = [&](const Matrix& V) {
    progress.check();
    Matrix W = V;
    solve(K, W);
    return W;
  };
  // The diagonal of tangent_gram() is that of tangent_diagonal() but for its roundings, twice those of a sum.
  const double trace = diagonal.sum() * (1 + 4 * gamma_of(e.rounding_terms)) + side * e.lost;
  const double off = e.jacobian_error * kUp;
  const double error = verified::gram_error(diagonal, 2 * e.rounding_terms, 2 * e.lost);
  const auto lowest = verified::lowest_eigenvalue({N, trace, factor_of, solved}, error);
  result.estimate = lowest.computed;
  result.method = "Lanczos on the inverse of the packed matrix";
  result.reason = uncertain_sign(e);
  if (!result.reason.empty()) return;
  const double sigma = std::sqrt(lowest.bound) * kDown - off;
  if (!(sigma > 1e-140)) {  // its square would leave the normal numbers
    result.reason =
        fmt::format("it is not proved positive: computed {:.3g}, of which rounding may take {:.3g}",
                    lowest.computed, lowest.loss + off * off);
    return;
  }
  result.verified = true;
  result.lambda_min = sigma * sigma * kDown;
}

}  // namespace

TangentLambdaMin internal::tangent_lambda_min_within(double bytes, const DeepNetwork& network,
                                                     const Eigen::Ref<const RowMatrix>& X,
                                                     const std::vector<bool>& moving, Progress& progress) {
  const Moving layers = checked_layers(network, X, moving);
  const Index N = X.rows() * network.outputs();
  TangentLambdaMin result;
  if (const Index weights = moving_parameters(network, layers); weights < N) {
    result.method = "more rows of J than columns";
    result.reason = fmt::format("it is 0: J has {} rows and {} columns, the weights that move",
                                with_commas(N), with_commas(weights));
    return result;
  }
  if (std::string obstacle = obstacle_to_certificate(network, layers, N); !obstacle.empty()) {
    estimate_by_products(network, X, layers, result, progress);
    result.reason = std::move(obstacle);
  } else if (const double needed = bytes_of_gram(network, layers, X.rows(), 0.5); needed > bytes) {
    estimate_by_products(network, X, layers, result, progress);
    result.reason =
        fmt::format("the packed matrix needs {}, {} free", format_bytes(needed), format_bytes(bytes));
  } else {
    prove_packed(network, X, layers, result, progress);
  }
  return result;
}

TangentLambdaMin tangent_lambda_min(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                                    const std::vector<bool>& moving, Progress& progress) {
  return tangent_lambda_min_within(static_cast<double>(available_memory_bytes()), network, X, moving,
                                   progress);
}

}  // namespace zeroloss
