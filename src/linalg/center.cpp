#include "zeroloss/linalg/center.hpp"

#include <cmath>

namespace zeroloss {

MeanPoint::MeanPoint(Index d) : sums_(static_cast<std::size_t>(d)) {}

// By Knuth's TwoSum. The sum of n losses is itself off by n^3 2^-129 of the largest term at most.
void MeanPoint::add(const RowMatrix& X) {
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < X.cols(); ++j) {
      auto& [high, low] = sums_[static_cast<std::size_t>(j)];
      const long double x = X(i, j), sum = high + x, of_x = sum - high;
      low += (high - (sum - of_x)) + (x - of_x);
      high = sum;
    }
  n_ += X.rows();
}

Center MeanPoint::mean() const {
  const auto n = static_cast<long double>(n_);
  const auto d = std::ssize(sums_);
  Center mean{Vector(d), Vector(d)};
  for (Index j = 0; j < d; ++j) {
    const auto& [sum, lost] = sums_[static_cast<std::size_t>(j)];
    const auto first = static_cast<double>((sum + lost) / n);
    const auto rest = static_cast<double>((std::fma(-n, static_cast<long double>(first), sum) + lost) / n);
    const double high = first + rest, part = high - first;  // TwoSum again: high + low is first + rest
    mean.high(j) = high;
    mean.low(j) = (first - (high - part)) + (rest - part);
  }
  return mean;
}

Center mean_point(const RowMatrix& X) {
  MeanPoint mean(X.cols());
  mean.add(X);
  return mean.mean();
}

}  // namespace zeroloss
