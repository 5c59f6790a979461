#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "support/bounds.hpp"
#include "support/points.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/engine.hpp"
#include "zeroloss/kernel/kernel_matrix.hpp"
#include "zeroloss/kernel/spectrum.hpp"
#include "zeroloss/theory/certify.hpp"

/// Whatever engine does the work says what one process says: what all of them are held to.
namespace zeroloss::test {

/// Points of which some are near each other, nearly opposite and opposite.
inline RowMatrix crowded(Index n, Index d) {
  RowMatrix X = sphere(n, d);
  if (n < 8 || d < 3) return X;
  X.row(3) = X.row(1) + 1e-5 * X.row(2);
  X.row(5) = -X.row(1) - 1e-4 * X.row(4);
  X.row(6) = -X.row(0);
  X.row(n - 1) = X.row(0) + 1e-7 * X.row(2);
  X.rowwise().normalize();
  return X;
}

/// Of every form that a kernel has.
inline std::vector<Kernel> kernels_of_every_form() {
  return {sigma(activation("relu")), sigma_features(activation("softplus")), power(3),
          tangent(activation("relu"), {.layers = 3}),
          tangent(activation("tanh"), {.layers = 2, .residual = true})};
}

/// Passes over the same pairs see the same of them, wherever that is kept.
template <class Found, class Here>
void expect_pairs_alike(const Found& found, const Here& here) {
  EXPECT_EQ(found.near_pairs, here.near_pairs);
  EXPECT_EQ(found.separation, here.separation);
  ASSERT_EQ(found.closest.size(), here.closest.size());
  for (std::size_t k = 0; k < found.closest.size(); ++k) {
    EXPECT_EQ(found.closest[k].i, here.closest[k].i);
    EXPECT_EQ(found.closest[k].j, here.closest[k].j);
    EXPECT_EQ(found.closest[k].distance, here.closest[k].distance);
    EXPECT_EQ(found.closest[k].antipodal, here.closest[k].antipodal);
  }
}

/// Two bounds of the entries' error agree to this, relatively: they are rounded up, in float32 and in any
/// order, and no more digits of them are of use.
constexpr double kEntries = 0x1p-20;

/// Forms kernel + I/8 in both matrices of the same points.
inline void form_alike(KernelMatrix& matrix, PackedMatrix& packed, const Kernel& kernel) {
  Progress progress;
  matrix.form(kernel, 0.125, progress);
  packed.form(kernel, 0.125, progress);
  expect_pairs_alike(matrix.seen(), packed.seen());
  EXPECT_NEAR(matrix.seen().entry_error, packed.seen().entry_error, kEntries * packed.seen().entry_error);
}

/// Then products, and what is made of the factor: the same numbers up to roundings, and L L^T = A.
inline void expect_same_algebra(KernelMatrix& matrix, PackedMatrix& packed, const Kernel& kernel) {
  Progress progress;
  const auto n = static_cast<double>(matrix.n());
  const Matrix V = random_block(matrix.n());
  const double length = V.colwise().norm().maxCoeff();
  const double off = backward_error(n) * n * (kernel(1) + 0.125);  // of a norm of n times the diagonal
  EXPECT_LE((matrix.product(V) - packed.product(V)).lpNorm<Eigen::Infinity>(), 2 * off * length);
  EXPECT_LE((matrix.eigenvalues() - packed.eigenvalues()).lpNorm<Eigen::Infinity>(), 2 * off);
  ASSERT_TRUE(matrix.factor(progress));  // what was formed is still there
  ASSERT_TRUE(packed.factor(progress));
  // The shift bounds the inverse by 8.
  EXPECT_LE((matrix.solve(V) - packed.solve(V)).lpNorm<Eigen::Infinity>(), 8 * 8 * 2 * off * length);
  EXPECT_LE((matrix.inverse_diagonal(progress) - packed.inverse_diagonal(progress)).lpNorm<Eigen::Infinity>(),
            8 * 8 * 2 * off);
  const double residual = matrix.residual(kernel, 0.125, progress);
  EXPECT_LE(residual, 2 * packed.residual(kernel, 0.125, progress) + 2 * off);
  EXPECT_NEAR(matrix.seen().entry_error, packed.seen().entry_error, kEntries * packed.seen().entry_error);
  // A shift that is off by 1/8; what is added for rounding has to be far below that.
  EXPECT_NEAR(matrix.residual(kernel, 0.25, progress), 0.125 * std::sqrt(n), 2 * residual + 0x1p-28 * n);
}

/// n points of three classes, of which two are others again and one is the opposite of another.
inline Dataset points_with_equals(Index n) {
  Dataset data;
  data.X = sphere(n, 16);
  data.X.row(7) = data.X.row(4);
  data.X.row(9) = 2 * data.X.row(4);
  data.X.row(11) = -data.X.row(5);
  data.y = Vector::NullaryExpr(n, [](Index i) { return static_cast<double>(i % 3); });
  data.y(7) = data.y(9) = data.y(4);
  data.task = Task::classification;
  data.class_names = {"a", "b", "c"};
  data.name = "points";
  return data;
}

/// The kernel's matrix as it is without float32.
class InDouble final : public KernelMatrix {
 public:
  explicit InDouble(const RowMatrix& X) : work_(X) {}
  Index n() const override { return work_.n(); }
  void form(const Kernel& kernel, double shift, Progress& progress) override {
    work_.form(kernel, shift, progress);
    seen_ = work_.seen();
  }
  Matrix product(const Matrix& V) override { return work_.product(V); }
  Vector eigenvalues() override { return work_.eigenvalues(); }
  bool factor(Progress& progress) override { return work_.factor(progress); }
  Matrix solve(const Matrix& V) override { return work_.solve(V); }
  Vector inverse_diagonal(Progress& progress) override { return work_.inverse_diagonal(progress); }
  double residual(const Kernel& kernel, double shift, Progress& progress) override {
    return work_.residual(kernel, shift, progress);
  }

