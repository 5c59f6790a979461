#include "audit/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {

Vector drawn(Index n, std::uint64_t seed, Index index) {
  Random random(seed, Stream::probes, static_cast<std::uint64_t>(index));
  Vector weights = Vector::Zero(n);
  for (Index k = 0; k < n; ++k) weights(static_cast<Index>(random.below(static_cast<std::uint64_t>(n)))) += 1;
  return weights;
}

Index draws_for(Index n, Index c, Index asked) {
  return std::min(asked, std::max<Index>(20, 4'000'000 / (n * c)));
}

Estimate interval(double value, const std::vector<double>& sample, double most) {
  const auto size = static_cast<double>(sample.size());
  const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / size;
  double squares = 0;
  for (double s : sample) squares += (s - mean) * (s - mean);
  const double half = 1.96 * std::sqrt(squares / (size - 1));
  return {value, std::max(0.0, value - half), std::min(most, value + half)};
}

double unseen(Index n) { return -std::expm1(std::log(0.05) / static_cast<double>(n)); }

}  // namespace zeroloss::internal
