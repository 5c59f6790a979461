#pragma once
#include "zeroloss/base/matrix.hpp"

/// BLAS calls of linalg/lapack.hpp whose result is cut into tiles, each computed by one thread of ours with
/// BLAS on one thread: the threads of a BLAS wait for each other by spinning, which beside another program
/// takes many times as long. The tiles do not depend on the number of threads, nor does any bit.
namespace zeroloss::internal::parallel {

void gemm(char ta, char tb, Index m, Index n, Index k, double alpha, const double* A, Index lda,
          const double* B, Index ldb, double beta, double* C, Index ldc);
void gemm(char ta, char tb, Index m, Index n, Index k, float alpha, const float* A, Index lda, const float* B,
          Index ldb, float beta, float* C, Index ldc);

/// One triangle of C = alpha op(A) op(A)^T + beta C.
void syrk(char uplo, char trans, Index n, Index k, double alpha, const double* A, Index lda, double beta,
          double* C, Index ldc);
void syrk(char uplo, char trans, Index n, Index k, float alpha, const float* A, Index lda, float beta,
          float* C, Index ldc);

/// The lower triangle of C -= A B^T + B A^T, A and B n x k.
void minus_syr2k(Index n, Index k, const double* A, Index lda, const double* B, Index ldb, double* C,
                 Index ldc);

/// B = op(A)^-1 B (side L) or B op(A)^-1 (side R).
void trsm(char side, char uplo, char trans, Index m, Index n, const double* A, Index lda, double* B,
          Index ldb);
void trsm(char side, char uplo, char trans, Index m, Index n, const float* A, Index lda, float* B, Index ldb);

}  // namespace zeroloss::internal::parallel
