#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linalg/decompositions.hpp"
#include "linalg/tiled.hpp"
#include "proof/evaluate.hpp"
#include "train/optimizers/optimizers.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

// Random features [OS, section 3]: W stays as drawn, v = Phi^T (Phi Phi^T)^-1 y in one step, with the
// residual solved for once more. Phi is n x m, of the distinct points. Where its rank is below n, no v fits
// any y: then v is the least-squares one, of all points, the shortest of these.
class OutputLayer : public TwoLayerOptimizer {
 public:
  explicit OutputLayer(const Problem& problem) : problem_(problem), network_(problem.start) {
    const auto n = static_cast<double>(distinct().rows()), m = static_cast<double>(problem.start.W.rows());
    require_memory(8 * (2 * n * std::min(n, m) + 2 * n * m), "output_layer", "use fewer points");
    refresh();
  }

  Index advance(Index done, Index, Progress& progress) override {
    if (done > 0) return 0;
    if (!interpolate(progress)) network_.v = least_squares(features(problem_.X), problem_.y);
    refresh();
    path_length = (network_.v - problem_.start.v).norm();
    time = 1;
    return 1;
  }

  std::string obstacle() const override {
    const Index n = distinct().rows(), m = network_.W.rows();
    return m < n ? fmt::format(
                       "{} random features cannot fit all labels of {} points; their weights are those of "
                       "least squares",
                       with_commas(m), with_commas(n))
                 : fmt::format(
                       "{} random features do not tell the {} points apart in double precision; their "
                       "weights are those of least squares",
                       with_commas(m), with_commas(n));
  }

  const Vector& f() const override { return f_; }
  void refresh() override { f_ = outputs(network_, problem_.activation, problem_.X); }
  TwoLayer network() const override { return network_; }
  Travel travel() const override { return {}; }  // of W
  Snapshot snapshot() const override { return {{"v", network_.v}}; }
  void restore(const Snapshot& from) override {
    network_.v = from.at("v").col(0);
    refresh();
  }

  // Phi Phi^T > 0 proves that some v within ||r||/s_min(Phi) fits exactly.
  CertifiedOutput certify(const Problem&, bool, Progress& progress) const override {
    const Activation& activation = problem_.activation;
    const auto n = static_cast<double>(distinct().rows()), m = static_cast<double>(network_.W.rows());
    require_memory(8 * (2 * n * n + 4 * n * m), "the certificate of random features", "use fewer points");
    CertifiedOutput result;
    Certificate& c = result.certificate;
    c.reason = verified::unbounded(equations(), network_.v.size());
    if (!c.reason.empty()) return result;
    const auto evaluation = verified::evaluate(network_, activation, equations());
    const auto& z = evaluation.z;
    long double squares = 0;  // of what the stored Phi may differ by from the exact one
    for (Index j = 0; j < z.Z.cols(); ++j)
      for (Index i = 0; i < z.Z.rows(); ++i) {
        const double bound = feature_error(activation, z.Z(i, j), z.error(i, j));
        squares += static_cast<long double>(bound) * bound;
      }
    const double feature_bound = std::sqrt(static_cast<double>(squares)) * kUp;
    const Matrix Phi = z.Z.unaryExpr([&](double x) { return activation.phi(x); });
    Matrix K, work;
    tiled::product_with_transpose(Phi, K);
    const double trace = K.diagonal().sum();
    const auto lowest =
        verified::lowest_eigenvalue(K, verified::gram_error(K, m + 2, n * m * kTiny), work, progress);
    const double s = (std::sqrt(lowest.bound) - feature_bound) * kDown;
    c.misfit = evaluation.misfit;
    if (!activation.tabulated) {
      c.reason = fmt::format("{} is a user's function: computed, not verified", activation.name);
    } else if (!(s > 0 && std::isfinite(c.misfit))) {
      c.reason = fmt::format(
          "lambda_min(Phi Phi^T) is computed as {:.3g}, and rounding may account for {:.3g} of it",
          lowest.computed, lowest.loss + 2 * feature_bound * std::sqrt(trace));
    } else {
      c.kind = "output_weights";
      c.holds = true;
      c.lambda_min = s * s * kDown;
      c.radius = c.misfit / s * kUp;
      c.margin = std::sqrt(lowest.bound) / std::max(feature_bound, kTiny) * kDown;
    }
    return result;
  }

 private:
  /// v that fits every point; false where Phi Phi^T is not numerically positive definite.
  bool interpolate(Progress& progress) {
    const Index n = distinct().rows();
    if (network_.W.rows() < n) return false;
    const Matrix Phi = features(distinct());
    Matrix L;
    tiled::product_with_transpose(Phi, L);
    if (!tiled::factor(L, progress)) return false;
    network_.v.setZero();
    for (int refinement = 0; refinement < 2; ++refinement) {
      Matrix c = problem_.distinct_y - outputs(network_, problem_.activation, distinct());
      tiled::solve(L, c);
      network_.v += Phi.transpose() * c.col(0);
    }
    return true;
  }

  // phi is within 16 u of its value (17 u of the computed one) and grows at most as fast as its largest
  // derivative near z; 4 u cover what is below the normal doubles.
  static double feature_error(const Activation& activation, double z, double wrong) {
    const double slope = activation.B < 1e300 ? activation.B : std::abs(z) + wrong;
    return slope * wrong + 17 * u * std::abs(activation.phi(z)) + 4 * u;
  }

  const RowMatrix& distinct() const { return problem_.points.X(); }
  Equations equations() const { return problem_.points.equations(problem_.distinct_y); }

  Matrix features(const RowMatrix& X) const {
    Matrix Phi = X * network_.W.transpose();
    for (double& z : Phi.reshaped()) z = problem_.activation.phi(z);
    return Phi;
  }

  SerialBlas serial_;
  Problem problem_;
  TwoLayer network_;
  Vector f_;
};

std::unique_ptr<TwoLayerOptimizer> make_output_layer(const Beginning<double>& b) {
  return std::make_unique<OutputLayer>(b.problem);
}

}  // namespace

namespace methods {
extern constexpr Method output_layer{{.name = "output_layer", .note = "random features", .hidden = false},
                                     make_output_layer};
}

}  // namespace zeroloss::internal
