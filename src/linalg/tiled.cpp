#include "linalg/tiled.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal::tiled {
namespace {

constexpr Index kTile = 256;    // side of a tile of a matrix
constexpr Index kColumns = 64;  // of a right-hand side that one thread solves for

Index tiles(Index n) { return (n + kTile - 1) / kTile; }
Index begin(Index tile) { return tile * kTile; }
Index length(Index tile, Index n) { return std::min(kTile, n - tile * kTile); }

double product(Index a, Index b, Index c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

/// What threads gain of work in so many parts: nothing of one.
double shared(Index parts, double multiply_adds) { return parts > 1 ? multiply_adds : 0; }

void substitute(char trans, const Matrix& L, Eigen::Ref<Matrix> B) {
  const SerialBlas serial;
  const Index n = L.rows(), chunks = (B.cols() + kColumns - 1) / kColumns;
  const Threads threads(shared(chunks, product(n, n, B.cols()) / 2));
  parallel_for(chunks, [&](Index chunk) {
    const Index first = chunk * kColumns;
    lapack::trsm('L', 'L', trans, n, std::min(kColumns, B.cols() - first), L.data(), L.outerStride(),
                 B.data() + first * B.outerStride(), B.outerStride());
  });
}

/// Rows begin(row).. of A times those from begin(column), transposed; of a diagonal tile the lower triangle.
void product_tile(const Matrix& A, Index row, Index column, double* C, Index stride) {
  const Index n = A.rows(), k = A.cols();
  const double *left = A.data() + begin(row), *right = A.data() + begin(column);
  if (row == column)
    lapack::syrk('L', 'N', length(row, n), k, 1.0, left, n, 0.0, C, stride);
  else
    lapack::gemm('N', 'T', length(row, n), length(column, n), k, 1.0, left, n, right, n, 0.0, C, stride);
}

template <class T>
bool factor_in_place(Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>& A, Progress& progress) {
  const SerialBlas serial;
  const Index n = A.rows(), side = tiles(n), stride = A.outerStride();
  const auto at = [&](Index row, Index column) { return A.data() + begin(column) * stride + begin(row); };
  const Threads threads(shared(side, product(n, n, kTile) / 3));
  for (Index k = 0; k < side; ++k) {  // column k of tiles: less what is left of it, then divided by its root
    const Index width = length(k, n), done = begin(k);
    parallel_for(done > 0 ? side - k : 0, [&](Index below) {
      const Index i = k + below;
      if (i == k)
        lapack::syrk('L', 'N', width, done, T{-1}, at(k, 0), stride, T{1}, at(k, k), stride);
      else
        lapack::gemm('N', 'T', length(i, n), width, done, T{-1}, at(i, 0), stride, at(k, 0), stride, T{1},
                     at(i, k), stride);
    });
    if (lapack::potrf('L', width, at(k, k), stride) != 0) return false;
    for (Index j = done; j < done + width; ++j)
      if (!std::isfinite(A(j, j))) return false;
    parallel_for(side - k - 1, [&](Index below) {
      const Index i = k + 1 + below;
      lapack::trsm('R', 'L', 'T', length(i, n), width, at(k, k), stride, at(i, k), stride);
    });
    progress.check();
  }
  return true;
}

}  // namespace

void product_with_transpose(const Matrix& A, Matrix& C) {
  const SerialBlas serial;
  const Index n = A.rows(), k = A.cols(), side = tiles(n);
  const Threads threads(shared(side, product(n, n, k) / 2));
  if (C.rows() != n || C.cols() < n) C.resize(n, n);
  parallel_for(side * side, [&](Index pair) {
    const Index row = pair % side, column = pair / side;
    if (row < column) return;
    product_tile(A, row, column, C.data() + begin(column) * n + begin(row), n);
  });
}

void multiply_by_product_with_transpose(const Matrix& A, Matrix& C) {
  const SerialBlas serial;
  const Index n = A.rows(), side = tiles(n);
  const Threads threads(shared(side, product(n, n, A.cols()) / 2));
  parallel_for(
      side * side, [] { return Matrix(kTile, kTile); },
      [&](Matrix& factors, Index pair) {
        const Index row = pair % side, column = pair / side;
        if (row < column) return;
        product_tile(A, row, column, factors.data(), kTile);
        for (Index j = 0; j < length(column, n); ++j) {
          const Index first = row == column ? j : 0, count = length(row, n) - first;
          C.col(begin(column) + j).segment(begin(row) + first, count).array() *=
              factors.col(j).segment(first, count).array();
        }
      });
}

bool factor(Matrix& A, Progress& progress) { return factor_in_place(A, progress); }
bool factor(Eigen::MatrixXf& A, Progress& progress) { return factor_in_place(A, progress); }

// NOLINTBEGIN(performance-unnecessary-value-param): a Ref is a pointer, and passed as one
void solve_forward(const Matrix& L, Eigen::Ref<Matrix> B) { substitute('N', L, B); }
void solve_backward(const Matrix& L, Eigen::Ref<Matrix> B) { substitute('T', L, B); }
void solve(const Matrix& L, Eigen::Ref<Matrix> B) {
  solve_forward(L, B);
  solve_backward(L, B);
}
// NOLINTEND(performance-unnecessary-value-param)

Matrix product(const Matrix& A, const Matrix& V) {
  const SerialBlas serial;
  Matrix W(V.rows(), V.cols());
  lapack::symm('L', V.rows(), V.cols(), A.data(), A.outerStride(), V.data(), V.rows(), 0.0, W.data(),
               W.rows());
  return W;
}

}  // namespace zeroloss::internal::tiled
