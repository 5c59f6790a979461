#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "zeroloss/base/progress.hpp"
#include "zeroloss/network/network.hpp"

/// Steps of a two-layer network in the span of its gradients, wherever they are taken.
namespace zeroloss {

/// How far training has gone from W_0.
struct Travel {
  double max_distance = 0;      ///< max_j ||w_j - w_j(0)||
  double distance = 0;          ///< ||W - W_0||_F
  double flipped_fraction = 0;  ///< of the n m signs [z >= 0]
};

/// One output of a network at n points, J (n x m d) its Jacobian in W.
class TangentSteps {
 public:
  TangentSteps() = default;
  virtual ~TangentSteps() = default;
  TangentSteps(const TangentSteps&) = delete;
  TangentSteps& operator=(const TangentSteps&) = delete;

  virtual const Vector& f() const = 0;  ///< outputs for the weights as they are, n
  virtual void refresh() = 0;           ///< f from the weights themselves, where it is kept by updates

  /// Forms K = J J^T here: what follows is about these weights until it is called again. Slopes of relu in J
  /// are means of phi' over [z - spread, z + spread]; those of others, and with spread = 0, are phi'(z).
  /// Returns the largest entry of K's diagonal; NaN where that is not finite.
  virtual double form(double spread) = 0;
  /// c of (K + mu I) c = r, up to `enough` of ||r|| or better; none where rounding left no Cholesky factor.
  /// Throws Interrupted where it is cancelled before, or between parts of the factorisation.
  virtual std::optional<Vector> solve(double mu, const Vector& r, double enough, Progress& progress) = 0;
  /// W <- W - J^T c, from the weights of form(), and f anew; returns ||J^T c||_F.
  virtual double move(const Vector& c) = 0;
  /// The root mean square of what that has changed of Z.
  virtual double moved() const = 0;
  virtual void go_back() = 0;  ///< to the weights of form()

  virtual RowMatrix weights() const = 0;
  virtual Travel travel() const = 0;

  /// All that is needed to go on with the same bits, by name.
  virtual std::map<std::string, Matrix> snapshot() const = 0;
  /// Throws std::out_of_range where a part is missing.
  virtual void restore(const std::map<std::string, Matrix>& snapshot) = 0;
};

/// J J^T = (S S^T) o (X X^T) at given weights, n x n, and the Cholesky factor of a shifted one, for proofs:
/// sums of products are double's, in any order.
class TangentMatrix {
 public:
  TangentMatrix() = default;
  virtual ~TangentMatrix() = default;
  TangentMatrix(const TangentMatrix&) = delete;
  TangentMatrix& operator=(const TangentMatrix&) = delete;

  virtual Vector diagonal() const = 0;
  /// K V. Of one column a proof may rely on it: sums are double's then, in any order.
  virtual Matrix product(const Matrix& V) const = 0;

  /// Cholesky of fl(sign (K - s I)); false, and then there is no factor, if a pivot is not positive and
  /// finite. Throws Interrupted.
  virtual bool factor(double sign, double s, Progress& progress) = 0;
  virtual Matrix solve(const Matrix& B) const = 0;  ///< by the last factor L
  /// A bound of ||sign (K - s I) - L L^T||_F of that, by products, whoever computed L; none where the theorem
  /// about Cholesky factorisation in floating point covers it.
  virtual std::optional<double> residual(Progress& progress) const = 0;
};

/// A device that takes them.
class TangentEngine {
 public:
  TangentEngine() = default;
  virtual ~TangentEngine() = default;
  TangentEngine(const TangentEngine&) = delete;
  TangentEngine& operator=(const TangentEngine&) = delete;

  virtual std::string name() const = 0;    ///< "LibTorch 1.13.0, no CUDA on cpu"
  virtual std::string device() const = 0;  ///< "cpu", "cuda": a run goes on with its like

  /// Of the network `start` at the rows of X, in double precision, with an activation of the library. Throws
  /// ResourceError where the device has no place for it.
  virtual std::unique_ptr<TangentSteps> begin(const RowMatrix& X, const TwoLayer& start,
                                              const Activation& activation) const = 0;

  /// Of S = phi'(X W^T) diag(v), n x m, and X, n x d. Throws ResourceError, BackendError where products are
  /// not exact enough to prove anything.
  virtual std::unique_ptr<TangentMatrix> matrix(const Matrix& S, const RowMatrix& X) const = 0;
};

}  // namespace zeroloss
