#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/maps.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/linear/factorize.hpp"

namespace zeroloss {
namespace {

using namespace test;

LinearProblem isotropic(const Matrix& R) { return population(R, Matrix::Identity(R.rows(), R.rows())); }

Matrix turned(Index d, std::uint64_t seed) {
  Matrix Q = orthogonal(d, seed);
  if (determinant(Q) < 0) Q.col(0) = -Q.col(0);
  return Q;
}

// The gradient is a quadratic of each weight, so that central differences of any step are the Hessian.
constexpr double kShift = 0.125;

// The largest eigenvalue of the Hessian, from differences of the gradient.
double largest_curvature(const LinearProblem& problem, LinearResnet network) {
  const Index d = problem.d(), size = network.layers() * d * d;
  Matrix H(size, size);
  for (Index k = 0; k < size; ++k) {
    double& weight = *(network.A[static_cast<std::size_t>(k / (d * d))].data() + k % (d * d));
    const double here = weight;
    std::vector<Matrix> up, down;
    weight = here + kShift;
    landscape(problem, network, &up);
    weight = here - kShift;
    landscape(problem, network, &down);
    weight = here;
    for (Index i = 0; i < size; ++i) {
      const auto layer = static_cast<std::size_t>(i / (d * d));
      H(i, k) = (*(up[layer].data() + i % (d * d)) - *(down[layer].data() + i % (d * d))) / (2 * kShift);
    }
  }
  return symmetric_eigenvalues((H + H.transpose()) / 2)(size - 1);
}

// What rounding may do to it: size^2 entries, and the spectrum of a matrix of that size.
double curvature_rounding(const LinearProblem& problem, const LinearResnet& network, double curvature) {
  const Index d = problem.d(), l = network.layers();
  const double tau = network.max_norm() + kShift, size = static_cast<double>(l * d * d);
  const double E = std::sqrt(static_cast<double>(d)) * std::pow(1 + tau, l) + problem.R.norm();
  return size * gradient_rounding(problem, tau, l, problem.sigma_max * E * E) / kShift +
         backward_error(size) * curvature;
}

// What every run has to show: the inequality at each recorded step, the domain's bookkeeping, the measured
// ends.
void check_run(const LinearProblem& problem, const DescentResult& run) {
  ASSERT_FALSE(run.curve.empty());
  EXPECT_EQ(run.curve.front().step, 0);
  EXPECT_EQ(run.curve.back().step, run.steps);
  std::optional<Index> left;
  double least = kInf;
  for (const DescentPoint& p : run.curve) {
    const double rounding = gradient_rounding(problem, p.at.max_norm, run.network.layers(), p.at.excess_risk);
    EXPECT_GE(p.at.gradient_norm, p.at.gradient_bound - rounding) << "step " << p.step;
    if (p.at.gradient_bound > 0) least = std::min(least, p.at.gradient_norm / p.at.gradient_bound);
    EXPECT_EQ(p.at.gradient_bound > 0, p.at.max_norm < 1 && p.at.excess_risk > 0) << "step " << p.step;
    if (p.at.max_norm >= 1 && !left) left = p.step;
  }
  EXPECT_EQ(run.left_domain_at, left);
  EXPECT_EQ(run.least_ratio, least);
  const Landscape end = landscape(problem, run.network);
  EXPECT_EQ(end.excess_risk, run.curve.back().at.excess_risk);
  EXPECT_EQ(end.max_norm, run.curve.back().at.max_norm);
}

// The step from A = 0, with Sigma = I: there ||I + A_i|| = 1 and every gradient is 2 (I - R), so that
// H(eta) = 2 l w^(2l-2) + 2 (l - 1) ||I - R||_F w^(l-2), w = 1 + 2 eta ||I - R||_F, and the step is
// 1/H(1/H(0)).
TEST(Descent, TheFirstStepIsSafeOnAllOfItsWay) {
  for (const Index l : {2, 3, 7}) {
    const Matrix R = turned(4, 11) * covariance(4, 12);
    const double excess = (Matrix::Identity(4, 4) - R).norm();
    const auto layers = static_cast<double>(l);
    const auto curvature = [&](double eta) {
      const double w = 1 + 2 * eta * excess;
      return 2 * layers * std::pow(w, 2 * layers - 2) + 2 * (layers - 1) * excess * std::pow(w, layers - 2);
    };
    DescentOptions options;
    options.record_every = options.max_steps = 1;
    const DescentResult run = descend(isotropic(R), l, options);
    ASSERT_EQ(run.curve.size(), 2u);
    const double eta = run.curve[1].eta;
    EXPECT_LE(eta * curvature(eta), 1);
    // 2 l factors w, each of a sum of d^2 squares, in both
    EXPECT_NEAR(eta, 1 / curvature(1 / curvature(0)), test::gamma_of(4 * layers * (16 + 8)) * eta);
  }
}

TEST(Descent, InequalityAndDescentHoldAtEveryStep) {
  for (const Index d : {1, 2, 3, 6})
    for (const Index l : {1, 2, 5, 12})
      for (const bool sphere : {true, false}) {
        const Matrix R = d == 1 ? Matrix{{2.5}} : Matrix(turned(d, 3) * covariance(d, 4));
        const auto problem = sphere ? isotropic(R) : population(R, covariance(d, 5));
        DescentOptions options;
        options.record_every = 1;
        options.max_steps = 300;
        const DescentResult run = descend(problem, l, options);
        check_run(problem, run);
        ASSERT_EQ(static_cast<Index>(run.curve.size()), run.steps + 1);
        for (std::size_t k = 1; k < run.curve.size(); ++k) {  // f falls by eta/2 ||grad f||^2 or more
          const Landscape &a = run.curve[k - 1].at, &b = run.curve[k].at;
          const double promised = run.curve[k].eta / 2 * a.gradient_norm * a.gradient_norm;
          const double rounding =
              2 * excess_rounding(problem, std::max(a.max_norm, b.max_norm), l, a.excess_risk);
          EXPECT_GE(a.excess_risk - b.excess_risk, promised - rounding) << d << " " << l << " " << k;
        }
      }
}

TEST(Descent, StepsAreWithinTheHessianBound) {
  for (const Index l : {1, 2, 4}) {
    const auto problem = population(turned(2, 1) * covariance(2, 2), covariance(2, 3));
    for (const Index steps : {0, 1, 3, 10, 40}) {
      DescentOptions options;
      options.max_steps = steps;
      options.tolerance = 1e-12;
      const LinearResnet here = descend(problem, l, options).network;
      options.max_steps = steps + 1;
      const double eta = descend(problem, l, options).curve.back().eta;
      const double curvature = largest_curvature(problem, here);
      // the bound itself is computed from sigma_max, l logarithms and l norms of d^2 terms
      const double bound_rounding = backward_error(2) + test::gamma_of(20 * static_cast<double>(l));
      EXPECT_LE(eta * curvature, 1 + eta * curvature_rounding(problem, here, curvature) + bound_rounding)
          << l << " " << steps;
    }
  }
  // At an exact solution of equal singular values the bound is the largest eigenvalue itself: 2 l for Sigma =
  // I.
  DescentOptions options;
  options.tolerance = 1e-9;
  const DescentResult run = descend(isotropic(turned(3, 1)), 6, options);
  EXPECT_NEAR(run.curve.back().eta, 1.0 / 12, 0.1 / 12);  // a product of norms may be 5 % too large: twice
}

// Theory 10's bound with norms w_i by singular values, which are no larger than those that the step is chosen
// by. The layers of this map are pulled apart: their least w is a good way below the second, and the second
// term is most of H.
TEST(Descent, StepsAreWithinTheBoundThatIsWrittenDown) {
  const Index l = 3;
  const auto problem = isotropic(Matrix{{-300, -10}, {0, -1000}});
  for (Index steps = 0; steps < 16; ++steps) {
    DescentOptions options;
    options.max_steps = steps;
    const LinearResnet here = descend(problem, l, options).network;
    options.max_steps = steps + 1;
    const double eta = descend(problem, l, options).curve.back().eta;
    std::vector<Matrix> gradient;
    const double excess = landscape(problem, here, &gradient).excess_risk;
    Vector w(l);
    for (Index i = 0; i < l; ++i) {
      const auto layer = static_cast<std::size_t>(i);
      w(i) = norm2(Matrix::Identity(2, 2) + here.A[layer]) + eta * gradient[layer].norm();
    }
    std::sort(w.begin(), w.end());
    const double first = std::pow(w(0) * w(1), 2) + std::pow(w(0) * w(2), 2) + std::pow(w(1) * w(2), 2);
    const double H = 2 * first + 2 * (static_cast<double>(l) - 1) * std::sqrt(excess) * w(2);
    // w_i are off by a spectrum's error of their largest, and H by roundings of l logarithms and sums of
    // squares
    EXPECT_LE(eta * H, 1 + 4 * backward_error(2) * w(2) / w(0) + test::gamma_of(20 * static_cast<double>(l)))
        << "step " << steps;
  }
}

// One layer: f is quadratic, eta = 1/(2 s_max(Sigma)) up to the rounding-up of norms, and
// E_k = (I - R)(I - 2 eta Sigma)^k.
TEST(Descent, OneLayerIsAPowerIteration) {
  const auto problem = population(gaussian(3, 3, 1), covariance(3, 2));
  DescentOptions options;
  options.max_steps = 25;
  const DescentResult run = descend(problem, 1, options);
  const double eta = run.curve.back().eta;
  EXPECT_NEAR(eta, 0.5 / problem.sigma_max, test::gamma_of(20) * eta);  // w^2 by a logarithm, over w^2
  Matrix E = Matrix::Identity(3, 3) - problem.R;
  const double size = E.norm() + problem.R.norm();
  for (int k = 0; k < 25; ++k) E = E * (Matrix::Identity(3, 3) - 2 * eta * problem.Sigma);
  // a step: sums of d terms and the 20 roundings of eta, in both; ||I - 2 eta Sigma|| <= 1
  EXPECT_LE((run.network.product() - problem.R - E).norm(), test::gamma_of(25 * 2 * (3 + 4 + 20)) * size);
}

// d = 1: all layers stay equal, h <- h - eta 2 (h^l - r) h^(l-1).
TEST(Descent, ScalarsFollowTheirRecursion) {
  const double r = 3, eta = 0.01;
  const Index l = 4;
  DescentOptions options;
  options.step = "0.01";
  options.max_steps = 50;
  options.tolerance = 1e-15;
  const DescentResult run = descend(isotropic(Matrix{{r}}), l, options);
  double h = 1, error = 0;  // of both recursions: a step takes 20 roundings of the gradient, and those of h
  for (int k = 0; k < 50; ++k) {
    const double slope = 2 * (7 * std::pow(h, 6) - 3 * r * std::pow(h, 2));
    error = std::abs(1 - eta * slope) * error + 4 * kUnit * h +
            2 * eta * test::gamma_of(20) * 2 * (std::pow(h, 4) + r) * std::pow(h, 3);
    h -= eta * 2 * (std::pow(h, 4) - r) * std::pow(h, 3);
  }
  for (const Matrix& A : run.network.A) EXPECT_NEAR(1 + A(0, 0), h, error);
}

TEST(Descent, RotationsAreLearntWithinTheDomain) {
  for (const Index d : {2, 5, 10}) {
    const auto problem = isotropic(turned(d, 7));
    const DescentResult run = descend(problem, 20);
    check_run(problem, run);
    EXPECT_EQ(run.status, DescentStatus::converged);
    EXPECT_LE(run.relative_misfit, DescentOptions().tolerance);
    EXPECT_FALSE(run.left_domain_at);
  }
}

TEST(Descent, EndsAreToldApart) {
  DescentOptions options;
  const DescentResult nothing = descend(isotropic(Matrix::Identity(3, 3)), 4);
  EXPECT_EQ(nothing.status, DescentStatus::converged);
  EXPECT_EQ(nothing.steps, 0);
  const auto problem = isotropic(turned(3, 1));
  options.max_steps = 2;
  const DescentResult early = descend(problem, 4, options);
  EXPECT_EQ(early.status, DescentStatus::budget_spent);
  EXPECT_NE(early.reason.find("2 steps"), std::string::npos) << early.reason;
  options.max_steps = 1000;
  options.step = "5";
  const DescentResult wild = descend(problem, 4, options);
  EXPECT_EQ(wild.status, DescentStatus::diverged);
  EXPECT_NE(wild.reason.find("smaller step"), std::string::npos);
  options = {};
  options.tolerance = 1e-300;
  const DescentResult exact = descend(problem, 4, options);
  EXPECT_EQ(exact.status, DescentStatus::budget_spent);
  EXPECT_NE(exact.reason.find("rounding"), std::string::npos) << exact.reason;
  // f falls by eta/2 ||grad f||^2 or more, until that is what rounding does to the two misfits.
  const DescentPoint& end = exact.curve.back();
  const double share = end.eta / 2 * end.at.gradient_norm * end.at.gradient_norm / end.at.excess_risk;
  EXPECT_LE(exact.relative_misfit * problem.R.norm(),
            4 * product_rounding(problem, end.at.max_norm, 4) / share);
}

// From A = 0 the layers of a symmetric map stay polynomials of it: an eigenvalue -1 of two is out of reach,
// ||A_i|| tends to 1 from below, and the run says that it did not converge.
TEST(Descent, MinusIdentityIsOutOfReach) {
  DescentOptions options;
  options.max_steps = 2000;
  const auto problem = isotropic(-Matrix::Identity(2, 2));
  const DescentResult run = descend(problem, 4, options);
  check_run(problem, run);
  EXPECT_EQ(run.status, DescentStatus::budget_spent);
  EXPECT_GT(run.relative_misfit, 0.99);
}

// theory 10: an independent coordinate stays apart, whatever the map; a correlated one is learnt.
TEST(Descent, AugmentationNeedsACorrelatedCoordinate) {
  for (const Matrix& R : {Matrix{{1, 0}, {0, -1}}, Matrix{{0, 1}, {1, 0}}, Matrix{{0.3, 1.2}, {0.8, 0.5}}}) {
    const OrientedProblem oriented = orient(isotropic(R));
    ASSERT_EQ(oriented.treatment, "augmented");
    DescentOptions patient;
    patient.max_steps = 40'000;
    const DescentResult run = descend(oriented.problem, 5, patient);
    check_run(oriented.problem, run);
    EXPECT_EQ(run.status, DescentStatus::converged) << R;

    DescentOptions options;
    options.max_steps = 2000;
    const DescentResult apart = descend(isotropic(oriented.problem.R), 5, options);
    EXPECT_NE(apart.status, DescentStatus::converged);
    for (const Matrix& A : apart.network.A) {
      EXPECT_EQ(A.row(2).head(2).norm() + A.col(2).head(2).norm(), 0);
      // a step keeps the differences of h^2, h = 1 + A(2, 2) < 1, but for 2 u in each h and the gradients, of
      // which the way is 1: a chain of 7 products
      EXPECT_NEAR(A(2, 2), apart.network.A.front()(2, 2), test::gamma_of(4 * 2000 + 4 * 7) / (1 + A(2, 2)));
      EXPECT_GE(A(2, 2), -1);
    }
  }
}

TEST(Descent, BadOptionsAreNamed) {
  const auto problem = isotropic(Matrix::Identity(2, 2));
  const auto refused = [&](Index layers, const DescentOptions& options, const std::string& what) {
    EXPECT_MESSAGE(std::invalid_argument, descend(problem, layers, options), what);
  };
  refused(0, {}, "linear: layers must be >= 1; got 0");
  for (const char* step : {"0", "-1", "", "fast", "nan", "1x"})
    refused(1, {.step = step}, "step must be a number > 0");
  refused(1, {.max_steps = -1}, "max_steps must be >= 0; got -1");
  refused(1, {.tolerance = 0}, "tolerance must be > 0; got 0");
  refused(1, {.record_every = -2}, "record_every must be >= 0; got -2");
}

TEST(Descent, ReturnsWhatIsDoneWhenCancelled) {
  std::atomic<bool> cancel{false};
  int reports = 0;
  Progress progress([&](const ProgressReport&) { cancel = ++reports == 5; }, &cancel, 0);
  const DescentResult run = descend(isotropic(turned(4, 1)), 5, {}, progress);
  EXPECT_EQ(run.status, DescentStatus::interrupted);
  EXPECT_EQ(run.steps, 5);
  EXPECT_EQ(run.network.layers(), 5);
  EXPECT_GT(run.network.max_norm(), 0);
}

}  // namespace
}  // namespace zeroloss
