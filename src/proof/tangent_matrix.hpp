#pragma once
#include <utility>

#include "linalg/matrix_and_factor.hpp"
#include "zeroloss/network/tangent_steps.hpp"

namespace zeroloss::internal {

/// In this process, given as to MatrixAndFactor, whose factor the theorem about Cholesky factorisation
/// covers.
class TangentMatrixHere final : public TangentMatrix {
 public:
  explicit TangentMatrixHere(Matrix lower) : K_(std::move(lower)) {}
  Vector diagonal() const override { return K_.diagonal(); }
  Matrix product(const Matrix& V) const override { return K_.product(V); }
  bool factor(double sign, double s, Progress& progress) override { return K_.factor(sign, s, progress); }
  Matrix solve(const Matrix& B) const override { return K_.solve(B); }
  std::optional<double> residual(Progress&) const override { return {}; }

 private:
  MatrixAndFactor K_;
};

}  // namespace zeroloss::internal
