#include "proof/certified_points.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linalg/tiled.hpp"
#include "proof/tangent_matrix.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math.
namespace zeroloss::internal {
namespace {

using namespace verified;

// ||A|| of every matrix whose rows are within row_error of A's, rounded up; G = A A^T (lower) where A has no
// more rows than columns.
double norm_bound(const RowMatrix& A, double row_error, const Matrix& G, Progress& progress) {
  const Index n = A.rows(), d = A.cols();
  Matrix work, C;
  if (d < n) tiled::product_with_transpose(Matrix(A.transpose()), C);
  const Matrix& squares = d < n ? C : G;
  const auto terms = static_cast<double>(std::max(n, d));
  const double bound =
      highest_eigenvalue(squares, gram_error(squares, terms, 4 * terms * kTiny), work, progress).bound;
  const double moved = row_error * length(row_lengths(A)) * kUp;
  return (std::sqrt(bound) + moved) * (1 + kRound);
}

}  // namespace

// Roots of counts are rounded, and so are products with them.
CertifiedPoints::CertifiedPoints(const RowMatrix& X, const Vector& counts, double row_error,
                                 const TangentEngine* engine)
    : points_(X),
      counts_(counts),
      points_error_(row_error),
      row_error_(counts.size() > 0 ? row_error + 2.01 * u : row_error),
      engine_(engine) {}

const CertifiedPoints::Size& CertifiedPoints::size(Progress& progress) const {
  const std::lock_guard lock(mutex_);
  if (sized_) return size_;
  if (counts_.size() > 0) {
    weighted_ = points_;
    weighted_.array().colwise() *= counts_.array().sqrt();
  }
  Matrix G;
  if (points_.rows() <= points_.cols()) point_gram(weighted(), G);
  size_.longest = row_lengths(weighted()).maxCoeff() * (1 + 2 * row_error_) * (1 + kRound);
  size_.norm = norm_bound(weighted(), row_error_, G, progress);
  if (keeps_gram()) gram_ = std::move(G);
  sized_ = true;
  return size_;
}

std::unique_ptr<TangentMatrix> CertifiedPoints::tangent_matrix(const Matrix& S) const {
  if (engine_ != nullptr) return engine_->matrix(S, weighted());
  Matrix K(S.rows(), S.rows() + 1);  // the factor's place beside it
  if (keeps_gram()) {
    tangent_gram(S, gram_, K);
  } else {
    tiled::product_with_transpose(S, K);
    tiled::multiply_by_product_with_transpose(Matrix(weighted()), K);
  }
  return std::make_unique<TangentMatrixHere>(std::move(K));
}

const Matrix& CertifiedPoints::gram_without_counts(Matrix& scratch) const {
  if (counts_.size() == 0 && keeps_gram()) return gram_;
  point_gram(points_, scratch);
  return scratch;
}

double CertifiedPoints::bytes_to_keep() const {
  const std::lock_guard lock(mutex_);
  const auto n = static_cast<double>(points_.rows()), d = static_cast<double>(points_.cols());
  const double squares = keeps_gram() ? 1 : engine_ != nullptr && n <= d ? 2 : 0;  // G, and its factor
  return sized_ ? 0 : 8 * (squares * n * n + (counts_.size() > 0 ? n * d : 0));
}

}  // namespace zeroloss::internal
