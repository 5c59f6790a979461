// The infinitely wide network that fit solves for, against dense equations written out here; and what a run
// says of points that it has not seen.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <array>
#include <atomic>
#include <cmath>
#include <numbers>

#include "support/fit_cases.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/progress.hpp"

namespace zeroloss::test {
namespace {

constexpr double kPi = std::numbers::pi;

/// Sigma by its definition in theory 2: rho E[phi'(a) phi'(b)], of points x and z. The angle of relu is
/// right to rounding where they are close.
double kernel_value(const std::string& activation, const Vector& x, const Vector& z) {
  const double rho = x.dot(z);
  if (activation == "relu") return rho * (0.5 - std::atan2((x - z).norm(), (x + z).norm()) / kPi);
  if (activation == "erf") return rho * 4 / (kPi * std::sqrt(9 - 4 * rho * rho));
  // sigmoid: the integral over the plane, by the rule of trapezoids, whose error vanishes like exp(-c/h)
  constexpr double kStep = 0.25, kFar = 9;
  const double other = std::sqrt(std::max(0.0, 1 - rho * rho));
  const auto slope = [](double z) {
    const double p = 1 / (1 + std::exp(-z));
    return p * (1 - p);
  };
  double sum = 0;
  for (double a = -kFar; a <= kFar; a += kStep)
    for (double b = -kFar; b <= kFar; b += kStep)
      sum += slope(a) * slope(rho * a + other * b) * std::exp(-(a * a + b * b) / 2);
  return rho * sum * kStep * kStep / (2 * kPi);
}

Matrix kernel_matrix(const std::string& activation, const RowMatrix& X, const RowMatrix& Z) {
  Matrix K(X.rows(), Z.rows());
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < Z.rows(); ++j) K(i, j) = kernel_value(activation, X.row(i), Z.row(j));
  return K;
}

double kernel_unit(const std::string& activation) {
  return kernel_value(activation, Vector::Ones(1), Vector::Ones(1));
}

Matrix kernel_solved(const Matrix& K, double ridge, const Matrix& Y) {
  return Eigen::LDLT<Matrix>(K + ridge * Matrix::Identity(K.rows(), K.rows())).solve(Y);
}

Matrix signs(const Dataset& data) {
  if (data.task == Task::regression) return data.y;
  if (data.classes() == 2) return 2 * data.y.array() - 1;
  Matrix Y = Matrix::Constant(data.n(), data.classes(), -1);
  for (Index i = 0; i < data.n(); ++i) Y(i, static_cast<Index>(data.y(i))) = 1;
  return Y;
}

/// Residuals of points left out: the equations are solved anew without each.
Matrix left_out_residuals(const Matrix& K, double ridge, const Matrix& Y) {
  const Index n = K.rows();
  Matrix residuals(n, Y.cols());
  for (Index i = 0; i < n; ++i) {
    std::vector<Index> rest;
    for (Index j = 0; j < n; ++j)
      if (j != i) rest.push_back(j);
    residuals.row(i) = Y.row(i) - K(i, rest) * kernel_solved(K(rest, rest), ridge, Y(rest, Eigen::all));
  }
  return residuals;
}

Dataset two_classes(Index n, Index d) {
  Dataset data = sphere_data(n, d);
  data.task = Task::classification;
  data.class_names = {"no", "yes"};
  for (Index i = 0; i < n; ++i) data.y(i) = data.X(i, 0) + 0.5 * data.X(i, 1) > 0.1 ? 1 : 0;
  return data;
}

FitOptions kernel_options(const std::string& ridge = "auto", const std::string& activation = "auto") {
  FitOptions o;
  o.optimizer = "kernel";
  o.ridge = ridge;
  o.activation = activation;
  return o;
}

// The equations have a condition of at most k(1) n/ridge = 1e5: solutions agree to 1e-16 times that and n.
constexpr double kClose = 1e-9;

TEST(KernelFit, SolvesTheEquations) {
  const RowMatrix points = sphere(9, 6, 77);
  for (const auto& data : {sphere_data(20, 6), two_classes(20, 6), three_classes(20, 6)})
    for (const char* activation : {"relu", "erf", "sigmoid"}) {
      const FitResult r = fit(data, kernel_options("0.01", activation));
      ASSERT_TRUE(r.kernel);
      const Matrix Y = signs(data);
      const double offset = data.task == Task::regression ? Y.mean() : 0;
      const double unit = kernel_unit(activation);
      const Matrix K = kernel_matrix(activation, data.X, data.X);
      const Matrix C = kernel_solved(K, 0.01 * unit, Y.array() - offset);
      const Matrix f = (kernel_matrix(activation, points, data.X) * C).array() + offset;
      EXPECT_LE((predict(*r.kernel, points) - f).cwiseAbs().maxCoeff(), kClose) << activation;
      const Matrix fitted = (K * C).array() + offset;
      // The network's relu takes an inner product for what it is: one that is 1 - 2u has an angle of 2.1e-8.
      EXPECT_NEAR(r.relative_misfit, (fitted - Y).norm() / Y.norm(),
                  kClose + 2.1e-8 / (2 * kPi) * C.norm() / Y.norm());
      EXPECT_EQ(r.status, Status::solved);
      EXPECT_EQ(r.outputs.size(), static_cast<std::size_t>(Y.cols()));
      EXPECT_FALSE(r.certificate.holds);
      EXPECT_TRUE(r.network.outputs.empty());
    }
}

TEST(KernelFit, LeavesPointsOutToChoose) {
  for (const auto& data : {sphere_data(15, 4), two_classes(15, 4), three_classes(15, 4)}) {
    const FitResult r = fit(data, kernel_options());
    ASSERT_TRUE(r.kernel);
    const Matrix Y = signs(data), centred = Y.array() - (data.task == Task::regression ? Y.mean() : 0);
    double least = INFINITY, its = 0;
    Matrix residuals;
    for (const char* activation : {"relu", "erf", "sigmoid"})
      for (const double ridge : {1e-6, 3.16e-6, 1e-5, 3.16e-5, 1e-4, 3.16e-4, 1e-3, 3.16e-3, 1e-2, 3.16e-2,
                                 0.1, 0.316, 1.0, 3.16, 10.0}) {
        const Matrix of_these = left_out_residuals(kernel_matrix(activation, data.X, data.X),
                                                   ridge * kernel_unit(activation), centred);
        least = std::min(least, of_these.norm());
        if (activation == r.kernel->activation && ridge == r.kernel->ridge)
          its = of_these.norm(), residuals = of_these;
      }
    EXPECT_NEAR(its, least, 1e-6 * least);  // sigmoid's kernel has a condition of 1e9 with a ridge of 1e-6
    ASSERT_TRUE(r.leave_one_out_error);
    if (data.task == Task::regression) {
      EXPECT_NEAR(*r.leave_one_out_error, residuals.norm() / (Y.array() - Y.mean()).matrix().norm(), 1e-6);
      EXPECT_EQ(r.guessing_error, 1);
      continue;
    }
    const Matrix said = Y - residuals;
    Index wrong = 0;
    for (Index i = 0; i < data.n(); ++i) {
      Index winner = said(i, 0) >= 0 ? 1 : 0;
      if (said.cols() > 1) said.row(i).maxCoeff(&winner);
      wrong += winner != static_cast<Index>(data.y(i));
    }
    EXPECT_EQ(*r.leave_one_out_error, static_cast<double>(wrong) / 15);
  }
}

TEST(KernelFit, OfManyPointsSomeDecideTheActivation) {
  const Index n = 2100;
  const Dataset data = two_classes(n, 3);
  const FitResult r = fit(data, kernel_options("0.1"));
  std::vector<Index> some;  // numpy.linspace(0, n - 1, 2000), truncated
  for (Index k = 0; k < 2000; ++k)
    some.push_back(
        k == 1999 ? n - 1 : static_cast<Index>(static_cast<double>(k) * (static_cast<double>(n - 1) / 1999)));
  Dataset few = data;
  few.X = data.X(some, Eigen::all);
  few.y = data.y(some);
  EXPECT_EQ(fit(few, kernel_options("0.1")).kernel->activation, r.kernel->activation);
  EXPECT_EQ(r.kernel->n(), n);
}

TEST(KernelFit, WithoutARidgeItInterpolates) {
  const Dataset data = sphere_data(12, 8);
  const FitResult r = fit(data, kernel_options("0", "relu"));
  EXPECT_EQ(r.status, Status::converged);
  EXPECT_LE(r.relative_misfit, r.tolerance);
  Dataset twice = data;  // two equal points: a kernel that is singular
  twice.X.row(3) = twice.X.row(7);
  const FitResult none = fit(twice, kernel_options("0", "relu"));
  EXPECT_EQ(none.status, Status::stalled);
  EXPECT_FALSE(none.kernel);
  EXPECT_NE(none.conclusion.find("`ridge`"), std::string::npos) << none.conclusion;
  EXPECT_TRUE(fit(twice, kernel_options("0.1", "relu")).kernel);
}

TEST(KernelFit, LooksAtTestPoints) {
  const Dataset data = three_classes(30, 5);
  auto other = std::make_shared<Dataset>(three_classes(12, 5));
  other->X = sphere(12, 5, 5);
  FitOptions o = kernel_options();
  o.test = TestSet(other);
  const FitResult r = fit(data, o);
  const Matrix f = predict(*r.kernel, other->X);
  Index wrong = 0;
  for (Index i = 0; i < 12; ++i) {
    Index winner = 0;
    f.row(i).maxCoeff(&winner);
    wrong += winner != static_cast<Index>(other->y(i));
  }
  ASSERT_TRUE(r.test);
  EXPECT_EQ(r.test->wrong, wrong);
  EXPECT_TRUE(r.outputs[1].curve.back().test_error);
}

TEST(KernelFit, ConjugateGradientsAreWithinTheirBound) {
  const RowMatrix points = sphere(9, 6, 77);
  for (const auto& data : {sphere_data(40, 6), two_classes(40, 6), three_classes(40, 6)}) {
    FitOptions o = kernel_options();
    const FitResult exact = fit(data, o);
    o.solver = "cg";
    const FitResult r = fit(data, o);
    ASSERT_TRUE(r.kernel && exact.kernel && r.solution && exact.solution);
    EXPECT_EQ(r.kernel->activation, exact.kernel->activation);
    EXPECT_EQ(r.kernel->ridge, exact.kernel->ridge);
    EXPECT_EQ(r.leave_one_out_error, exact.leave_one_out_error);
    EXPECT_EQ(r.solution->solver, "cg");
    EXPECT_EQ(exact.solution->solver, "exact");
    EXPECT_GT(r.solution->steps, 0);
    EXPECT_LE(r.solution->residual, 1e-8);  // the tolerance
    EXPECT_EQ(r.solution->chosen_on, 40);
    EXPECT_TRUE(r.solution->verified && exact.solution->verified);
    EXPECT_NE(r.conclusion.find("by conjugate gradients"), std::string::npos) << r.conclusion;
    const BoundedOutputs near = bounded_outputs(*r.kernel, points),
                         at = bounded_outputs(*exact.kernel, points);
    // Both are within their bounds of one predictor.
    EXPECT_TRUE(((near.outputs - at.outputs).array().abs() <= near.error.array() + at.error.array()).all());
    EXPECT_LE(near.error.maxCoeff(), 1e-5);
    EXPECT_EQ(near.outputs, outputs(*r.kernel, points));
    EXPECT_EQ(near.decided.size(), data.task == Task::classification ? 9U : 0U);
    for (std::size_t i = 0; i < near.decided.size(); ++i)
      if (near.decided[i] && at.decided[i]) {
        EXPECT_EQ(predicted_classes(near.outputs)[i], predicted_classes(at.outputs)[i]);
      }
  }
}

TEST(KernelFit, WithoutARidgeTheTailProvesTheBound) {
  const FitResult r = fit(sphere_data(12, 8), kernel_options("0", "relu"));
  ASSERT_TRUE(r.solution);
  EXPECT_TRUE(r.solution->verified);
  EXPECT_LE(r.solution->error, 1e-10);  // 12 entries, 1e-15 each, of coefficients up to 100
}

TEST(KernelFit, RefusesWhatIsOfNetworksWithWeights) {
  const Dataset data = sphere_data(9, 4);
  const auto refused = [&](const auto& change, const char* option) {
    FitOptions o = kernel_options();
    change(o);
    EXPECT_MESSAGE(std::invalid_argument, fit(data, o), "fit: ", option);
  };
  refused([](auto& o) { o.width = 5; }, "width is for networks with weights");
  refused([](auto& o) { o.depth = 2; }, "depth is for networks with weights");
  refused([](auto& o) { o.residual = true; }, "residual is for networks with weights");
  refused([](auto& o) { o.scaling = "balanced"; }, "scaling is for networks with weights");
  refused([](auto& o) { o.step = "0.1"; }, "step is for networks with weights");
  refused([](auto& o) { o.precision = "float32"; }, "precision is for networks with weights");
  refused([](auto& o) { o.max_steps = 5; }, "max_steps is for networks with weights");
  refused([](auto& o) { o.tolerance = 0.1; }, "tolerance is for networks with weights");
  refused([](auto& o) { o.polish = true; }, "polish is for networks with weights");
  refused([](auto& o) { o.start.source = "pairs"; }, "start is for networks with weights");
  refused([](auto& o) { o.ridge = "-1"; }, "ridge must be a number >= 0, or auto; got \"-1\"");
  refused([](auto& o) { o.ridge = "much"; }, "ridge must be");
  EXPECT_MESSAGE(std::invalid_argument, fit(data, kernel_options("auto", "swish")), "activation", "swish");
  refused([](auto& o) { o.solver = "least"; }, "solver must be one of auto, exact, cg");
  Dataset many = sphere_data(20'001, 2);
  FitOptions exact = kernel_options("1", "relu");
  exact.solver = "exact";
  EXPECT_MESSAGE(std::invalid_argument, fit(many, exact), "20,000 points", "`solver=cg`");
  FitOptions gd;
  gd.solver = "cg";
  EXPECT_MESSAGE(std::invalid_argument, fit(data, gd), "solver is for kernel");
  gd.solver = "auto";
  gd.ridge = "1";
  EXPECT_MESSAGE(std::invalid_argument, fit(data, gd), "ridge is for kernel", "gd has none");
}

TEST(KernelFit, IsInterrupted) {
  std::atomic<bool> cancel{true};
  Progress progress({}, &cancel);
  EXPECT_THROW(fit(sphere_data(40, 4), kernel_options(), progress), Interrupted);
}

// Of the kernel that certify has, without a ridge; of random features that of the output layer.
TEST(Unseen, EveryRunSaysWhatToExpect) {
  for (const auto& data : {two_classes(15, 4), three_classes(15, 4), sphere_data(15, 4)}) {
    const Matrix Y = signs(data);
    FitOptions o = small("gauss_newton", "relu");
    o.max_steps = 3;
    const FitResult r = fit(data, o);
    const Matrix residuals = left_out_residuals(kernel_matrix("relu", data.X, data.X), 0, Y);
    ASSERT_TRUE(r.leave_one_out_error);
    if (data.task == Task::regression) {
      const double of_mean = (Y.array() - Y.mean()).matrix().norm();
      EXPECT_NEAR(*r.leave_one_out_error, residuals.norm() / of_mean, kClose);
      continue;
    }
    const Matrix said = Y - residuals;
    Index wrong = 0;
    std::array<Index, 3> counts{};
    for (Index i = 0; i < 15; ++i) {
      Index winner = said(i, 0) >= 0 ? 1 : 0;
      if (said.cols() > 1) said.row(i).maxCoeff(&winner);
      wrong += winner != static_cast<Index>(data.y(i));
      ++counts[static_cast<std::size_t>(data.y(i))];
    }
    EXPECT_EQ(*r.leave_one_out_error, static_cast<double>(wrong) / 15);
    EXPECT_DOUBLE_EQ(*r.guessing_error,
                     1 - static_cast<double>(*std::max_element(counts.begin(), counts.end())) / 15);
  }
}

TEST(Unseen, NothingIsSaidOfManyPointsOrConflicts) {
  FitOptions o = small();
  o.max_steps = 1;
  o.width = 4;
  EXPECT_FALSE(fit(two_classes(kMostLeftOut + 1, 3), o).leave_one_out_error);
  Dataset data = two_classes(12, 3);
  data.X.row(0) = data.X.row(1);
  data.y(0) = 1 - data.y(1);
  EXPECT_FALSE(fit(data, o).leave_one_out_error);
  data.y(0) = data.y(1);  // one point, twice
  EXPECT_TRUE(fit(data, o).leave_one_out_error);
}

}  // namespace
}  // namespace zeroloss::test
