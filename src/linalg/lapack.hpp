#pragma once
#include <limits>
#include <stdexcept>

#include "zeroloss/base/matrix.hpp"

/// The BLAS and LAPACK calls the library makes, for float and double, column-major, with 64-bit sizes checked
/// once here. Fortran subroutines return nothing; `int` is how Eigen declares them, and the declarations have
/// to agree.
extern "C" {
#define ZEROLOSS_BLAS(T, p)                                                                                  \
  int p##gemm_(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*, \
               const T*, const int*, const T*, T*, const int*);                                              \
  int p##syrk_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*,   \
               T*, const int*);                                                                              \
  int p##symm_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*,   \
               const int*, const T*, T*, const int*);                                                        \
  int p##trsm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*,         \
               const T*, const int*, T*, const int*);                                                        \
  int p##potrf_(const char*, const int*, T*, const int*, int*);
ZEROLOSS_BLAS(double, d)
ZEROLOSS_BLAS(float, s)
#undef ZEROLOSS_BLAS
int dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*,
            const int*, int*);
int dgesvd_(const char*, const char*, const int*, const int*, double*, const int*, double*, double*,
            const int*, double*, const int*, double*, const int*, int*);
int dlatrd_(const char*, const int*, const int*, double*, const int*, double*, double*, double*, const int*);
int dsyr2k_(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
int dsytd2_(const char*, const int*, double*, const int*, double*, double*, double*, int*);
int dlarft_(const char*, const char*, const int*, const int*, const double*, const int*, const double*,
            double*, const int*);
int dlarfb_(const char*, const char*, const char*, const char*, const int*, const int*, const int*,
            const double*, const int*, const double*, const int*, double*, const int*, double*, const int*);
int dorg2r_(const int*, const int*, const int*, double*, const int*, const double*, double*, int*);
int dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
int dormqr_(const char*, const char*, const int*, const int*, const int*, const double*, const int*,
            const double*, double*, const int*, double*, const int*, int*);
int dgetrf_(const int*, const int*, double*, const int*, int*, int*);
int dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
int dgeev_(const char*, const char*, const int*, double*, const int*, double*, double*, double*, const int*,
           double*, const int*, double*, const int*, int*);
int dgees_(const char*, const char*, int (*)(const double*, const double*), const int*, double*, const int*,
           int*, double*, double*, double*, const int*, double*, const int*, int*, int*);
int dgelsd_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*,
            const double*, int*, double*, const int*, int*, int*);
}

namespace zeroloss::internal::lapack {

inline int size(Index n) {
  if (n > std::numeric_limits<int>::max())
    throw std::invalid_argument("a matrix side exceeds BLAS's 2^31 - 1");
  return static_cast<int>(n);
}

#define ZEROLOSS_BLAS(T, p)                                                                                 \
  /** C = alpha op(A) op(B) + beta C, C m x n, inner size k. */                                             \
  inline void gemm(char ta, char tb, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B, \
                   Index ldb, T beta, T* C, Index ldc) {                                                    \
    if (m == 0 || n == 0) return;                                                                           \
    const int m_ = size(m), n_ = size(n), k_ = size(k), a_ = size(lda), b_ = size(ldb), c_ = size(ldc);     \
    p##gemm_(&ta, &tb, &m_, &n_, &k_, &alpha, A, &a_, B, &b_, &beta, C, &c_);                               \
  }                                                                                                         \
  /** C = alpha op(A) op(A)^T + beta C, one triangle of C n x n. */                                         \
  inline void syrk(char uplo, char trans, Index n, Index k, T alpha, const T* A, Index lda, T beta, T* C,   \
                   Index ldc) {                                                                             \
    if (n == 0) return;                                                                                     \
    const int n_ = size(n), k_ = size(k), a_ = size(lda), c_ = size(ldc);                                   \
    p##syrk_(&uplo, &trans, &n_, &k_, &alpha, A, &a_, &beta, C, &c_);                                       \
  }                                                                                                         \
  /** C = A B + beta C with A n x n symmetric (one triangle), B and C n x m. */                             \
  inline void symm(char uplo, Index n, Index m, const T* A, Index lda, const T* B, Index ldb, T beta, T* C, \
                   Index ldc) {                                                                             \
    if (n == 0 || m == 0) return;                                                                           \
    const int n_ = size(n), m_ = size(m), a_ = size(lda), b_ = size(ldb), c_ = size(ldc);                   \
    const T one = 1;                                                                                        \
    p##symm_("L", &uplo, &n_, &m_, &one, A, &a_, B, &b_, &beta, C, &c_);                                    \
  }                                                                                                         \
  /** B = op(A)^-1 B (side L) or B op(A)^-1 (side R), A triangular, B m x n. */                             \
  inline void trsm(char side, char uplo, char trans, Index m, Index n, const T* A, Index lda, T* B,         \
                   Index ldb) {                                                                             \
    if (m == 0 || n == 0) return;                                                                           \
    const int m_ = size(m), n_ = size(n), a_ = size(lda), b_ = size(ldb);                                   \
    const T one = 1;                                                                                        \
    p##trsm_(&side, &uplo, &trans, "N", &m_, &n_, &one, A, &a_, B, &b_);                                    \
  }                                                                                                         \
  /** Cholesky factor in place; 0, or the 1-based pivot that is not positive. */                            \
  inline Index potrf(char uplo, Index n, T* A, Index lda) {                                                 \
    if (n == 0) return 0;                                                                                   \
    const int n_ = size(n), a_ = size(lda);                                                                 \
    int info = 0;                                                                                           \
    p##potrf_(&uplo, &n_, A, &a_, &info);                                                                   \
    return info;                                                                                            \
  }
// NOLINTBEGIN(readability-function-size): BLAS takes as many arguments
ZEROLOSS_BLAS(double, d)
ZEROLOSS_BLAS(float, s)
/// The lower triangle of C -= A B^T + B A^T, A and B n x k.
inline void minus_syr2k(Index n, Index k, const double* A, Index lda, const double* B, Index ldb, double* C,
                        Index ldc) {
  if (n == 0) return;
  const int n_ = size(n), k_ = size(k), a_ = size(lda), b_ = size(ldb), c_ = size(ldc);
  const double minus = -1, one = 1;
  dsyr2k_("L", "N", &n_, &k_, &minus, A, &a_, B, &b_, &one, C, &c_);
}
// NOLINTEND(readability-function-size)
#undef ZEROLOSS_BLAS

}  // namespace zeroloss::internal::lapack