 private:
  PackedMatrix work_;
};

/// One process without float32.
class EngineInDouble final : public Engine {
 public:
  std::unique_ptr<KernelMatrix> matrix(const RowMatrix& X) override { return std::make_unique<InDouble>(X); }
};

/// All of certify by factorisation: few points with every bound and eigenvalue that there is, or many.
inline CertifyOptions every_part(Index n) {
  CertifyOptions options;
  options.method = "factor";
  options.activation = n > 100 ? "relu" : "softplus";
  options.all_bounds = n < 100;
  return options;
}

inline void expect_certified_alike(const CertifyResult& found, const CertifyResult& here) {
  EXPECT_EQ(found.outcome, here.outcome);
  EXPECT_EQ(found.reason, here.reason);
  EXPECT_EQ(found.n_distinct, here.n - 2);
  // Of both, spectra and factors are off by backward errors; iterations end where values move by 1e-11.
  const auto n = static_cast<double>(here.n);
  const double off = 2 * backward_error(n) * here.lambda_max, ends = 2 * 1e-11;
  const double solutions = 2 * solution_error(n, here.lambda_max / here.lambda_min);
  EXPECT_NEAR(found.lambda_min, here.lambda_min, off + ends * here.lambda_min);
  EXPECT_NEAR(found.lambda_max, here.lambda_max, off + ends * here.lambda_max);
  ASSERT_TRUE(found.lambda_min_verified);
  // the gap of a proof begins at 1e-7 and doubles until a factorisation completes
  EXPECT_NEAR(*found.lambda_min_verified, *here.lambda_min_verified, 1e-5 * here.lambda_min);
  EXPECT_LT(*found.lambda_min_verified, here.lambda_min + off);
  EXPECT_EQ(found.separation, here.separation);
  EXPECT_EQ(found.near_pairs, here.near_pairs);
  ASSERT_EQ(found.suspects.size(), here.suspects.size());
  for (std::size_t k = 0; k < here.suspects.size(); ++k)
    EXPECT_EQ(found.suspects[k].sample.record, here.suspects[k].sample.record);
  EXPECT_EQ(found.leave_one_out_error, here.leave_one_out_error);
  ASSERT_EQ(found.bottleneck.size(), here.bottleneck.size());
  for (std::size_t k = 0; k < here.bottleneck.size(); ++k)  // of vectors that end with a residual of 1e-6
    EXPECT_NEAR(found.bottleneck[k].weight, here.bottleneck[k].weight, 1e-5);
  EXPECT_EQ(found.bottleneck.front().sample.record, here.bottleneck.front().sample.record);
  for (std::size_t c = 0; c < here.complexity.size(); ++c)
    EXPECT_NEAR(found.complexity[c], here.complexity[c], solutions * here.complexity[c]);
  EXPECT_NEAR(found.forecast->steps_to_accuracy, here.forecast->steps_to_accuracy,
              solutions * here.forecast->steps_to_accuracy + 1);
  ASSERT_EQ(found.spectrum.size(), here.spectrum.size());
  for (std::size_t k = 0; k < here.spectrum.size(); ++k)
    EXPECT_NEAR(found.spectrum[k], here.spectrum[k], off);
  ASSERT_EQ(found.guarantees.size(), here.guarantees.size());
  for (std::size_t k = 0; k < here.guarantees.size(); ++k)
    EXPECT_EQ(found.guarantees[k].verified, here.guarantees[k].verified) << here.guarantees[k].id;
}

}  // namespace zeroloss::test
