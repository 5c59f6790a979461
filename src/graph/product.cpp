#include "graph/product.hpp"

#include <cmath>

#include "linalg/lapack.hpp"
#include "proof/evaluate.hpp"

namespace zeroloss::internal::graph {
namespace {

double length_of(const Vector& x) { return length_above(x.data(), x.size()); }

}  // namespace

Product::Product(RowMatrix W, RowMatrix W_error, Vector b, Vector b_error, std::optional<double> spectral)
    : W_(std::move(W)), W_error_(std::move(W_error)), b_(std::move(b)), b_error_(std::move(b_error)) {
  if (b_.size() == 0) b_.setZero(W_.rows());
  if (b_error_.size() == 0) b_error_.setZero(W_.rows());
  size_ = W_.cwiseAbs();
  if (W_error_.size() > 0) size_ = (size_ + W_error_) * kUp;
  row_length_.resize(W_.rows());
  row_error_.setZero(W_.rows());
  row_sum_.resize(W_.rows());
  for (Index j = 0; j < W_.rows(); ++j) {
    row_length_(j) = length_above(size_.data() + j * W_.cols(), W_.cols());
    row_sum_(j) = size_.row(j).sum() * kUp;
    if (W_error_.size() > 0) row_error_(j) = length_above(W_error_.data() + j * W_.cols(), W_.cols());
  }
  frobenius_ = length_of(row_length_);
  error_length_ = length_of(row_error_);
  b_length_ = length_of(b_);
  largest_ = size_.size() == 0 ? 0 : size_.maxCoeff<Eigen::PropagateNaN>();
  Progress silent;
  spectral_ = spectral ? *spectral : verified::spectral_norm(W_, silent);
}

std::pair<double, double> roundings_of_terms(Index terms, const Rounding& r) {
  const auto k = static_cast<double>(terms);
  double runtime = 0;
  if (!r.exact()) {
    const double part = (k + 6) * (r.sum > 0 ? r.sum : r.v), of_factors = r.factor * (2 + r.factor);
    const double sums = part < 0.5 ? part / (1 - part) : kInfinite;
    runtime = (sums + of_factors + sums * of_factors) * kUp;
  }
  const double here = r.precise ? (k + 3) * 0x1p-63 : gamma_of(k + 1);
  return {(runtime + here) * kUp, runtime};
}

double lost_of_terms(Index terms, double size, const Rounding& r) {
  const auto k = static_cast<double>(terms);
  return (r.lost * (2 * k + 3 + size) + r.factor_lost * (size + k * r.factor_lost)) * kUp;
}

double Product::length_of_rounding(double length, double off, double overlap, double positions,
                                   const Rounding& r) const {
  const auto [both, runtime] = roundings_of_terms(inputs(), r);
  const double root = std::sqrt(overlap) * kUp, place = std::sqrt(positions) * kUp;
  const double terms = std::sqrt(static_cast<double>(inputs())) * kUp;
  return (root * (runtime * frobenius_ * off + both * frobenius_ * length + error_length_ * (length + off)) +
          place * (both * b_length_ + (1 + runtime) * length_of(b_error_)) +
          place * std::sqrt(static_cast<double>(outputs())) *
              lost_of_terms(inputs(), row_sum_.sum() + terms * (length * place + off), r)) *
             kUp +
         kTiny;
}

double Product::length_of_error(double length, double off, double overlap, double positions,
                                const Rounding& r) const {
  return (std::sqrt(overlap) * spectral_ * off + length_of_rounding(length, off, overlap, positions, r)) *
         kUp;
}

void Product::of_rows(const double* X, const double* X_error, const double* length_error, Index rows,
                      const Rounding& r, double* Y, double* Y_error) const {
  const Index m = outputs(), k = inputs();
  using Block = Eigen::Map<RowMatrix>;
  const Eigen::Map<const RowMatrix> x(X, rows, k);
  const auto [both, runtime] = roundings_of_terms(inputs(), r);
  if (r.precise)
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < m; ++j) {
        long double sum = b_(j);
        for (Index t = 0; t < k; ++t) sum += static_cast<long double>(W_(j, t)) * X[i * k + t];
        Y[i * m + j] = static_cast<double>(sum);
      }
  else
    lapack::gemm('T', 'N', m, rows, k, 1.0, W_.data(), k, X, k, 0.0, Y, m);
  RowMatrix weight = both * x.cwiseAbs();
  if (X_error != nullptr) weight += (1 + runtime) * Eigen::Map<const RowMatrix>(X_error, rows, k);
  lapack::gemm('T', 'N', m, rows, k, 1.0, size_.data(), k, weight.data(), k, 0.0, Y_error, m);
  if (W_error_.size() > 0) {
    RowMatrix sizes = x.cwiseAbs();
    if (X_error != nullptr) sizes += Eigen::Map<const RowMatrix>(X_error, rows, k);
    lapack::gemm('T', 'N', m, rows, k, 1.0, W_error_.data(), k, sizes.data(), k, 1.0, Y_error, m);
  }
  Block y(Y, rows, m), error(Y_error, rows, m);
  for (Index i = 0; i < rows; ++i) {
    const double off = length_error != nullptr ? length_error[i] : 0, length = length_above(X + i * k, k);
    double sizes = x.row(i).cwiseAbs().sum(), top = x.row(i).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
    if (X_error != nullptr) {
      const Eigen::Map<const Vector> e(X_error + i * k, k);
      sizes += e.sum();
      top += e.maxCoeff<Eigen::PropagateNaN>();
    }
    const bool fits = top < r.factor_largest && largest_ < r.factor_largest;
    for (Index j = 0; j < m; ++j) {
      const double by_length =
          row_length_(j) * ((1 + runtime) * off + both * length) + row_error_(j) * (length + off);
      double e = smaller(by_length, error(i, j));
      e = (e + both * std::abs(b_(j)) + (1 + runtime) * b_error_(j) +
           lost_of_terms(inputs(), row_sum_(j) + sizes, r)) *
              kUp +
          kTiny;
      if (!r.precise) y(i, j) += b_(j);
      e = (e + u * std::abs(y(i, j))) * kUp;  // it is stored
      error(i, j) = fits && std::isfinite(y(i, j)) && (r.exact() || e / both < r.largest) ? e : kInfinite;
    }
  }
}

