// fit: outcomes, theorems' bounds on the settings where they hold, proofs, bad options.
#include "zeroloss/train/fit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/fit_cases.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/linalg/unit_rows.hpp"
#include "zeroloss/proof/certificate.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss::test {
namespace {

// ---- outcomes ----

TEST(Fit, EndsCertified) {
  const Dataset data = sphere_data(30, 10);
  for (const char* activation : {"softplus", "relu"}) {
    const FitResult r = fit(data, small("gauss_newton", activation));
    EXPECT_EQ(r.status, Status::certified) << r.conclusion;
    EXPECT_TRUE(r.certificate.holds);
    EXPECT_GT(r.certificate.margin, 1);
    EXPECT_GT(r.certificate.radius, 0);
    EXPECT_LE(r.relative_misfit, r.tolerance);
    EXPECT_EQ(r.certified_at.value(), r.steps);
    EXPECT_NE(r.conclusion.find("zero loss: certified at step"), std::string::npos);
    // The misfit is that of the network it returns.
    const Vector f = predict(r.network, data.X).col(0);
    const Problem p{data.X, data.y, r.network.outputs[0], zeroloss::activation(activation)};
    EXPECT_NEAR((f - data.y).norm() / data.y.norm(), r.relative_misfit,
                2 * output_rounding(p).norm() / data.y.norm());
  }
}

TEST(Fit, StopsWithTheBudget) {
  const FitResult r = fit(sphere_data(30, 10), small());
  EXPECT_EQ(r.status, Status::budget_spent);
  EXPECT_EQ(r.steps, 200);
  EXPECT_EQ(r.outputs[0].curve.front().step, 0);
  EXPECT_EQ(r.outputs[0].curve.back().step, 200);
  EXPECT_NE(r.conclusion.find("not converged"), std::string::npos);
}

TEST(Fit, ZeroStepsGiveTheDrawnNetwork) {
  FitOptions o = small();
  o.max_steps = 0;
  const Dataset data = sphere_data(8, 3);
  const FitResult r = fit(data, o);
  EXPECT_EQ(r.status, Status::budget_spent);
  EXPECT_TRUE(r.network.outputs[0].W == draw({.width = 60, .d = 3}).W);
}

TEST(Fit, SeesDivergence) {
  FitOptions o = small("gd", "relu");
  o.step = "1e3";
  const FitResult r = fit(sphere_data(30, 10), o);
  EXPECT_EQ(r.status, Status::diverged);
  EXPECT_EQ(r.certificate.misfit, std::numeric_limits<double>::infinity()) << "nothing is known of it";
  EXPECT_FALSE(r.certificate.holds);
  EXPECT_LT(r.steps, 50);
}

TEST(Fit, WidthIsTheUsualOneUnlessItIsSaid) {
  FitOptions o = small("output_layer", "relu");
  o.width = 0;
  const FitResult few = fit(sphere_data(10, 3), o);
  EXPECT_EQ(few.width, kUsualWidth);
  EXPECT_EQ(few.network.outputs.front().v.size(), kUsualWidth);
  const FitResult many = fit(sphere_data(600, 5), o);
  EXPECT_EQ(many.width, 1200);
  EXPECT_EQ(many.status, Status::certified);
  o.width = 500;
  EXPECT_EQ(fit(sphere_data(600, 5), o).status, Status::stalled);
}

TEST(Fit, FewerFeaturesThanPointsAreFittedByLeastSquares) {
  const Dataset data = sphere_data(40, 6);
  FitOptions o = small("output_layer", "tanh");
  o.width = 12;
  const FitResult r = fit(data, o);
  EXPECT_EQ(r.status, Status::stalled);
  const std::string& reason = r.outputs.front().reason;
  EXPECT_NE(reason.find("least squares"), std::string::npos) << reason;
  const TwoLayer& network = r.network.outputs.front();
  Dataset unit = data;
  normalize_rows(unit, r.network.center);
  const Matrix Phi = (unit.X * network.W.transpose()).array().tanh();
  const Vector residual = Phi * network.v - data.y;
  const double size = Phi.norm() * network.v.norm() + data.y.norm();
  EXPECT_LE((Phi.transpose() * residual).norm(), backward_error(40) * Phi.norm() * size);
  EXPECT_NEAR(r.relative_misfit, residual.norm() / data.y.norm(), backward_error(40) * size / data.y.norm());
}

// What is certified of random features, beside their exact values in long double. Of few units in many
// dimensions what rounds in Phi Phi^T is far less than what the features themselves are off by.
TEST(Fit, RandomFeaturesAreCertifiedWithTheirErrors) {
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const Index d = 1'000;
  for (const Index n : {1, 2}) {
    FitOptions o = small("output_layer", "tanh");
    o.width = 4;
    const Dataset data = sphere_data(n, d);
    const FitResult r = fit(data, o);
    const Certificate& c = r.outputs.front().certificate;
    ASSERT_EQ(c.kind, "output_weights") << c.reason;
    Long X = data.X.cast<long double>();
    X.rowwise().normalize();
    const RowMatrix& W = r.network.outputs.front().W;
    const Long Phi = (X * W.cast<long double>().transpose()).array().tanh();
    const Long K = Phi * Phi.transpose();
    const Index last = n - 1;  // the smaller root of the characteristic polynomial
    const long double half = (K(0, 0) - K(last, last)) / 2, middle = (K(0, 0) + K(last, last)) / 2;
    const long double beside = n == 1 ? 0 : K(0, 1);
    const auto lowest = static_cast<double>(middle - std::sqrt(half * half + beside * beside));
    // Exact rows may be off by this much, so that s_min(Phi) is known no better.
    const double off = unit_row_error(d) * W.norm() * std::sqrt(static_cast<double>(n));
    EXPECT_LE(c.lambda_min, lowest);
    EXPECT_LE(c.margin, std::sqrt(lowest) / off);
    EXPECT_GE(c.radius * std::sqrt(lowest), c.misfit) << "||v - v*|| <= ||r||/s_min";
    // The bound is sought to within 1e-5 of lambda_min.
    EXPECT_GE(c.lambda_min, lowest * (1 - 0x1p-10));
    EXPECT_LE(c.radius * std::sqrt(lowest), c.misfit * (1 + 0x1p-10));
  }
}

TEST(Fit, EndsWhenTheMisfitNoLongerFalls) {
  FitOptions o = small("gd", "relu");
  o.step = "1e-9";
  o.max_steps = 5000;
  o.patience = 30;
  const FitResult r = fit(sphere_data(20, 5), o);
  EXPECT_EQ(r.status, Status::stalled);
  EXPECT_EQ(r.steps, 30);
  EXPECT_EQ(r.outputs.front().reason, "the misfit has not fallen by a hundredth in 30 steps");
  o.step = "auto";  // falls faster
  EXPECT_GT(fit(sphere_data(20, 5), o).steps, 30);
}

TEST(Fit, EndsWhenItsTimeIsOver) {
  FitOptions o = small("gd", "tanh");
  o.max_steps = Index{1} << 50;
  o.tolerance = 1e-300;
  o.width = 2;  // too few for a proof, which would end it
  o.max_seconds = 1.5;
  const FitResult r = fit(three_classes(20, 5), o);
  EXPECT_EQ(r.status, Status::budget_spent);
  EXPECT_EQ(r.outputs.front().reason, "its share of 1.5 seconds is over");
  EXPECT_GT(r.outputs.front().steps, 0);
  EXPECT_GT(r.outputs.back().steps, 0) << "every output has its share";
  EXPECT_LT(r.seconds, 15);
}

TEST(Fit, TooFewWeightsStall) {
  FitOptions o = small("gauss_newton");
  o.width = 2;
  const FitResult r = fit(sphere_data(40, 3), o);
  EXPECT_EQ(r.status, Status::stalled);
  EXPECT_FALSE(r.certificate.holds);
  EXPECT_NE(r.certificate.reason.find("weights"), std::string::npos) << r.certificate.reason;
}

TEST(Fit, StopsAtTheCertificate) {
  FitOptions o = small();
  o.stop = "certificate";
  o.certify_every = 50;
  o.max_steps = 20'000;
  o.width = 200;
  const FitResult r = fit(sphere_data(10, 10), o);
  EXPECT_EQ(r.status, Status::certified);
  EXPECT_EQ(r.steps % 50, 0);
  EXPECT_EQ(r.certified_at.value(), r.steps);
}

// Unit rows are stored to within unit_row_error of the points, and the certificate is about the points.
TEST(Fit, CertifiesTheExactPoints) {
  const Dataset data = regression(RowMatrix::Identity(6, 9), normals(6));  // unit rows to the last bit
  const FitResult r = fit(data, small("gauss_newton"));
  const Certificate& c = r.outputs.front().certificate;
  ASSERT_EQ(c.kind, "descent") << c.reason;
  Progress progress;
  const auto misfit = [&](double row_error) {
    return certify_descent(r.network.outputs.front(), activation("softplus"), {data.X, data.y, {}, row_error},
                           progress)
        .misfit;
  };
  EXPECT_EQ(c.misfit, misfit(unit_row_error(9)));
  EXPECT_GT(c.misfit, misfit(0));
}

TEST(Fit, EveryOptimizerReachesZero) {
  const Dataset data = sphere_data(12, 8);
  for (const OptimizerFacts& facts : optimizers()) {
    if (facts.infinite) continue;  // no weights, no steps
    const std::string optimizer(facts.name);
    FitOptions o = small(optimizer);
    o.width = 300;
    o.max_steps = 200'000;
    const FitResult r = fit(data, o);
    EXPECT_EQ(r.status, Status::certified) << optimizer << ": " << r.conclusion;
    EXPECT_LE(r.relative_misfit, r.tolerance);
  }
}

TEST(Fit, MinibatchesOfAllPointsAreGradientDescent) {
  FitOptions gd = small(), sgd = small("sgd");
  gd.step = sgd.step = "0.05";
  gd.space = "weights";
  sgd.batch = 12;
  gd.max_steps = sgd.max_steps = 50;
  const Dataset data = sphere_data(12, 5);
  const FitResult a = fit(data, gd), b = fit(data, sgd);
  Problem p{data.X, data.y, draw({.width = 60, .d = 5}), activation("softplus")};
  Drift drift;
  for (int k = 0; k < 50; ++k, p.step(0.05)) drift.step(p, 0.05);
  EXPECT_LE((a.network.outputs[0].W - b.network.outputs[0].W).norm(), drift.off);
}

TEST(Fit, FlowIsTheLimitOfSmallSteps) {
  // Euler's error is proportional to the step: Richardson's extrapolation cancels it.
  const Dataset data = sphere_data(6, 4);
  FitOptions flow = small("flow");
  flow.max_steps = 15;
  const FitResult limit = fit(data, flow);
  const double T = limit.outputs[0].curve.back().time;
  RowMatrix W[2];
  for (const int halved : {0, 1}) {
    FitOptions gd = small();
    gd.max_steps = 20'000 << halved;
    gd.step = fmt::format("{}", T / static_cast<double>(gd.max_steps));
    gd.tolerance = 1e-300;
    gd.certify_every = 0;
    W[halved] = fit(data, gd).network.outputs[0].W;
  }
  const double distance = (limit.network.outputs[0].W - draw({.width = 60, .d = 4}).W).norm();
  EXPECT_GT(distance, 0.01);
  // What extrapolation leaves is of second order, the square of what it takes away; and flow's own 15 steps.
  const double first = (W[1] - W[0]).norm() / distance;
  EXPECT_LT((2 * W[1] - W[0] - limit.network.outputs[0].W).norm(),
            first * first * distance + 15 * flow.flow_tolerance);
}

TEST(Fit, ClassesAreNetworksOfTheirOwn) {
  const Dataset data = three_classes(24, 9);
  const FitResult r = fit(data, small("gauss_newton", "relu"));
  EXPECT_EQ(r.status, Status::certified);
  ASSERT_EQ(r.outputs.size(), 3u);
  EXPECT_EQ(r.outputs[2].label, "c");
  EXPECT_FALSE(r.network.outputs[0].W == r.network.outputs[1].W);
  double radius = 0, margin = INFINITY;
  for (const OutputResult& o : r.outputs) {
    radius = std::max(radius, o.certificate.radius);
    margin = std::min(margin, o.certificate.margin);
  }
  EXPECT_EQ(r.certificate.radius, radius);
  EXPECT_EQ(r.certificate.margin, margin);
  const auto classes = predicted_classes(predict(r.network, data.X));
  for (Index i = 0; i < 24; ++i) EXPECT_EQ(classes[static_cast<std::size_t>(i)], i % 3);
}

TEST(Fit, EqualPointsAreOneEquation) {
  Dataset data = sphere_data(10, 6);
  data.X.row(7) = data.X.row(2);
  data.y(7) = data.y(2);
  const FitResult r = fit(data, small("gauss_newton"));
  EXPECT_EQ(r.n_distinct, 9);
  EXPECT_EQ(r.status, Status::certified);
}

// The loss is the sum over all samples: a step that a certificate allows is one on that loss.
TEST(Fit, EqualPointsCountAsOftenAsTheyOccur) {
  RowMatrix X(102, 2);
  X << 1, 0, -0.28, 0.96, RowMatrix::Zero(100, 2);
  X.bottomRows(100).rowwise() = Eigen::RowVector2d(0.6, 0.8);
  Vector y = Vector::Constant(102, 0.5);
  y(0) = 1;
  y(1) = -1;
  for (const char* phi : {"softplus", "relu", "tanh"}) {
    FitOptions o = small("gauss_newton", phi);
    o.width = 40;
    const FitResult r = fit(regression(X, y), o);
    ASSERT_EQ(r.certificate.kind, "descent") << phi << ": " << r.conclusion;
    EXPECT_EQ(r.n_distinct, 3);
    // Plain gradient descent over all samples, from weights beside the solution.
    Problem p{X, y, r.network.outputs[0], activation(phi)};
    const Vector moved = 1e-9 * normals(p.network.W.size(), 5);
    p.network.W += Eigen::Map<const RowMatrix>(moved.data(), p.network.W.rows(), 2);
    const Certificate c = [&] {
      Progress progress;
      const RowMatrix distinct = X.topRows(3);
      const Vector targets = y.head(3);
      return certify_output(p.network, p.phi, {distinct, targets, Vector{{1, 1, 100}}}, progress).certificate;
    }();
    ASSERT_EQ(c.kind, "descent") << phi << ": " << c.reason;
    EXPECT_GE(c.misfit, p.r().norm());
    EXPECT_LE(c.misfit, 1.001 * p.r().norm());
    // entries of J have a factor phi', within 16 u and 5 u, and two products
    EXPECT_GE(c.norm_J, jacobi_singular_values(p.jacobian())(0) * (1 - test::gamma_of(32)));
    EXPECT_LE(c.step, 1 / std::pow(jacobi_singular_values(p.jacobian())(0), 2));
    double bound = c.misfit;
    const double outputs =
        output_rounding(p).norm();  // a step moves misfits by that, and by u in the weights
    for (int k = 0; k < 500; ++k) {
      EXPECT_LE(p.r().norm(), bound + outputs) << phi << " step " << k;
      p.step(c.step);
      bound = bound * (1 - c.step * c.rate) + 2 * outputs + c.norm_J * kUnit * p.network.W.norm();
    }
  }
}

TEST(Fit, NearlyEqualPointsAreNotProvedToFit) {
  RowMatrix X(3, 2);
  X << 1, 0, 1, 0x1p-51, 0.6, 0.8;
  for (const char* phi : {"relu", "softplus"})
    for (const auto& y : {Vector{{1, 1, 0.5}}, Vector{{1, -1, 0.5}}}) {
      FitOptions o = small("gauss_newton", phi);
      o.width = 8;
      const FitResult r = fit(regression(X, y), o);
      EXPECT_EQ(r.n_distinct, 3);
      EXPECT_TRUE(r.conflicts.empty());
      EXPECT_EQ(r.certificate.kind, "none") << r.conclusion;
      ASSERT_TRUE(r.nearest);
      EXPECT_NE(r.conclusion.find("samples 0 (label 1) and 1"), std::string::npos) << r.conclusion;
      EXPECT_EQ(r.conclusion.find("impossible"), std::string::npos) << r.conclusion;
    }
}

TEST(Fit, ConflictsMakeZeroLossImpossible) {
  Dataset data = sphere_data(10, 6);
  data.X.row(7) = data.X.row(2);
  const FitResult r = fit(data, small("gauss_newton", "relu"));
  ASSERT_EQ(r.conflicts.size(), 1u);
  EXPECT_EQ(r.conflicts[0][1].record, 7);
  EXPECT_NE(r.status, Status::certified);
  EXPECT_FALSE(r.certificate.holds);
  EXPECT_NE(r.conclusion.find("impossible"), std::string::npos);
  // The best that is possible is the mean of the two.
  EXPECT_GE(r.relative_misfit, 0.999 * std::abs(data.y(7) - data.y(2)) / std::sqrt(2) / data.y.norm());
}

TEST(Fit, SmallestProblems) {
  for (const OptimizerFacts& facts : optimizers())
    for (const char* scaling : {"ntk", "balanced"}) {
      if (facts.infinite) continue;  // no weights, no steps
      const std::string optimizer(facts.name);
      FitOptions o = small(optimizer);
      o.scaling = scaling;
      o.width = 11;
      o.max_steps = 5000;
      const FitResult r = fit(regression(RowMatrix::Constant(1, 1, -1), Vector::Constant(1, 2)), o);
      EXPECT_LE(r.relative_misfit, r.tolerance) << optimizer << " " << scaling << ": " << r.conclusion;
      EXPECT_EQ(r.status, Status::certified) << optimizer << " " << scaling << ": " << r.conclusion;
    }
}

TEST(Fit, ZeroTargetsAreTargets) {
  FitOptions o = small("gauss_newton");
  const FitResult r = fit(regression(sphere(5, 4), Vector::Zero(5)), o);
  EXPECT_EQ(r.status, Status::certified);  // relative_misfit is ||r|| then
}

TEST(Fit, NoGradientIsSaid) {
  // balanced with one hidden unit: v = 0, so J = 0 and no step can help.
  for (const OptimizerFacts& facts : optimizers()) {
    if (!facts.hidden || facts.infinite) continue;
    const std::string optimizer(facts.name);
    FitOptions o = small(optimizer);
    o.scaling = "balanced";
    o.width = 1;
    const FitResult r = fit(sphere_data(5, 3), o);
    EXPECT_EQ(r.status, Status::stalled) << optimizer;
    EXPECT_NE(r.conclusion.find("no step makes progress"), std::string::npos) << r.conclusion;
    EXPECT_TRUE(r.network.outputs[0].W.allFinite());
  }
}

TEST(Fit, ConflictsKeepARowALabel) {
  Dataset data = sphere_data(6, 4);
  for (const Index i : {2, 4}) data.X.row(i) = data.X.row(0);
  data.y(2) = data.y(0);
  const FitResult r = fit(data, small());
  EXPECT_EQ(r.n_distinct, 4);  // rows 0, 2 and 4 are one point, with two targets
  EXPECT_EQ(r.conflicts.size(), 1u);
}

TEST(Fit, ZeroAndMinusZeroAreOneTarget) {
  RowMatrix X(3, 2);
  X << 1, 2, 2, 4, 1, 2;
  const FitResult r = fit(regression(X, Vector{{0, -0.0, 7}}), small());
  ASSERT_EQ(r.conflicts.size(), 1u);
  EXPECT_NE(r.conclusion.find("samples 0 (label 0) and 2 (label 7)"), std::string::npos) << r.conclusion;
  EXPECT_TRUE(fit(regression(X, Vector{{0, -0.0, 0}}), small()).conflicts.empty());
}

// A network in float32 has its exact solution in float64.
TEST(Fit, PolishedWeightsKeepTheirDigits) {
  FitOptions o = small("gd", "relu");
  o.precision = "float32";
  o.width = 400;
  o.max_steps = 3000;
  o.polish = true;
  const FitResult r = fit(sphere_data(10, 10), o);
  ASSERT_TRUE(r.polished) << r.conclusion;
  EXPECT_EQ(r.network.precision, "float32");
  EXPECT_EQ(r.polished->precision, "float64");
}

TEST(Fit, PolishesWhereDescentIsProvedToo) {
  for (const char* stop : {"tolerance", "certificate"}) {
    FitOptions o = small("gauss_newton", "relu");
    o.width = 400;
    o.stop = stop;
    o.polish = true;
    const Dataset data = sphere_data(20, 20);
    const FitResult r = fit(data, o);
    ASSERT_EQ(r.status, Status::certified);
    ASSERT_TRUE(r.polished) << stop;
    const Problem p{data.X, data.y, r.polished->outputs[0], activation("relu")};
    EXPECT_LE(precise_misfit(p.network, p.phi, p.X, p.y), output_rounding(p).norm() / p.y.norm());
  }
}

// ---- the theorems, where their conditions can be met ----

TEST(Fit, OymakSoltanolkotabiSmoothHoldsAtEveryStep) {
  // Orthonormal points: lambda = E[sigmoid(g)^2] = 0.293, ||X|| = 1.
  for (const Index width : {60'000, 60'001}) {
    FitOptions o = small("gd", "softplus");
    o.scaling = "balanced";
    o.width = width;
    o.step = "theorem";
    o.max_steps = 300;
    o.record_every = 1;
    o.certify_every = 0;
    const FitResult r = fit(regression(RowMatrix::Identity(8, 8), normals(8)), o);
    const TheoremBeside& t = r.outputs[0].theorem;
    ASSERT_TRUE(t.holds) << t.reason;
    EXPECT_NE(t.theorem.find("6.2"), std::string::npos);
    EXPECT_LT(t.failure_probability, 0.14);
    EXPECT_LT(r.relative_misfit, 0.5 * r.outputs[0].curve.front().relative_misfit);
    for (const CurvePoint& p : r.outputs[0].curve) {
      EXPECT_LE(p.relative_misfit, p.bound_misfit.value()) << p.step;
      EXPECT_LE(p.path_length, p.bound_path_length.value()) << p.step;
      EXPECT_LE(p.distance, p.bound_distance.value()) << p.step;
    }
  }
}

TEST(Fit, DuEtAlHoldsAtEveryStep) {
  // One point: lambda = 1/2. At a failure probability of 0.9 descent needs two million hidden units, flow a
  // sixteenth of it.
  for (const auto& [optimizer, width] : {std::pair{"gd", 2'500'000}, {"flow", 160'000}}) {
    FitOptions o = small(optimizer, "relu");
    o.width = width;
    o.failure_probability = 0.9;
    if (std::string(optimizer) == "gd") o.step = "theorem";
    o.max_steps = 60;
    o.record_every = 1;
    o.certify_every = 0;
    const FitResult r = fit(regression(RowMatrix::Ones(1, 1), Vector::Ones(1)), o);
    const TheoremBeside& t = r.outputs[0].theorem;
    ASSERT_TRUE(t.holds) << t.reason;
    for (const CurvePoint& p : r.outputs[0].curve) {
      EXPECT_LE(p.relative_misfit, p.bound_misfit.value()) << p.step;
      EXPECT_LE(p.max_distance, p.bound_max_distance.value()) << p.step;
    }
  }
}

TEST(Fit, ForecastIsTheWideLimit) {
  // The curves differ as the finite network's kernel does from its mean: by about 1/sqrt(m).
  FitOptions o = small("gd", "softplus");
  o.max_steps = 20;
  double squares[2] = {0, 0};
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const Index width : {100, 6400}) {
      o.width = width;
      o.seed = seed;
      const CurvePoint last = fit(sphere_data(6, 12), o).outputs[0].curve.back();
      const double gap = last.relative_misfit / last.forecast.value() - 1;
      squares[width > 100] += gap * gap;
    }
  const double ratio = std::sqrt(squares[0] / squares[1]);  // of two estimates from 10 samples, about 8
  EXPECT_GT(ratio, 8 / 3.0);
  EXPECT_LT(ratio, 8 * 3.0);
  EXPECT_LT(std::sqrt(squares[1] / 10), 0.1);
}

// From the step where descent is certified, with a step that the certificate allows: every inequality of the
// theorem, at every step.
TEST(Fit, CertifiedDescentKeepsItsPromise) {
  FitOptions o = small("gd", "tanh");
  o.width = 400;
  o.stop = "certificate";
  o.certify_every = 25;
  o.max_steps = 20'000;
  o.step = "0.02";
  const Dataset data = sphere_data(8, 12);
  const FitResult first = fit(data, o);
  ASSERT_EQ(first.certificate.kind, "descent") << first.conclusion;
  ASSERT_LE(0.02, first.certificate.step);
  const double before = first.outputs[0].curve.back().path_length;
  o.stop = "tolerance";
  o.record_every = 1;
  o.tolerance = 1e-12;
  const FitResult second = fit(data, o);
  const double eta = 0.02, rate = first.certificate.rate, start = first.certificate.misfit / data.y.norm();
  const Problem p_first{data.X, data.y, first.network.outputs[0], activation("tanh")};
  const double rounding = output_rounding(p_first).norm() / data.y.norm();
  Index compared = 0;
  for (const CurvePoint& p : second.outputs[0].curve) {
    if (p.step < first.steps) continue;
    const auto k = static_cast<double>(p.step - first.steps);
    EXPECT_LE(p.relative_misfit, std::pow(1 - eta * rate, k) * start + rounding);
    EXPECT_LE(p.path_length - before, first.certificate.radius);
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

// ---- bad options ----

TEST(Fit, BadOptionsAreNamed) {
  const Dataset data = sphere_data(9, 4);
  const auto refused = [&](const char* name, auto change) {
    FitOptions o = small();
    change(o);
    EXPECT_MESSAGE(std::invalid_argument, fit(data, o), name);
  };
  refused("width must be >= 1, or 0 for the usual one; got -1", [](FitOptions& o) { o.width = -1; });
  refused("step must be a number > 0", [](FitOptions& o) { o.step = "0"; });
  refused("step must be a number > 0", [](FitOptions& o) { o.step = "-1"; });
  refused("step must be a number > 0", [](FitOptions& o) { o.step = "fast"; });
  refused("step must be a number > 0", [](FitOptions& o) { o.step = "nan"; });
  refused("optimizer must be one of", [](FitOptions& o) { o.optimizer = "adam"; });
  refused("scaling must be one of", [](FitOptions& o) { o.scaling = "mup"; });
  refused("precision must be one of", [](FitOptions& o) { o.precision = "bfloat16"; });
  refused("stop must be one of", [](FitOptions& o) { o.stop = "never"; });
  refused("space must be one of", [](FitOptions& o) { o.space = "outer"; });
  refused("activation: name must be one of", [](FitOptions& o) { o.activation = "swish"; });
  refused("max_steps must be >= 0", [](FitOptions& o) { o.max_steps = -1; });
  refused("tolerance must be > 0", [](FitOptions& o) { o.tolerance = -1e-3; });
  refused("certify_every must be >= 0", [](FitOptions& o) { o.certify_every = -1; });
  refused("failure_probability must be in (0, 1)", [](FitOptions& o) { o.failure_probability = 1; });
  refused("max_seconds must be > 0", [](FitOptions& o) { o.max_seconds = -1; });
  refused("patience must be >= 0", [](FitOptions& o) { o.patience = -1; });
  refused("checkpoint_every_s must be > 0", [](FitOptions& o) { o.checkpoint_every_s = 0; });
  refused("batch must be >= 1", [](FitOptions& o) { o.batch = 0; });
  refused("batch is for sgd; flow", [](FitOptions& o) { o.optimizer = "flow", o.batch = 4; });
  refused("momentum is for momentum; gd has none", [](FitOptions& o) { o.momentum = 0.5; });
  refused("flow_tolerance is for flow; gd takes steps", [](FitOptions& o) { o.flow_tolerance = 1e-4; });
  refused("batch 10 exceeds 9 points", [](FitOptions& o) { o.optimizer = "sgd", o.batch = 10; });
  refused("step is for gd, sgd and momentum; flow",
          [](FitOptions& o) { o.optimizer = "flow", o.step = "0.1"; });
  refused("step is for gd, sgd and momentum; gauss_newton",
          [](FitOptions& o) { o.optimizer = "gauss_newton", o.step = "theorem"; });
  refused("precision float32 is for gd, sgd and momentum; gauss_newton",
          [](FitOptions& o) { o.optimizer = "gauss_newton", o.precision = "float32"; });
  refused("space gram is not for sgd", [](FitOptions& o) { o.optimizer = "sgd", o.space = "gram"; });
  refused("step theorem: no theorem covers gelu with ntk",
          [](FitOptions& o) { o.activation = "gelu", o.step = "theorem"; });
}

TEST(Fit, BadDataIsNamed) {
  Dataset none = sphere_data(5, 3);
  none.task = Task::none;
  none.y.resize(0);
  EXPECT_MESSAGE(DataError, fit(none, small()), "needs targets");
  Dataset zero = sphere_data(5, 3);
  zero.X.row(3).setZero();
  EXPECT_MESSAGE(DataError, fit(zero, small()), "record 3");
  FitOptions balanced = small();
  balanced.scaling = "balanced";
  EXPECT_MESSAGE(std::invalid_argument, fit(regression(sphere(4, 3), Vector::Zero(4)), balanced), "balanced",
                 "not all 0");
  FitOptions huge = small();
  huge.width = Index{1} << 50;
  EXPECT_MESSAGE(ResourceError, fit(sphere_data(5, 3), huge), "width");
  for (const double scale : {1e-200, 1e200}) {
    Dataset far = sphere_data(5, 3);
    far.y *= scale;
    EXPECT_MESSAGE(DataError, fit(far, small()), "out of scale");
  }
  Dataset far = sphere_data(5, 3);
  far.y *= 1e30;
  EXPECT_NO_THROW(fit(far, small()));
  FitOptions single = small();
  single.precision = "float32";
  EXPECT_MESSAGE(DataError, fit(far, single), "out of scale for float32");
}

// ---- proofs on many seeds ----

TEST(Fit, EverySeedIsCertified) {
  int certified = 0, polished = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const char* activation : {"softplus", "relu"}) {
      const Dataset data = sphere_data(100, 20, seed);
      FitOptions o = small("gauss_newton", activation);
      o.width = 20;
      o.scaling = "balanced";
      o.seed = seed;
      o.polish = std::string(activation) == "relu";
      const FitResult r = fit(data, o);
      if (r.relative_misfit > r.tolerance) continue;  // a local minimum: 400 weights for 100 points
      EXPECT_EQ(r.status, Status::certified) << activation << " " << seed << ": " << r.conclusion;
      ++certified;
      if (!o.polish) continue;
      ASSERT_TRUE(r.polished) << seed;
      ++polished;
      const Problem p{data.X, data.y, r.polished->outputs[0], zeroloss::activation("relu")};
      EXPECT_LE(precise_misfit(p.network, p.phi, p.X, p.y), output_rounding(p).norm() / p.y.norm()) << seed;
    }
  EXPECT_GE(certified, 36);
  EXPECT_GE(polished, 16);
}

}  // namespace
}  // namespace zeroloss::test
