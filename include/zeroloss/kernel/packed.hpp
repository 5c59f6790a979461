#pragma once
#include <cstddef>
#include <memory>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// A symmetric or lower triangular n x n matrix in n(n+1)/2 numbers, factored and multiplied at the speed of
/// full ones.
namespace zeroloss {

/// Rectangular full packed storage (LAPACK's RFP, TRANSR = 'N', UPLO = 'L'; Gustavson et al., ACM TOMS 37,
/// 2010). The first n1 = ceil(n/2) columns of the lower triangle stand as they are in a column-major array;
/// the remaining triangle A22 fills the free upper corner of that array, transposed. Allocated, not
/// initialised; offsets are 64-bit, so n is not limited to 65,535.
template <class T>
class Packed {
 public:
  explicit Packed(Index n);  ///< throws ResourceError if the memory is not there

  Index n() const { return n_; }
  Index n1() const { return n_ - n_ / 2; }  ///< size of A11
  Index n2() const { return n_ / 2; }       ///< size of A22
  Index stride() const { return n_ | 1; }   ///< leading dimension: n (odd n) or n + 1 (even n)
  static double bytes(Index n) {
    return sizeof(T) * 0.5 * static_cast<double>(n) * static_cast<double>(n + 1);
  }

  /// Column j < n1 of the lower triangle: entry (i, j), i >= j, at column(j)[i].
  T* column(Index j) { return values_.get() + j * stride() + (n_ % 2 == 0 ? 1 : 0); }
  const T* column(Index j) const { return values_.get() + j * stride() + (n_ % 2 == 0 ? 1 : 0); }
  /// Row i >= n1 of A22: entry (i, j), n1 <= j <= i, at corner_row(i)[j - n1].
  T* corner_row(Index i) { return values_.get() + (i - n1() + n_ % 2) * stride(); }
  const T* corner_row(Index i) const { return values_.get() + (i - n1() + n_ % 2) * stride(); }

  /// Entry (i, j) with i >= j.
  T& operator()(Index i, Index j) { return j < n1() ? column(j)[i] : corner_row(i)[j - n1()]; }
  T operator()(Index i, Index j) const { return j < n1() ? column(j)[i] : corner_row(i)[j - n1()]; }

  /// Of the same size in the memory of `other`, which has none then. Entries are not initialised. Floats take
  /// the first half of what doubles had, give the rest back to the system, and doubles may take it again.
  template <class U>
  static Packed in_memory_of(Packed<U>&& other) {
    Packed all(other.n_, static_cast<void*>(other.values_.release()));
    if (sizeof(T) < sizeof(U)) all.give_back(sizeof(U));
    return all;
  }

  /// Entries rounded to T, in the memory of `other`, which has none then.
  template <class U>
  static Packed rounded(Packed<U>&& other);
  /// The same entries in memory of their own. Throws ResourceError.
  Packed copy() const;

  /// LAPACK's RFP array itself: n(n+1)/2 numbers.
  const T* data() const { return values_.get(); }

 private:
  template <class U>
  friend class Packed;
  struct Free {
    void operator()(T* values) const;
  };
  void give_back(std::size_t before);  // what lies behind the entries, of which one took so many bytes before
  Packed(Index n, void* memory) : n_(n), values_(static_cast<T*>(memory)) {}
  Index n_;
  std::unique_ptr<T[], Free> values_;
};

extern template class Packed<double>;
extern template class Packed<float>;

/// A V for symmetric A and V n x m. Cost 2 n^2 m.
Matrix product(const Packed<double>& A, const Matrix& V);
Eigen::MatrixXf product(const Packed<float>& A, const Eigen::MatrixXf& V);
/// With sums in double.
Matrix product(const Packed<float>& A, const Matrix& V);

/// Adds `shift` to the diagonal, each entry rounded once.
void shift_diagonal(Packed<double>& A, double shift);

/// Replaces A by its Cholesky factor L, A = L L^T: blocked left-looking dgemm, dpotrf and dtrsm, n^3/3
/// multiply-adds. Returns false, with A destroyed, if a pivot is not positive and finite. Cancellable between
/// blocks.
bool factor(Packed<double>& A, Progress& progress);
bool factor(Packed<float>& A, Progress& progress);

/// B = L^-1 B (forward) or L^-T B (backward), in place; `solve` does both: (L L^T)^-1 B. Cost n^2 m each.
void solve_forward(const Packed<double>& L, Eigen::Ref<Matrix> B);
void solve_backward(const Packed<double>& L, Eigen::Ref<Matrix> B);
void solve(const Packed<double>& L, Eigen::Ref<Matrix> B);
void solve(const Packed<float>& L, Eigen::Ref<Eigen::MatrixXf> B);

/// The diagonal of (L L^T)^-1: squared column norms of L^-1, formed a strip of columns at a time. n^3/3
/// multiply-adds, 256 n numbers of L's kind as scratch a thread.
Vector inverse_diagonal(const Packed<double>& L, Progress& progress);
Vector inverse_diagonal(const Packed<float>& L, Progress& progress);

}  // namespace zeroloss
