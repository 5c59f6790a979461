#include "proof/existence.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>

#include "support/two_layer.hpp"
#include "zeroloss/proof/certificate.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using namespace test;

CertifiedOutput certify(const Problem& p) {
  Progress progress;
  return certify_output(p.network, p.phi, {p.X, p.y}, progress);
}

LongMatrix pre_activations(const Problem& p, const RowMatrix& W) {
  return p.X.cast<long double>() * W.cast<long double>().transpose();
}

// Everything that an existence certificate says, checked in long double and without its own equations: the
// polished weights solve the problem to rounding with all signs as at W (kinks at zero), and the exact
// solution that is the least-norm correction of their equations lies where it should.
void expect_existence(const Problem& p, const CertifiedOutput& output) {
  const auto& [c, polished] = output;
  ASSERT_EQ(c.kind, "existence") << c.reason;
  EXPECT_TRUE(c.holds);
  EXPECT_GT(c.margin, 1);
  EXPECT_EQ(c.reason.find("descent: "), 0u) << c.reason;
  EXPECT_EQ(polished.v, p.network.v);
  const double moved_by = (polished.W - p.network.W).norm();
  const double longest = c.radius * (1 + test::gamma_of(static_cast<double>(polished.W.size())));
  EXPECT_LE(moved_by, longest);
  EXPECT_GE(moved_by, c.radius * 0.999 - 1e-9);  // a goal: little is given away
  const Problem after_polish{p.X, p.y, polished, p.phi};
  EXPECT_LT(static_cast<double>(precise_misfit(polished, p.phi, p.X, p.y)),
            2 * kUnit * residual_size(after_polish) / p.y.norm());

  const Index n = p.X.rows(), m = polished.v.size(), d = p.X.cols();
  const LongMatrix before = pre_activations(p, p.network.W), after = pre_activations(p, polished.W);
  const Matrix zero = 4 * kUnit * p.X.cwiseAbs() * polished.W.cwiseAbs().transpose();  // to W's rounding
  std::vector<std::pair<Index, Index>> kinks;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < m; ++j)
      if (polished.v(j) == 0) {
        EXPECT_EQ(polished.W.row(j), p.network.W.row(j));
      } else if (std::abs(after(i, j)) <= zero(i, j)) {
        kinks.emplace_back(i, j);
        EXPECT_LE(std::abs(before(i, j)), c.kink_bound + zero(i, j));
      } else {
        EXPECT_EQ(after(i, j) > 0, before(i, j) > 0) << i << " " << j;
      }
  ASSERT_EQ(static_cast<Index>(kinks.size()), c.kinks);

  const auto side = n + c.kinks;
  LongMatrix A = LongMatrix::Zero(side, m * d);
  LongVector t(side);
  for (Index i = 0; i < n; ++i) {
    t(i) = -p.y(i);
    for (Index j = 0; j < m; ++j)
      if (after(i, j) > zero(i, j) && polished.v(j) != 0) {
        A.row(i).segment(j * d, d) = (p.X.row(i) * polished.v(j)).cast<long double>();
        t(i) += polished.v(j) * after(i, j);
      }
  }
  for (Index a = 0; a < c.kinks; ++a) {
    const auto [i, j] = kinks[static_cast<std::size_t>(a)];
    A.row(n + a).segment(j * d, d) = p.X.row(i).cast<long double>();
    t(n + a) = after(i, j);
  }
  const LongMatrix transposed = A.transpose();
  const Eigen::HouseholderQR<LongMatrix> qr(transposed);
  const LongMatrix R = qr.matrixQR().topRows(side).triangularView<Eigen::Upper>();
  LongVector step = LongVector::Zero(m * d);
  step.head(side) = R.transpose().triangularView<Eigen::Lower>().solve(t);
  step = (qr.householderQ() * step).eval();
  const Eigen::Map<const Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> move(
      step.data(), m, d);
  const auto length = static_cast<double>(step.norm());
  EXPECT_LE(moved_by + length, longest);
  // margin = least |z|/rho where rho bounds this length.
  const LongMatrix moved = p.X.cast<long double>() * move.transpose();
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < m; ++j)
      if (polished.v(j) != 0 && std::abs(after(i, j)) > zero(i, j)) {
        ASSERT_LT(c.margin * std::abs(static_cast<double>(moved(i, j))),
                  std::abs(static_cast<double>(after(i, j))));
      }
}

