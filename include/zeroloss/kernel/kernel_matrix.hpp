#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "zeroloss/kernel/gram.hpp"

/// The kernel matrix of some points, wherever it lies: in this process, over many, on a device.
namespace zeroloss {

/// What a matrix can do beside in float32, where that takes half the time: to say where a proof is to be
/// tried, never to prove.
class SinglePrecision {
 public:
  SinglePrecision() = default;
  virtual ~SinglePrecision() = default;
  SinglePrecision(const SinglePrecision&) = delete;
  SinglePrecision& operator=(const SinglePrecision&) = delete;

  /// The kernel's Cholesky factor in float32, in the matrix's memory in place of what was there; false if a
  /// pivot is not positive and finite, or, before that is tried, if two points are so close that lambda_min
  /// is below `least`. After it the matrix is to be formed anew.
  virtual bool factor_single(const Kernel& kernel, double least, Progress& progress) = 0;
  /// The same of what is formed, without a shift, rounded to float32. That stays beside the factor, in the
  /// memory that the matrix had; false, too, where a system does not take that apart.
  virtual bool round_and_factor(Progress& progress) = 0;
  /// (L L^T)^-1 V of the factor.
  virtual Matrix solve_single(const Matrix& V) = 0;
  /// A^-1 V of the rounded matrix A: one step of refinement, with its residual in double.
  virtual Matrix solve_refined(const Matrix& V) = 0;
  /// Of (L L^T)^-1.
  virtual Vector inverse_diagonal_single(Progress& progress) = 0;
  /// Whether K - least I > 0 for every fourth point, as far as a factorisation says: what is false of these
  /// is false of all.
  virtual bool quarter_above(const Kernel& kernel, double least, Progress& progress) = 0;
  /// What was formed without a shift becomes what form() with this one makes, bit by bit.
  virtual void shift(double shift) = 0;
};

/// K + shift I of n points, then its Cholesky factor L in its place. Vectors are in this process, n x b. A
/// call that finds no memory throws ResourceError, a cancelled one Interrupted; the matrix is to be formed
/// anew then.
class KernelMatrix {
 public:
  /// What a pass over all pairs of points finds beside the entries, as of Gram.
  struct Seen {
    double entry_error = 0;
    std::vector<Pair> closest = {};
    Index near_pairs = 0;
    double separation = 0;
  };

  KernelMatrix() = default;
  virtual ~KernelMatrix() = default;
  KernelMatrix(const KernelMatrix&) = delete;
  KernelMatrix& operator=(const KernelMatrix&) = delete;

  virtual Index n() const = 0;
  virtual void form(const Kernel& kernel, double shift, Progress& progress) = 0;
  const Seen& seen() const { return seen_; }  ///< by the last form()

  /// A V of the formed matrix.
  virtual Matrix product(const Matrix& V) = 0;
  /// All n eigenvalues of the formed matrix, ascending. What is formed stays.
  virtual Vector eigenvalues() = 0;

  /// L in place of what was formed; false if a pivot is not positive and finite.
  virtual bool factor(Progress& progress) = 0;
  /// (L L^T)^-1 V.
  virtual Matrix solve(const Matrix& V) = 0;
  /// Of (L L^T)^-1.
  virtual Vector inverse_diagonal(Progress& progress) = 0;
  /// A bound of ||A - L L^T||_F, A being K + shift I with the rounding of its diagonal, formed anew tile by
  /// tile, and L what is stored on and below the diagonal: by products in double precision whose sums may be
  /// in any order, whoever computed L (theory 3). Not finite where L is not. seen().entry_error is that of A
  /// then.
  virtual double residual(const Kernel& kernel, double shift, Progress& progress) = 0;

  /// Null where nothing is gained by float32.
  virtual SinglePrecision* single() { return nullptr; }

 protected:
  Seen seen_;
};

/// In this process, packed: 8 n (n + 1)/2 bytes. X must outlive it. Throws ResourceError.
class PackedMatrix final : public KernelMatrix, public SinglePrecision {
 public:
  explicit PackedMatrix(const RowMatrix& X);

  Index n() const override { return work_.K.n(); }
  void form(const Kernel& kernel, double shift, Progress& progress) override;
  Matrix product(const Matrix& V) override;
  Vector eigenvalues() override;
  bool factor(Progress& progress) override;
  Matrix solve(const Matrix& V) override;
  Vector inverse_diagonal(Progress& progress) override;
  double residual(const Kernel& kernel, double shift, Progress& progress) override;
  SinglePrecision* single() override;
  bool factor_single(const Kernel& kernel, double least, Progress& progress) override;
  bool round_and_factor(Progress& progress) override;
  Matrix solve_single(const Matrix& V) override;
  Matrix solve_refined(const Matrix& V) override;
  Vector inverse_diagonal_single(Progress& progress) override;
  bool quarter_above(const Kernel& kernel, double least, Progress& progress) override;
  void shift(double shift) override;

 private:
  void take_memory_back();

  const RowMatrix& X_;
  Gram<double> work_;
  std::optional<Packed<float>> rounded_;  // has the memory of work_ then
  std::optional<Packed<float>> single_;   // the same, or beside what is rounded
};

/// How a completed factorisation of K - s I says that K > s - loss: by the theorem about Cholesky
/// factorisation in floating point, for engines that are known to compute it, or by the residual() of the
/// factor, whoever computed it.
enum class Proof { theorem, residual };
const char* name_of(Proof proof);

}  // namespace zeroloss
