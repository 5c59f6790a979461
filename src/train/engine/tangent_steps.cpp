#include "train/engine/tangent_steps.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "linalg/tiled.hpp"
#include "proof/evaluate.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kSingle = 1000;  // points from which a factor in float32 and products with J are cheaper

// G = X X^T and the factor of (S S^T) o G + mu I in float32, each a triangle of one n x (n + 1) array: 4 n^2
// bytes. The factor is on and below the diagonal, entry (i, j) of G with i >= j stands at (j, i + 1).
class SingleFactor {
 public:
  explicit SingleFactor(const Rows<float>& X) : table_(X.rows(), X.rows() + 1) {
    const Index n = X.rows(), d = X.cols();
    each_tile([&](const Tile& row, const Tile& column) {
      float* to = &table_(column.first, row.first + 1);
      const float *left = X.data() + column.first * d, *right = X.data() + row.first * d;
      if (row.first == column.first)
        lapack::syrk('U', 'T', row.count, d, 1.0F, left, d, 0.0F, to, n);
      else
        lapack::gemm('T', 'N', column.count, row.count, d, 1.0F, left, d, right, d, 0.0F, to, n);
    });
  }

  // False where float32 has no factor.
  bool factor(const Eigen::MatrixXf& S, double mu, Progress& progress) {
    const Index n = S.rows(), m = S.cols();
    each_tile([&](const Tile& row, const Tile& column) {
      float* to = &table_(row.first, column.first);
      const float *left = S.data() + row.first, *right = S.data() + column.first;
      const bool diagonal = row.first == column.first;
      if (diagonal)
        lapack::syrk('L', 'N', row.count, m, 1.0F, left, n, 0.0F, to, n);
      else
        lapack::gemm('N', 'T', row.count, column.count, m, 1.0F, left, n, right, n, 0.0F, to, n);
      for (Index j = 0; j < column.count; ++j)
        for (Index i = diagonal ? j : 0; i < row.count; ++i)
          to[j * n + i] *= table_(column.first + j, row.first + i + 1);
    });
    for (Index i = 0; i < n; ++i) table_(i, i) += static_cast<float>(mu);
    return tiled::factor(table_, progress);
  }

  Vector solve(const Vector& r) const {
    const Index n = r.size();
    const double size = r.lpNorm<Eigen::Infinity>();  // whatever r is scaled with, float32 has room for it
    if (size == 0) return r;
    Eigen::VectorXf z = (r / size).cast<float>();
    for (const char trans : {'N', 'T'}) lapack::trsm('L', 'L', trans, n, 1, table_.data(), n, z.data(), n);
    return z.cast<double>() * size;
  }

 private:
  struct Tile {
    Index first, count;
  };
  // Those on and below the diagonal.
  template <class Work>
  void each_tile(const Work& work) const {
    constexpr Index kTile = 256;
    const SerialBlas serial;
    const Index n = table_.rows(), side = (n + kTile - 1) / kTile;
    const auto tile = [&](Index k) { return Tile{k * kTile, std::min(kTile, n - k * kTile)}; };
    parallel_for(side * side, [&](Index pair) {
      const Index row = pair % side, column = pair / side;
      if (row >= column) work(tile(row), tile(column));
    });
  }

  Eigen::MatrixXf table_;
};

class TrainerSteps final : public TangentSteps {
 public:
  TrainerSteps(const RowMatrix& X, const Points<double>& points, const TwoLayer& start,
               const Activation& activation, Space space)
      : X_(X), trainer_(points, start, activation, space) {
    const StepBytes bytes = tangent_step_bytes(X.rows(), X.cols(), start.W.rows(), space);
    require_memory(bytes.kept + bytes.at_work, "gauss_newton", "use fewer points, or optimizer gd");
    if (X.rows() >= kSingle) single_.emplace(X.cast<float>());
  }

  const Vector& f() const override { return trainer_.f(); }
  void refresh() override { trainer_.refresh(); }

  double form(double spread) override {
    here_ = trainer_.state();
    trainer_.spread_slopes(spread);
    const Vector diagonal = trainer_.gradient_squares();
    return diagonal.allFinite() ? diagonal.maxCoeff() : std::nan("");
  }

  std::optional<Vector> solve(double mu, const Vector& r, double enough, Progress& progress) override {
    if (single_)
      if (auto c = solve_by_products(mu, r, enough, progress)) return c;
    Matrix L;
    tiled::product_with_transpose(trainer_.scaled_pattern(), L);
    tiled::multiply_by_product_with_transpose(X_, L);
    L.diagonal().array() += mu;
    if (!tiled::factor(L, progress)) return {};
    Matrix c = r;
    tiled::solve(L, c);
    return c.col(0);
  }

  double move(const Vector& c) override { return trainer_.move(c); }
  double moved() const override {
    return std::sqrt((trainer_.Z() - here_.Z).squaredNorm() / static_cast<double>(here_.Z.size()));
  }
  void go_back() override { trainer_.restore(here_); }
  RowMatrix weights() const override { return trainer_.weights(); }
  Travel travel() const override { return trainer_.travel(); }

  std::map<std::string, Matrix> snapshot() const override {
    const auto state = trainer_.state();
    return {{"Z", state.Z}, {"sum", state.sum}, {"W", state.W}, {"f", state.f}};
  }
  void restore(const std::map<std::string, Matrix>& from) override {
    trainer_.restore({from.at("Z"), from.at("sum"), from.at("W"), Vector(from.at("f").reshaped())});
  }

 private:
  // Conjugate gradients with products by J and J^T in double precision, whose preconditioner is the factor in
  // float32: as long as that is a fair one, some three products. None where it is not.
  std::optional<Vector> solve_by_products(double mu, const Vector& r, double enough, Progress& progress) {
    constexpr int kMost = 20;
    const Eigen::MatrixXf S = trainer_.scaled_pattern().cast<float>();
    if (!single_->factor(S, mu, progress)) return {};
    Vector c = Vector::Zero(r.size()), left = r, z = single_->solve(left), direction = z;
    double along = left.dot(z);
    for (int k = 0; k < kMost; ++k) {
      progress.check();
      const Vector product = trainer_.normal_product(direction) + mu * direction;
      const double length = along / direction.dot(product);
      if (!(length > 0 && std::isfinite(length))) return {};
      c += length * direction;
      const Vector before = left;
      left -= length * product;
      if (left.norm() <= enough * r.norm()) return c;
      z = single_->solve(left);
      const double turned = z.dot(left - before) / along;  // z is rounded: the classical z^T left may stall
      along = left.dot(z);
      direction = z + turned * direction;
    }
    return {};
  }

  const Matrix X_;
  Trainer<double> trainer_;
  Trainer<double>::State here_;
  std::optional<SingleFactor> single_;
};

}  // namespace

// Kept: the array of float32, X, and the state to go back to. At work: S and, where float32 is not enough or
// not tried, the factor in double precision.
StepBytes tangent_step_bytes(Index n, Index d, Index m, Space space) {
  const auto N = static_cast<double>(n), D = static_cast<double>(d), M = static_cast<double>(m);
  const double state = space == Space::gram ? 2 * N * M : N * M + M * D;
  return {(n < kSingle ? 0 : 4 * N * (N + 1)) + 8 * N * D + 8 * state, 8 * N * N + 12 * N * M};
}

std::unique_ptr<TangentSteps> tangent_steps(const RowMatrix& X, const Points<double>& points,
                                            const TwoLayer& start, const Activation& activation,
                                            Space space) {
  return std::make_unique<TrainerSteps>(X, points, start, activation, space);
}

}  // namespace zeroloss::internal