// Gradient descent of the experiment of [OS, section 4] slides onto kinks; from early on a solution beside it
// is proved to exist.
void expect_found_by_training(std::uint64_t seed, int most_steps) {
  Problem p = problem("relu", 100, 20, 20, seed);
  for (int k = 0; k < most_steps; ++k) {
    p.step(0.1);
    if (k % 500 != 499) continue;
    const auto output = certify(p);
    if (!output.certificate.holds) continue;
    expect_existence(p, output);
    EXPECT_GT(output.certificate.kinks, 0);
    EXPECT_GT(output.certificate.lambda_min, 0);
    return;
  }
  ADD_FAILURE() << "not certified, seed " << seed << ": " << certify(p).certificate.reason;
}

TEST(Existence, HoldsAfterTraining) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) expect_found_by_training(seed, 3000);
}

TEST(Existence, HoldsAfterTrainingForEverySeed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) expect_found_by_training(seed, 5000);
}

TEST(Existence, KeepsHoldingWhileTrainingGoesOn) {
  Problem p = problem("relu", 100, 20, 20, 2);
  for (int k = 0; k < 20'000; ++k) {
    p.step(0.1);
    if (k > 2000 && k % 2000 == 0) expect_existence(p, certify(p));
  }
}

TEST(Existence, HoldsWithoutKinksAndAtAnyRowLength) {
  for (const double scale : {1.0, 100.0}) {
    Problem p = problem("relu", 30, 10, 21, 4);  // odd m: one v is 0
    for (Index i = 0; i < p.X.rows(); ++i) p.X.row(i) *= scale * (1 + 0.1 * static_cast<double>(i));
    p.network.W /= scale;
    p.y = p.f() + 1e-3 * p.y;
    const auto output = certify(p);
    expect_existence(p, output);
    EXPECT_EQ(output.certificate.kinks, 0);
    EXPECT_EQ(output.certificate.kink_bound, 0);
  }
}

TEST(Existence, ScalingByPowersOfTwoChangesNothing) {
  Problem p = problem("relu", 20, 8, 12, 4);
  p.y = p.f() + 1e-2 * p.y;
  const auto plain = certify(p).certificate;
  ASSERT_EQ(plain.kind, "existence") << plain.reason;
  p.X *= 4;
  p.network.W /= 4;
  const auto scaled = certify(p).certificate;
  EXPECT_EQ(plain.kinks, scaled.kinks);
  EXPECT_EQ(plain.kink_bound, scaled.kink_bound);
  EXPECT_EQ(plain.margin, scaled.margin);
  EXPECT_EQ(plain.radius, scaled.radius * 4);
}

TEST(Existence, ExactZerosAreKinks) {
  Problem p = problem("relu", 6, 8, 20, 5);
  p.network.W.row(3).setZero();  // its pre-activations are zero at every point
  p.y = p.f() + 1e-9 * p.y;
  const auto output = certify(p);
  expect_existence(p, output);
  EXPECT_EQ(output.certificate.kinks, 6);
  EXPECT_EQ(output.polished.W.row(3).norm(), 0);
  p = problem("relu", 9, 8, 20, 5);
  p.network.W.row(3).setZero();
  p.y = p.f() + 1e-9 * p.y;
  const auto c = certify(p).certificate;
  EXPECT_FALSE(c.holds);
  EXPECT_NE(c.reason.find("more than d = 8 pre-activations of neuron 3"), std::string::npos) << c.reason;
}

TEST(Existence, PolishedIsEmptyWhereItDoesNotHold) {
  const auto none = certify(problem("relu", 60, 10, 30));
  EXPECT_EQ(none.certificate.kind, "none");
  EXPECT_EQ(none.polished.W.size(), 0);
  EXPECT_NE(none.certificate.reason.find("; existence: "), std::string::npos);
  Problem p = problem("relu", 10, 12, 60);
  p.y = p.f() + 1e-9 * p.y;
  const auto descent = certify(p);
  EXPECT_EQ(descent.certificate.kind, "descent");
  EXPECT_EQ(descent.polished.W.size(), 0);
}

