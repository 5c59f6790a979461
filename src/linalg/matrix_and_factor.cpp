#include "linalg/matrix_and_factor.hpp"

#include <algorithm>
#include <utility>

#include "linalg/lapack.hpp"
#include "linalg/tiled.hpp"
#include "zeroloss/base/blas.hpp"

namespace zeroloss::internal {
namespace {

// work(i, j) for all i >= j of a square of this side, in small squares: what is read along rows is written
// along columns.
template <class Work>
void each_below(Index side, const Work& work) {
  constexpr Index kSquare = 64;
#pragma omp parallel for schedule(dynamic)
  for (Index column = 0; column < side; column += kSquare)
    for (Index row = column; row < side; row += kSquare)
      for (Index j = column; j < std::min(column + kSquare, side); ++j)
        for (Index i = std::max(row, j); i < std::min(row + kSquare, side); ++i) work(i, j);
}

}  // namespace

MatrixAndFactor::MatrixAndFactor(Matrix lower) : table_(std::move(lower)) {
  each_below(n(), [&](Index i, Index j) { table_(j, i + 1) = table_(i, j); });
}

Vector MatrixAndFactor::diagonal() const { return table_.diagonal(1); }

Matrix MatrixAndFactor::product(const Matrix& V) const {
  const SerialBlas serial;
  Matrix W(V.rows(), V.cols());
  lapack::symm('U', n(), V.cols(), table_.col(1).data(), n(), V.data(), n(), 0.0, W.data(), n());
  return W;
}

bool MatrixAndFactor::factor(double sign, double s, Progress& progress) {
  each_below(n(), [&](Index i, Index j) { table_(i, j) = sign * (table_(j, i + 1) - (i == j ? s : 0)); });
  return tiled::factor(table_, progress);
}

Matrix MatrixAndFactor::solve(Matrix B) const {
  tiled::solve(table_, B);
  return B;
}

}  // namespace zeroloss::internal
