#include "linalg/parallel.hpp"

#include <algorithm>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal::parallel {
namespace {

constexpr Index kTile = 512;  // rows and columns: smaller ones cost a fifth more, for BLAS packs each anew

Index tiles(Index n) { return (n + kTile - 1) / kTile; }
Index begin(Index tile) { return tile * kTile; }
Index length(Index tile, Index n) { return std::min(kTile, n - tile * kTile); }

/// Runs work(0), .., work(pieces - 1), which take so many multiply-adds together.
template <class Work>
void each(Index pieces, double multiply_adds, const Work& work) {
  const SerialBlas serial;
  const Threads threads(pieces > 1 ? multiply_adds : 0);
  parallel_for(pieces, work);
}

double product(Index a, Index b, Index c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

/// Where row `i` of op(A) begins.
template <class T>
const T* row_of(char trans, const T* A, Index lda, Index i) {
  return trans == 'N' ? A + i : A + i * lda;
}

// NOLINTBEGIN(readability-function-size): BLAS takes as many arguments
template <class T>
void tiled_gemm(char ta, char tb, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B,
                Index ldb, T beta, T* C, Index ldc) {
  const Index rows = tiles(m);
  const char of_column = tb == 'N' ? 'T' : 'N';  // a column of op(B) is a row of its transpose
  each(rows * tiles(n), product(m, n, k), [&](Index tile) {
    const Index i = tile % rows, j = tile / rows;
    lapack::gemm(ta, tb, length(i, m), length(j, n), k, alpha, row_of(ta, A, lda, begin(i)), lda,
                 row_of(of_column, B, ldb, begin(j)), ldb, beta, C + begin(j) * ldc + begin(i), ldc);
  });
}

template <class T>
void tiled_syrk(char uplo, char trans, Index n, Index k, T alpha, const T* A, Index lda, T beta, T* C,
                Index ldc) {
  const Index side = tiles(n);
  const char other = trans == 'N' ? 'T' : 'N';
  each(side * side, product(n, n, k) / 2, [&](Index tile) {
    const Index i = tile % side, j = tile / side;
    T* at = C + begin(j) * ldc + begin(i);
    const T* left = row_of(trans, A, lda, begin(i));
    if (i == j)
      lapack::syrk(uplo, trans, length(i, n), k, alpha, left, lda, beta, at, ldc);
    else if ((i > j) == (uplo == 'L'))
      lapack::gemm(trans, other, length(i, n), length(j, n), k, alpha, left, lda,
                   row_of(trans, A, lda, begin(j)), lda, beta, at, ldc);
  });
}

template <class T>
void tiled_trsm(char side, char uplo, char trans, Index m, Index n, const T* A, Index lda, T* B, Index ldb) {
  const bool left = side == 'L';
  const Index apart = left ? n : m, inner = left ? m : n;
  each(tiles(apart), product(inner, inner, apart) / 2, [&](Index piece) {
    const Index first = begin(piece), count = length(piece, apart);
    if (left)
      lapack::trsm(side, uplo, trans, m, count, A, lda, B + first * ldb, ldb);
    else
      lapack::trsm(side, uplo, trans, count, n, A, lda, B + first, ldb);
  });
}

}  // namespace

void gemm(char ta, char tb, Index m, Index n, Index k, double alpha, const double* A, Index lda,
          const double* B, Index ldb, double beta, double* C, Index ldc) {
  tiled_gemm(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

void gemm(char ta, char tb, Index m, Index n, Index k, float alpha, const float* A, Index lda, const float* B,
          Index ldb, float beta, float* C, Index ldc) {
  tiled_gemm(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

void syrk(char uplo, char trans, Index n, Index k, double alpha, const double* A, Index lda, double beta,
          double* C, Index ldc) {
  tiled_syrk(uplo, trans, n, k, alpha, A, lda, beta, C, ldc);
}

void syrk(char uplo, char trans, Index n, Index k, float alpha, const float* A, Index lda, float beta,
          float* C, Index ldc) {
  tiled_syrk(uplo, trans, n, k, alpha, A, lda, beta, C, ldc);
}

void minus_syr2k(Index n, Index k, const double* A, Index lda, const double* B, Index ldb, double* C,
                 Index ldc) {
  const Index side = tiles(n);
  each(side * side, product(n, n, k), [&](Index tile) {
    const Index i = tile % side, j = tile / side;
    if (i < j) return;
    double* at = C + begin(j) * ldc + begin(i);
    if (i == j) return lapack::minus_syr2k(length(i, n), k, A + begin(i), lda, B + begin(i), ldb, at, ldc);
    lapack::gemm('N', 'T', length(i, n), length(j, n), k, -1, A + begin(i), lda, B + begin(j), ldb, 1, at,
                 ldc);
    lapack::gemm('N', 'T', length(i, n), length(j, n), k, -1, B + begin(i), ldb, A + begin(j), lda, 1, at,
                 ldc);
  });
}

void trsm(char side, char uplo, char trans, Index m, Index n, const double* A, Index lda, double* B,
          Index ldb) {
  tiled_trsm(side, uplo, trans, m, n, A, lda, B, ldb);
}

void trsm(char side, char uplo, char trans, Index m, Index n, const float* A, Index lda, float* B,
          Index ldb) {
  tiled_trsm(side, uplo, trans, m, n, A, lda, B, ldb);
}

// NOLINTEND(readability-function-size)

}  // namespace zeroloss::internal::parallel
