#pragma once
#include <algorithm>
#include <vector>

#include "train/engine/passes.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/network/network.hpp"
#include "zeroloss/network/tangent_steps.hpp"

/// One output of a network in training: W moves, and Z, f move with it.
namespace zeroloss::internal {

template <class T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Where a step is computed (theory 6). weights: W is stored, a full step costs 4 n d m flops. gram: only Z
/// and the sum of all S = diag(c) phi'(Z) are, a step costs 2 n^2 m; W = W_0 - diag(v) S^T X is formed when
/// asked for. Both are exact and agree to rounding.
enum class Space { weights, gram };

/// What all outputs share.
template <class T>
struct Points {
  Rows<T> X;     ///< n x d
  Columns<T> G;  ///< X X^T, n x n; empty in weight space
};
template <class T>
Points<T> points(const RowMatrix& X, Space space);

/// The cheaper way of a full step. Products with a pattern D of zeros and ones (relu) cost less than dense
/// ones.
Space cheaper_space(Index n, Index d, bool pattern);

/// Neurons are taken in tiles of fixed size, one thread a tile and BLAS on one thread; sums run over tiles in
/// order. Bits therefore do not depend on the number of threads. Memory: Z, its first signs and, in Gram
/// space, one more n x m matrix; two tiles a thread. While a trainer lives, BLAS runs on one thread
/// everywhere.
template <class T>
class Trainer {
 public:
  Trainer(const Points<T>& points, const TwoLayer& start, const Activation& activation, Space space);

  Index n() const { return X_.rows(); }
  const Vector& f() const { return f_; }  ///< outputs at the points
  const Columns<T>& Z() const { return Z_; }

  /// W <- W - J^T c, then Z and f anew; c has n entries. Returns ||J^T c||_F.
  double move(const Vector& c);

  /// Outputs at a few points, then a move by the gradients of these, W <- W - sum_b c_b grad f_b. Weight
  /// space only; Z and f stay those of an older W until refresh().
  Vector batch_outputs(const std::vector<Index>& batch);
  double batch_move(const Vector& c);

  /// Slopes of relu from here on, that is in J: the mean of phi' over [z - spread, z + spread]; 0: phi'.
  void spread_slopes(double spread);

  void refresh();                           ///< Z and f from the weights themselves
  void place(const Rows<T>& W);             ///< other weights (weight space), then refresh()
  Rows<T> gradient(const Vector& c) const;  ///< J^T c, m x d

  Vector normal_product(const Vector& c) const;  ///< J J^T c
  Vector gradient_squares() const;               ///< ||grad f_i||^2: the diagonal of J J^T
  Matrix scaled_pattern() const;                 ///< slopes of Z, times diag(|v|), n x m: (S S^T) o G = J J^T

  Rows<T> weights() const;
  Travel travel() const;

  /// All that changes, to go back to (Levenberg-Marquardt) or to write down (checkpoints): W, or Z and the
  /// sum of S.
  struct State {
    Columns<T> Z, sum;
    Rows<T> W;
    Vector f;
  };
  State state() const { return {Z_, sum_, W_, f_}; }
  void restore(const State& state);

 private:
  struct Tile {
    Index first, count;
  };
  Index tiles() const { return (v_.size() + width_ - 1) / width_; }
  Tile tile(Index t) const { return {t * width_, std::min(width_, v_.size() - t * width_)}; }
  bool gram() const { return space_ == Space::gram; }
  bool pattern() const { return rectifier_ && spread_ == 0; }  // slopes are zeros and ones

  // What the gradients of some points are made of: A is X^T (d rows) or G (n rows), a column a point.
  struct Pull {
    const T* A;
    Index rows, points;
    Eigen::Matrix<T, Eigen::Dynamic, 1> c;
    Columns<T> scaled;  // A diag(c), for patterns only
  };
  Pull pull(const T* A, Index rows, const Vector& c) const;
  void slopes(const T* Z, Index points, Index count, const T* c, T* S, T* sum) const;
  void apply(const Pull& pull, const T* Z, const Tile& at, T* sum, T* S, T* P) const;
  double shift(const Tile& at, const T* P);
  void forward(const T* X, Index points, const Tile& at, const T* W, T* Z, T* f) const;
  void form_weights(const Tile& at, T* W) const;

  const Rows<T>& X_;
  const Columns<T>& G_;
  Phi phi_;
  bool rectifier_;  // phi' holds only zeros and ones
  T spread_ = 0;
  Space space_;
  Index width_;  // of a tile
  Eigen::Matrix<T, Eigen::Dynamic, 1> v_;
  Rows<T> W0_, W_;                // W_ in weight space only
  Columns<T> Z_, sum_;            // sum_ in Gram space only
  Columns<bool> signs_;           // Z >= 0 at the start
  Columns<T> batch_X_, batch_Z_;  // d x b and b x m
  Vector f_;
  SerialBlas serial_;
};

extern template class Trainer<double>;
extern template class Trainer<float>;

}  // namespace zeroloss::internal
