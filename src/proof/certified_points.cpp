#include "proof/certified_points.hpp"

#include <cmath>
#include <utility>

#include "linalg/tiled.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math.
namespace zeroloss::internal {
namespace {

using namespace verified;

// ||A|| of every matrix whose rows are within row_error of A's, rounded up; G = A A^T (lower) is given.
double norm_bound(const RowMatrix& A, double row_error, const Matrix& G, Progress& progress) {
  const Index n = A.rows(), d = A.cols();
  Matrix work;
  const auto proven = [&](const Matrix& C, Index inner) {
    const auto terms = static_cast<double>(inner);
    return highest_eigenvalue(C, gram_error(C, terms, 4 * terms * kTiny), work, progress).bound;
  };
  const double moved = row_error * length(row_lengths(A)) * kUp;
  if (d >= n) return (std::sqrt(proven(G, d)) + moved) * (1 + kRound);
  Matrix C;
  tiled::product_with_transpose(Matrix(A.transpose()), C);
  return (std::sqrt(proven(C, n)) + moved) * (1 + kRound);
}

}  // namespace

CertifiedPoints::CertifiedPoints(const RowMatrix& X, const Vector& counts, double row_error)
    : points_(X), counts_(counts), points_error_(row_error), row_error_(row_error) {
  if (counts_.size() == 0) return;
  weighted_ = X;
  weighted_.array().colwise() *= counts_.array().sqrt();
  row_error_ += 2.01 * u;  // roots of counts are rounded, and so are products with them
}

const CertifiedPoints::Size& CertifiedPoints::size(Progress& progress) const {
  const std::lock_guard lock(mutex_);
  if (sized_) return size_;
  Matrix G;
  point_gram(weighted(), G);
  size_.longest = row_lengths(weighted()).maxCoeff() * (1 + 2 * row_error_) * (1 + kRound);
  size_.norm = norm_bound(weighted(), row_error_, G, progress);
  if (keeps_gram()) gram_ = std::move(G);
  sized_ = true;
  return size_;
}

const Matrix& CertifiedPoints::gram(Matrix& scratch) const {
  {
    const std::lock_guard lock(mutex_);
    if (gram_.size() > 0) return gram_;
  }
  point_gram(weighted(), scratch);
  return scratch;
}

const Matrix& CertifiedPoints::gram_without_counts(Matrix& scratch) const {
  if (counts_.size() == 0) return gram(scratch);
  point_gram(points_, scratch);
  return scratch;
}

double CertifiedPoints::kept_bytes() const {
  const auto n = static_cast<double>(points_.rows()), d = static_cast<double>(points_.cols());
  return 8 * ((keeps_gram() ? n * n : 0) + (counts_.size() > 0 ? n * d : 0));
}

}  // namespace zeroloss::internal