void Product::of_columns(const double* X, const double* X_error, double length_error, Index columns,
                         const Rounding& r, double* Y, double* Y_error) const {
  const Index m = outputs(), k = inputs(), p = columns;
  const Eigen::Map<const RowMatrix> x(X, k, p);
  const auto [both, runtime] = roundings_of_terms(inputs(), r);
  if (r.precise) {
    std::vector<long double> sums;
    for (Index j = 0; j < m; ++j) {
      sums.assign(static_cast<std::size_t>(p), b_(j));
      for (Index t = 0; t < k; ++t) {
        const long double w = W_(j, t);
        for (Index i = 0; i < p; ++i) sums[static_cast<std::size_t>(i)] += w * X[t * p + i];
      }
      for (Index i = 0; i < p; ++i) Y[j * p + i] = static_cast<double>(sums[static_cast<std::size_t>(i)]);
    }
  } else {
    lapack::gemm('N', 'N', p, m, k, 1.0, X, p, W_.data(), k, 0.0, Y, p);
  }
  RowMatrix weight = both * x.cwiseAbs();
  if (X_error != nullptr) weight += (1 + runtime) * Eigen::Map<const RowMatrix>(X_error, k, p);
  lapack::gemm('N', 'N', p, m, k, 1.0, weight.data(), p, size_.data(), k, 0.0, Y_error, p);
  Eigen::RowVectorXd lengths = x.colwise().squaredNorm().cwiseSqrt() * kUp,
                     sizes = x.cwiseAbs().colwise().sum();
  for (Index i = 0; i < p; ++i)
    if (!(lengths(i) > 1e-140 && lengths(i) < 1e140))
      lengths(i) = sizes(i) == 0 ? 0 : kInfinite;  // squares may have vanished
  double top = x.size() == 0 ? 0 : x.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
  if (X_error != nullptr) {
    const Eigen::Map<const RowMatrix> e(X_error, k, p);
    sizes += e.colwise().sum();
    top += e.maxCoeff<Eigen::PropagateNaN>();
  }
  if (W_error_.size() > 0) {
    RowMatrix all = x.cwiseAbs();
    if (X_error != nullptr) all += Eigen::Map<const RowMatrix>(X_error, k, p);
    lapack::gemm('N', 'N', p, m, k, 1.0, all.data(), p, W_error_.data(), k, 1.0, Y_error, p);
  }
  const bool fits = top < r.factor_largest && largest_ < r.factor_largest;
  const double off = length_error;
  for (Index j = 0; j < m; ++j) {
    double* y = Y + j * p;
    double* error = Y_error + j * p;
    const double of_bias = both * std::abs(b_(j)) + (1 + runtime) * b_error_(j);
    for (Index i = 0; i < p; ++i) {
      const double by_length =
          row_length_(j) * ((1 + runtime) * off + both * lengths(i)) + row_error_(j) * (lengths(i) + off);
      if (!r.precise) y[i] += b_(j);
      const double e = (smaller(by_length, error[i]) + of_bias +
                        lost_of_terms(inputs(), row_sum_(j) + sizes(i), r) + u * std::abs(y[i])) *
                           kUp +
                       kTiny;
      error[i] = fits && std::isfinite(y[i]) && (r.exact() || e / both < r.largest) ? e : kInfinite;
    }
  }
}

}  // namespace zeroloss::internal::graph
