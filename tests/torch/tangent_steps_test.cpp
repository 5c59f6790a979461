#include "zeroloss/torch/tangent_steps.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "proof/evaluate.hpp"
#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/fit_cases.hpp"
#include "support/points.hpp"
#include "support/temp_folder.hpp"
#include "torch/activations.hpp"
#include "torch/cuda.hpp"
#include "zeroloss/base/error.hpp"

// Gauss-Newton on a device, the processor and, where there is one, a GPU: its steps against matrices written
// out, whole trainings against those of this process.
namespace zeroloss::test {
namespace {

using namespace internal;

constexpr double kRounding = 0x1p-53;

class TangentsOn : public TempFolder, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    TempFolder::SetUp();
    if (GetParam() == std::string("cuda") && cuda::devices() == 0) GTEST_SKIP() << "no GPU";
  }
  static std::unique_ptr<TangentEngine> engine() { return torch_tangents(GetParam()); }

  Progress progress;
};

INSTANTIATE_TEST_SUITE_P(Torch, TangentsOn, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

// ---- activations ----

// Both are off by some 20 u of the value, and of what cancels on the way to it, at most 1 below 40; an
// exponential of z^2 or z also by what its argument is rounded by; where the exact value is below the normal
// doubles, by less than 2^-1000.
TEST_P(TangentsOn, KnowEveryActivation) {
  std::vector<double> z;
  for (double x = -40; x <= 40; x += 0.03125) z.push_back(x);
  for (const double x : {0.0, -0.0, 1e-320, -1e-320, 1e-200, 300.0, -300.0, 800.0, -800.0, 1e100, -1e100})
    z.push_back(x);
  const auto count = static_cast<std::int64_t>(z.size());
  const torch::Tensor points = torch::from_blob(z.data(), {count}, torch::kDouble).to(GetParam());
  for (const std::string& name : activation_names()) {
    const Activation& known = activation(name);
    const TorchActivation found = torch_activation(known);
    const torch::Tensor phi = found.phi(points).cpu(), dphi = found.dphi(points).cpu();
    for (std::int64_t k = 0; k < count; ++k) {
      const double at = z[static_cast<std::size_t>(k)];
      const auto expect_near = [&](double value, double expected, double cancelled) {
        EXPECT_LE(
            std::abs(value - expected),
            kRounding * ((64 + std::min(4 * at * at, 1e4)) * std::abs(expected) + 64 * cancelled) + 0x1p-1000)
            << name << " at " << at << ": " << value << ", " << expected;
      };
      if (name == "sin" && std::abs(at) > 1e50) continue;
      expect_near(phi.data_ptr<double>()[k], known.phi(at), 0);
      expect_near(dphi.data_ptr<double>()[k], known.dphi(at), std::abs(at) < 40 ? 1 : 0);
    }
  }
  Activation own = activation("relu");
  own.tabulated = false;
  EXPECT_THROW(torch_activation(own), std::invalid_argument);
}

// ---- steps ----

// The matrix that solve() is asked about, from the Jacobian written out; its norm is at most its trace.
TEST_P(TangentsOn, StepsAreThoseOfTheJacobian) {
  const Index sizes[][3] = {{1, 1, 1}, {1, 7, 3}, {7, 1, 9}, {12, 5, 30}, {40, 8, 11}};
  for (const auto& [n, d, m] : sizes)
    for (const char* name : {"relu", "leaky_relu", "tanh", "gelu"}) {
      SCOPED_TRACE(testing::Message() << name << " " << n << " " << d << " " << m);
      Problem p = problem(name, n, d, m, static_cast<std::uint64_t>(n + m));
      const auto device = engine();
      const auto steps = device->begin(p.X, p.network, p.phi);
      const double terms = static_cast<double>(n + d + m) + 64;
      const double size = p.network.v.lpNorm<1>() * std::sqrt(static_cast<double>(d)) * 6;  // of any |f|
      EXPECT_LE((steps->f() - p.f()).lpNorm<Eigen::Infinity>(), terms * kRounding * size);

      const LongMatrix J = p.jacobian();
      LongMatrix K = J * J.transpose();
      const auto trace = static_cast<double>(K.trace());
      EXPECT_NEAR(steps->form(0), static_cast<double>(K.diagonal().maxCoeff()),
                  4 * terms * kRounding * trace);
      const double mu = 1e-3 * trace + 1e-10;
      K.diagonal().array() += mu;
      const Vector r = p.r(), f = steps->f();
      const auto c = steps->solve(mu, r, 1e-8, progress);
      ASSERT_TRUE(c);
      // Cholesky is backward stable: the residual is that of a matrix off by 4 terms u ||K||.
      const LongVector left = K * c->cast<long double>() - r.cast<long double>();
      EXPECT_LE(static_cast<double>(left.norm()), 8 * terms * kRounding * (trace + mu) * c->norm());

      const LongVector step = J.transpose() * c->cast<long double>();
      EXPECT_NEAR(steps->move(*c), static_cast<double>(step.norm()),
                  4 * terms * kRounding * static_cast<double>(J.norm()) * c->norm());
      const RowMatrix before = p.network.W;
      for (Index j = 0; j < m; ++j)
        for (Index k = 0; k < d; ++k) p.network.W(j, k) -= static_cast<double>(step(j * d + k));
      const double moved =
          4 * terms * kRounding * (before.norm() + static_cast<double>(J.norm()) * c->norm());
      EXPECT_LE((steps->weights() - p.network.W).norm(), moved);
      const Travel travel = steps->travel();
      EXPECT_NEAR(travel.distance, static_cast<double>(step.norm()), moved);
      EXPECT_NEAR(travel.max_distance, (p.network.W - before).rowwise().norm().maxCoeff(), moved);
      EXPECT_GE(travel.flipped_fraction, 0);
      EXPECT_LE(travel.flipped_fraction, 1);

      const auto state = steps->snapshot();
      const Vector there = steps->f();
      steps->go_back();
      EXPECT_EQ(steps->f(), f);
      EXPECT_EQ(steps->weights(), before);
      EXPECT_EQ(steps->travel().distance, 0);
      EXPECT_EQ(steps->travel().flipped_fraction, 0);
      steps->restore(state);
      EXPECT_EQ(steps->f(), there);
      EXPECT_THROW(steps->restore({}), std::out_of_range);
    }
}

TEST_P(TangentsOn, SlopesAreMeansOverASpreadForReluAlone) {
  constexpr double kSpread = 0.3;
  for (const char* name : {"relu", "leaky_relu", "tanh"}) {
    const Problem p = problem(name, 40, 8, 11, 3);
    const Matrix Z = p.X * p.network.W.transpose();
    const Matrix means = (Z.array() / (2 * kSpread) + 0.5).cwiseMax(0.0).cwiseMin(1.0);
    const Matrix D = name == std::string("relu") ? means : p.D();
    const Matrix step = (D * p.network.v.asDiagonal()).transpose() * p.r().asDiagonal() * p.X;
    const auto device = engine();
    const auto steps = device->begin(p.X, p.network, p.phi);
    const Vector squares = (D * p.network.v.asDiagonal()).rowwise().squaredNorm();
    const double largest = squares.cwiseProduct(p.X.rowwise().squaredNorm()).maxCoeff();
    const double few = 4 * (40 + 8 + 11 + 64) * kRounding;  // roundings of sums, and of phi'
    EXPECT_NEAR(steps->form(kSpread), largest, few * (largest + p.network.v.squaredNorm()));
    const double size = p.network.v.norm() * p.r().norm() * p.X.norm() + p.network.W.norm();
    EXPECT_NEAR(steps->move(p.r()), step.norm(), few * size);
    EXPECT_LE((steps->weights() - (p.network.W - step)).norm(), few * size);
    const double moved = (p.X * step.transpose()).norm() / std::sqrt(static_cast<double>(Z.size()));
    EXPECT_NEAR(steps->moved(), moved, few * size * p.X.norm());
  }
}

TEST_P(TangentsOn, WithoutAFactorThereIsNoSolution) {
  const Problem p = problem("relu", 9, 4, 12);
  const auto device = engine();
  const auto steps = device->begin(p.X, p.network, p.phi);
  const double largest = steps->form(0);
  EXPECT_FALSE(steps->solve(-2 * largest, p.r(), 1e-8, progress));
  EXPECT_TRUE(steps->solve(largest, p.r(), 1e-8, progress));  // K is as it was
  std::atomic<bool> cancel{true};
  Progress cancelled({}, &cancel, 0);
  EXPECT_THROW(steps->solve(largest, p.r(), 1e-8, cancelled), Interrupted);
  TwoLayer huge = p.network;
  huge.W *= 1e200;
  EXPECT_FALSE(device->begin(p.X, huge, activation("quadratic"))->form(0) > 0);
}

// ---- J J^T for proofs ----

// Of several panels, one, and less than one. Bounds of eigenvalues are those of LAPACK's, from either side,
// and as near as the gap that they begin with and what the residual says.
TEST_P(TangentsOn, MatricesAreProvedByTheirResiduals) {
  const Index sizes[][3] = {{1, 1, 1}, {40, 8, 11}, {512, 60, 12}, {1100, 200, 9}};
  for (const auto& [n, d, m] : sizes) {
    SCOPED_TRACE(testing::Message() << n << " " << d << " " << m);
    const RowMatrix X = sphere(n, d);
    const Matrix S = normal_matrix(n, m, 3, Stream::points);
    const Matrix K = (S * S.transpose()).cwiseProduct(Matrix(X * X.transpose()));
    const auto device = engine();
    const auto matrix = device->matrix(S, X);
    const double terms = static_cast<double>(n + d + m) + 8, gamma = gamma_of(2 * terms), trace = K.trace();
    EXPECT_LE((matrix->diagonal() - K.diagonal()).lpNorm<Eigen::Infinity>(), gamma * trace);
    const Matrix V = normal_matrix(n, 3, 4, Stream::points);
    EXPECT_LE((matrix->product(V) - K * V).norm(), 2 * gamma * trace * V.norm());
    const Vector values = symmetric_eigenvalues(K);
    const double off = backward_error(static_cast<double>(n)) * values(n - 1) + gamma * trace;
    Vector c = V.col(0);
    const auto lowest = verified::lowest_eigenvalue(*matrix, 0, c, progress);
    EXPECT_LE(lowest.bound, values(0) + off);
    EXPECT_GE(lowest.bound, values(0) * (1 - 4e-5) - 4 * lowest.loss - off);
    EXPECT_GT(lowest.loss, 0);
    EXPECT_LE((K * c - V.col(0)).norm(), 8 * terms * gamma * trace * c.norm());
    const auto highest = verified::highest_eigenvalue(*matrix, 0, progress);
    EXPECT_GE(highest.bound, values(n - 1) - off);
    EXPECT_LE(highest.bound, values(n - 1) * (1 + 4e-5) + 4 * highest.loss + off);
    // The residual of sign (K - s I), whichever was factored.
    for (const double sign : {1.0, -1.0}) {
      const double s = sign > 0 ? 0.5 * values(0) : 1.5 * values(n - 1);
      ASSERT_TRUE(matrix->factor(sign, s, progress));
      const auto residual = matrix->residual(progress);
      ASSERT_TRUE(residual);
      EXPECT_GT(*residual, 0);
      EXPECT_LE(*residual, 40 * terms * kRounding * (trace + static_cast<double>(n) * s));
      const Matrix x = matrix->solve(V);
      const Matrix shifted = sign * (K - s * Matrix::Identity(n, n));
      EXPECT_LE((shifted * x - V).norm(),
                8 * terms * gamma * (trace + static_cast<double>(n) * s) * x.norm());
    }
    // L L^T is nowhere below 0, and K - 2 lambda_max I nowhere above -lambda_max.
    EXPECT_FALSE(matrix->factor(1, 2 * values(n - 1), progress));
    EXPECT_FALSE(*matrix->residual(progress) < values(n - 1));
  }
}

// ---- trainings ----

// What a step adds to W is off by 3 n (n + m + d) u cond(K) of itself at most, and a step forgets what those
// before were off by but for the part that it does not see.
TEST_P(TangentsOn, TrainLikeThisProcess) {
  for (const char* activation : {"softplus", "tanh", "gelu"}) {
    SCOPED_TRACE(activation);
    const Dataset data = sphere_data(20, 6);
    FitOptions o = small("gauss_newton", activation);
    o.space = "weights";
    const FitResult here = fit(data, o), there = fit(data, o, progress, *engine());
    EXPECT_EQ(there.status, Status::certified);
    EXPECT_EQ(there.status, here.status);
    EXPECT_EQ(there.steps, here.steps);
    EXPECT_EQ(there.certificate.kind, here.certificate.kind);
    constexpr double kGap = 1e-3;  // what either gives away: gaps of 1e-5 and more, roots, rounding
    EXPECT_NEAR(there.certificate.lambda_min, here.certificate.lambda_min,
                kGap * here.certificate.lambda_min);
    EXPECT_NEAR(there.certificate.norm_J, here.certificate.norm_J, kGap * here.certificate.norm_J);
    EXPECT_EQ(there.space, "weights");
    EXPECT_NE(there.engine.find("LibTorch"), std::string::npos) << there.engine;
    EXPECT_TRUE(here.engine.empty());
    const CurvePoint& last = here.outputs[0].curve.back();
    const double condition = 20 * 1.3 / here.certificate.lambda_min;  // K_ii <= B^2 ||v||^2, B^2 <= 1.3
    EXPECT_LE((there.network.outputs[0].W - here.network.outputs[0].W).norm(),
              3 * 20 * 86 * kRounding * condition * last.path_length);
  }
}

TEST_P(TangentsOn, EveryClassIsCertified) {
  FitOptions o = small("gauss_newton", "relu");
  o.width = 200;
  const FitResult r = fit(three_classes(21, 7), o, progress, *engine());
  EXPECT_EQ(r.status, Status::certified) << r.conclusion;
  EXPECT_EQ(r.outputs.size(), 3U);
  EXPECT_LE(r.relative_misfit, r.tolerance);
}

TEST_P(TangentsOn, EqualPointsAreCertifiedAsHere) {
  Dataset data = sphere_data(20, 6);
  data.X.row(7) = data.X.row(4);
  data.y(7) = data.y(4);
  FitOptions o = small("gauss_newton", "tanh");
  o.space = "weights";
  const Certificate here = fit(data, o).certificate, there = fit(data, o, progress, *engine()).certificate;
  ASSERT_TRUE(here.holds && there.holds) << here.reason << there.reason;
  EXPECT_EQ(there.kind, here.kind);
  EXPECT_NEAR(there.lambda_min, here.lambda_min, 1e-3 * here.lambda_min);  // either gives a little away
}

TEST_P(TangentsOn, GoOnWhereTheyWereStopped) {
  const Dataset data = three_classes(21, 7);
  const auto device = engine();
  FitOptions o = small("gauss_newton", "relu");
  const FitResult whole = fit(data, o, progress, *device);
  o.checkpoint = path("checkpoint");
  o.resume = true;
  int interruptions = 0;
  const FitResult r = in_pieces(
      3, 1, [&](Progress& stopped) { return fit(data, o, stopped, *device); },
      [&] {
        try {
          fit(data, o);
          ADD_FAILURE() << "of a device, and asked for without one";
        } catch (const std::invalid_argument& error) {
          EXPECT_NE(std::string(error.what()).find("device was"), std::string::npos) << error.what();
        }
      },
      interruptions);
  ASSERT_LT(interruptions, 100);
  EXPECT_GT(interruptions, 1);
  EXPECT_EQ(r.status, whole.status);
  if (GetParam() == std::string("cpu")) {
    EXPECT_TRUE(same(whole.network, r.network));
    for (std::size_t c = 0; c < 3; ++c) EXPECT_TRUE(same(whole.outputs[c].curve, r.outputs[c].curve)) << c;
  }
}

TEST_P(TangentsOn, DoNotGoOnWithWhatThisProcessBegan) {
  FitOptions o = small("gauss_newton", "relu");
  o.space = "weights";
  o.checkpoint = path("checkpoint");
  std::atomic<bool> cancel{false};
  Progress stopped([&](const ProgressReport& report) { cancel = report.stage.rfind("training", 0) == 0; },
                   &cancel, 0);
  ASSERT_EQ(fit(three_classes(21, 7), o, stopped).status, Status::interrupted);
  o.resume = true;
  try {
    fit(three_classes(21, 7), o, progress, *engine());
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("device was none"), std::string::npos) << error.what();
  }
}

TEST_P(TangentsOn, RefuseWhatADeviceDoesNot) {
  const auto device = engine();
  const auto refused = [&](const std::string& what, const auto& change) {
    FitOptions o = small("gauss_newton", "relu");
    change(o);
    try {
      fit(sphere_data(9, 4), o, progress, *device);
      ADD_FAILURE() << what;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  refused("takes steps of gauss_newton, got gd", [](FitOptions& o) { o.optimizer = "gd"; });
  refused("one hidden layer", [](FitOptions& o) { o.depth = 2; });
  refused("space=gram", [](FitOptions& o) { o.space = "gram"; });
  EXPECT_THROW(torch_tangents("tpu"), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss::test