// x = 1 and -1, v = (1, -1): outputs are relu(w1) - relu(w2) and relu(-w1) - relu(-w2), which cannot both be
// positive or both negative. However small the misfit, nothing may be certified.
TEST(Existence, NeverHoldsWithoutASolution) {
  Random random(5, Stream::probes);
  Problem p = problem("relu", 2, 1, 2);
  p.X << 1, -1;
  p.network.v << 1, -1;
  for (int k = 0; k < 2000; ++k) {
    const double sign = k % 2 == 0 ? 1 : -1, size = std::pow(10.0, -16 * random.uniform());
    p.y << sign * size, sign * std::pow(10.0, -16 * random.uniform());
    const double near = std::pow(10.0, -16 * random.uniform());
    p.network.W << near * random.normal(), near * random.normal();
    if (k % 5 == 0) p.network.W(0) = p.network.W(1) + p.y(0);
    EXPECT_FALSE(certify(p).certificate.holds) << p.network.W << "\n" << p.y;
  }
}

// The same with targets that can be reached: wherever it holds, the solution is really there.
TEST(Existence, FindsReachableTargets) {
  Random random(6, Stream::probes);
  Problem p = problem("relu", 2, 1, 2);
  p.X << 1, -1;
  p.network.v << 1, -1;
  int found = 0;
  for (int k = 0; k < 300; ++k) {
    p.network.W << random.normal(), random.normal();
    p.y << random.normal(), random.normal();
    const auto output = certify(p);
    if (output.certificate.kind != "existence") continue;
    ++found;
    EXPECT_LE(p.y(0) * p.y(1), 0);
    const Problem polished{p.X, p.y, output.polished, p.phi};
    EXPECT_LT(static_cast<double>(precise_misfit(output.polished, p.phi, p.X, p.y)),
              2 * kUnit * residual_size(polished) / p.y.norm());
  }
  EXPECT_GT(found, 30);
}

TEST(Existence, NeverHoldsWhereLabelsConflict) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Problem p = problem("relu", 40, 10, 20, seed);
    p.X.row(7) = p.X.row(31);
    p.y = p.f() + 1e-9 * p.y;
    const auto c = certify(p).certificate;
    EXPECT_FALSE(c.holds);
  }
}

// Random small problems with more equations than a piece can solve, beside ones where it can.
TEST(Existence, PolishedSolvesWheneverItHolds) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Problem p = problem("relu", 3 + static_cast<Index>(seed % 4), 2, 4, seed, "ntk");
    p.y = p.f() + std::pow(10.0, -static_cast<double>(seed % 7)) * p.y;
    const auto output = certify(p);
    if (output.certificate.kind != "existence") continue;
    ++found;
    const Problem polished{p.X, p.y, output.polished, p.phi};
    EXPECT_LT(static_cast<double>(precise_misfit(output.polished, p.phi, p.X, p.y)),
              2 * kUnit * residual_size(polished) / p.y.norm());
    EXPECT_LE((output.polished.W - p.network.W).norm(), output.certificate.radius * (1 + test::gamma_of(8)));
  }
  EXPECT_GT(found, 30);
}

// The solution is that of the points, which lie up to row_error from their rows: further off than any
// rounding.
TEST(Existence, RadiusReachesWhatThePointsMayBeOff) {
  constexpr double kOff = 0x1p-20;
  Progress progress;
  const auto found = [&](const TwoLayer& network, const RowMatrix& X, const Vector& y) {
    const auto z = internal::verified::pre_activations(X, network.W, kOff);
    const Vector once;
    const internal::CertifiedPoints points(X, once, kOff);
    points.size(progress);
    return internal::relu_existence(network, points, y, z, progress);
  };
  // f(1) = 1 at the row; at 1 + kOff it is as much more, and w has to move by kOff/(1 + kOff).
  const RowMatrix one = RowMatrix::Ones(1, 1);
  const auto outputs = found({one, Vector::Ones(1)}, one, Vector::Ones(1));
  EXPECT_TRUE(outputs.holds) << outputs.reason;
  EXPECT_GE(outputs.radius, kOff / (1 + kOff));
  // A kink of a long neuron at (0, 1): at (kOff, 1) it is 1000 kOff, and the solution has it at zero. The
  // outputs are off by 1.2 kOff.
  const RowMatrix X = RowMatrix::Identity(2, 2);
  const RowMatrix W{{1000, 0}, {0.1, 0.1}};
  const Vector v{{1e-3, 1}}, y{{1.1, 0.1}};
  const auto kink = found({W, v}, X, y);
  EXPECT_TRUE(kink.holds) << kink.reason;
  EXPECT_EQ(kink.kinks, 1);
  EXPECT_GE(kink.radius, 1000 * kOff / std::sqrt(1 + kOff * kOff));
}

}  // namespace
}  // namespace zeroloss
