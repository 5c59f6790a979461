#include "zeroloss/data/standardize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace zeroloss {
namespace {

/// Of the numbers of a column, sorted: the one below which a share of them lies.
double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// The standard deviation; scaled first, so that squares stay in range.
double deviation(const Eigen::Ref<const Vector>& x) {
  const double largest = x.cwiseAbs().maxCoeff();
  if (largest == 0 || (x.array() == x(0)).all()) return 0;
  const Vector small = x / largest;
  return largest * std::sqrt((small.array() - small.mean()).square().mean());
}

double spread(const Vector& column, const std::vector<double>& sorted, const std::string& how) {
  if (how == "min-max") return sorted.back() / 2 - sorted.front() / 2;  // half of it: no overflow
  const double middle = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.349;
  return how == "robust" && middle > 0 && std::isfinite(middle) ? middle : deviation(column);
}

/// A power of two by which all numbers can be multiplied without a rounding.
double power_for(const Vector& column, double spread, bool up) {
  if (!(spread > 0) || !std::isfinite(spread)) return 1;
  const double exponent = std::log2(spread) + (up ? 1 : 0);  // min-max: `spread` is half of the range
  const double power = std::ldexp(1.0, -static_cast<int>(up ? std::ceil(exponent) : std::round(exponent)));
  const auto kept = [&](double x) { return std::isfinite(x * power) && x * power / power == x; };
  return std::isnormal(power) && std::ranges::all_of(column, kept) ? power : 1;
}

}  // namespace

Standardization standardization(const RowMatrix& X, const std::string& how, double bias) {
  if (how != "no" && how != "yes" && how != "robust" && how != "min-max")
    throw std::invalid_argument(
        fmt::format("read_dataset: standardize must be auto, no, yes, robust or min-max; got '{}'", how));
  if (!(bias >= 0) || !std::isfinite(bias))
    throw std::invalid_argument(fmt::format("read_dataset: bias must be >= 0; got {}", bias));
  Standardization made;
  made.how = how;
  made.lengths = bias;
  const Index d = X.cols();
  Vector origin = Vector::Zero(d);
  if (how != "no") {
    made.scale = Vector::Ones(d);
    for (Index j = 0; j < d; ++j) {
      const Vector column = X.col(j);
      std::vector<double> sorted(column.begin(), column.end());
      std::ranges::sort(sorted);
      made.scale(j) = power_for(column, spread(column, sorted, how), how == "min-max");
      origin(j) = made.scale(j) * (how == "robust" ? quantile(sorted, 0.5) : sorted.front());
    }
    made.origin = how == "yes" ? mean_point(scaled(X, made)) : Center{origin, Vector::Zero(d)};
  }
  if (bias == 0) return made;
  const RowMatrix Z = scaled(X, made);
  double squares = 0;
  for (Index i = 0; i < Z.rows(); ++i)
    squares += (made.origin.empty() ? Vector(Z.row(i)) : Vector(Z.row(i).transpose() - made.origin.high))
                   .squaredNorm();
  const double length = std::sqrt(squares / static_cast<double>(Z.rows()));
  made.bias = std::isfinite(length) && length > 0 ? bias * length : bias;
  if (!made.origin.empty()) {
    made.origin.high.conservativeResize(d + 1);
    made.origin.low.conservativeResize(d + 1);
    made.origin.high(d) = made.origin.low(d) = 0;
  }
  return made;
}

RowMatrix scaled(const RowMatrix& X, const Standardization& s) {
  RowMatrix Z(X.rows(), s.d(X.cols()));
  Z.leftCols(X.cols()) = X;
  if (s.scale.size() > 0) Z.leftCols(X.cols()).array().rowwise() *= s.scale.transpose().array();
  if (s.bias != 0) Z.col(X.cols()).setConstant(s.bias);
  return Z;
}

}  // namespace zeroloss
