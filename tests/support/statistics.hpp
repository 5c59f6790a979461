#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

/// Statistics with the scale that a test compares them with. Seeds are fixed: a test either always passes or
/// never does.
namespace zeroloss::test {

/// A deviation of more than this many standard errors happens once in 10^7 true hypotheses.
constexpr double kSigmas = 5.3;

struct Estimate {
  double value = 0, standard_error = 0;
};

inline Estimate mean(const std::vector<double>& sample) {
  const auto n = static_cast<double>(sample.size());
  double sum = 0, squares = 0;
  for (const double x : sample) sum += x;
  for (const double x : sample) squares += (x - sum / n) * (x - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1) / n)};
}

/// Of two samples of the same length; the standard error is the one under independence.
inline Estimate correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = mean(a).value, mean_b = mean(b).value;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return {ab / std::sqrt(aa * bb), 1 / std::sqrt(static_cast<double>(a.size()))};
}

/// sqrt(n) times the Kolmogorov-Smirnov distance to a continuous distribution function. Its tail is 2 exp(-2
/// t^2).
template <class Cdf>
double kolmogorov_smirnov(std::vector<double> sample, Cdf cdf) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(sample[i]), rank = static_cast<double>(i);
    distance = std::max({distance, (rank + 1) / n - p, p - rank / n});
  }
  return std::sqrt(n) * distance;
}
constexpr double kKolmogorovLimit = 2.9;  // exceeded with probability 1e-7

/// Pearson's statistic of counts that should be equal, in standard deviations of its distribution.
inline double chi_square_sigmas(const std::vector<double>& counts) {
  double total = 0, statistic = 0;
  for (const double count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

}  // namespace zeroloss::test
