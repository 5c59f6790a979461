#include "audit/checked.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "linalg/rounding.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kFarthest = 8;    // log odds that are told apart
constexpr double kShift = 4;       // variance of the prior of a shift of log odds
constexpr double kStretch = 0.25;  // that of the logarithm of their stretch
constexpr Index kFew = 50;         // checked samples, and
constexpr double kRare = 10;       // right or wrong ones of them: below, the interval is that of their share
constexpr int kDraws = 20;         // of labels, for expected_length
constexpr double kNormal = 1.959963985;  // 97.5 % of N(0, 1)

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

/// log odds that the label is wrong.
double odds(double right) {
  const double least = sigma(-kFarthest);
  const double p = std::clamp(right, least, 1 - least);
  return std::log1p(-p) - std::log(p);
}

/// P(wrong) = sigma(shift + stretch x): the shift that is likeliest for this stretch, and how likely both
/// are.
struct Shifted {
  double shift = 0, log_posterior = 0;
};
Shifted shifted(const std::vector<double>& x, const std::vector<bool>& wrong, double stretch) {
  Shifted best;
  for (int step = 0; step < 60; ++step) {  // Newton's, of a concave function
    double slope = -best.shift / kShift, bend = -1 / kShift;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double p = sigma(best.shift + stretch * x[k]);
      slope += (wrong[k] ? 1.0 : 0.0) - p;
      bend -= p * (1 - p);
    }
    const double move = std::clamp(-slope / bend, -2.0, 2.0);
    best.shift += move;
    if (std::abs(move) < 1e-10) break;
  }
  best.log_posterior =
      -best.shift * best.shift / (2 * kShift) - std::log(stretch) * std::log(stretch) / (2 * kStretch);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double z = best.shift + stretch * x[k];
    best.log_posterior -= std::log1p(std::exp(wrong[k] ? -z : z));
  }
  return best;
}

/// Student's t, 97.5 %, by its expansion in 1/degrees; within 1e-4 from 10 degrees on.
double student(double degrees) {
  const double z = kNormal, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, f = degrees;
  return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f);
}

/// Wilson's interval of a share: `wrong` of `count`.
std::pair<double, double> wilson(double wrong, double count) {
  const double share = wrong / count, z2 = kNormal * kNormal;
  const double middle = (share + z2 / (2 * count)) / (1 + z2 / count);
  const double half =
      kNormal / (1 + z2 / count) * std::sqrt(share * (1 - share) / count + z2 / (4 * count * count));
  return {middle - half, middle + half};
}

/// The first `result` of these ranks, ascending and of m samples, are named: p = rank/(trusted + 1).
Index named(const std::vector<Index>& ranks, Index trusted, double most) {
  const auto m = static_cast<double>(ranks.size());
  for (auto k = std::ssize(ranks); k > 0; --k)
    if (static_cast<double>(ranks[static_cast<std::size_t>(k - 1)]) * m <=
        most * static_cast<double>(k) * static_cast<double>(trusted + 1) * (1 - 8 * u))
      return k;
  return 0;
}

/// Of those in `some`, in ascending order of what speaks for their labels, 1 + how many of `trusted`,
/// ascending, have as little.
std::vector<Index> ranks_of(const std::vector<double>& some, const std::vector<double>& trusted) {
  std::vector<Index> ranks;
  ranks.reserve(some.size());
  for (const double x : some)
    ranks.push_back(1 + (std::upper_bound(trusted.begin(), trusted.end(), x) - trusted.begin()));
  return ranks;
}

}  // namespace

Recalibrated recalibrate(const Vector& right, const CheckedSamples& checked) {
  std::vector<double> x;
  for (const Index at : checked.positions) x.push_back(odds(right(at)));
  double stretch = 1;
  Shifted best = shifted(x, checked.wrong, stretch);
  for (double stride = 0.4; stride > 1e-4; stride /= 2)
    for (const double sign : {1.0, -1.0})
      for (bool better = true; better;) {
        const double other = stretch * std::exp(sign * stride);
        const Shifted there = shifted(x, checked.wrong, other);
        better = there.log_posterior > best.log_posterior;
        if (better) stretch = other, best = there;
      }
  Recalibrated made{Vector(right.size()), {}};
  for (Index i = 0; i < right.size(); ++i) made.wrong(i) = sigma(best.shift + stretch * odds(right(i)));

  // The mean of all, and of what the checked ones differ from theirs.
  const auto m = static_cast<double>(x.size()), n = static_cast<double>(right.size());
  double mean = 0, squares = 0, count = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    count += checked.wrong[k] ? 1 : 0;
    mean += ((checked.wrong[k] ? 1.0 : 0.0) - made.wrong(checked.positions[k])) / m;
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double off = (checked.wrong[k] ? 1.0 : 0.0) - made.wrong(checked.positions[k]) - mean;
    squares += off * off;
  }
  made.rate.value = std::clamp(made.wrong.mean() + mean, 0.0, 1.0);
  if (std::ssize(x) < kFew || std::min(count, m - count) < kRare) {
    std::tie(made.rate.low, made.rate.high) = wilson(count, m);
  } else {
    const double half = student(m - 3) * std::sqrt(squares / (m - 1) / m * (1 - m / n));
    made.rate.low = made.rate.value - half, made.rate.high = made.rate.value + half;
  }
  // Of all labels at least those are wrong that were found to be, and at most all but those found right.
  made.rate.low = std::clamp(made.rate.low, count / n, 1.0);
  made.rate.high = std::clamp(made.rate.high, 0.0, (n - m + count) / n);
  made.rate.value = std::clamp(made.rate.value, made.rate.low, std::max(made.rate.low, made.rate.high));
  return made;
}

std::vector<Index> guaranteed(const Vector& right, const CheckedSamples& checked, double most) {
  std::vector<bool> looked_at(static_cast<std::size_t>(right.size()));
  std::vector<double> trusted;
  for (std::size_t k = 0; k < checked.positions.size(); ++k) {
    looked_at[static_cast<std::size_t>(checked.positions[k])] = true;
    if (!checked.wrong[k]) trusted.push_back(right(checked.positions[k]));
  }
  std::ranges::sort(trusted);
  std::vector<Index> others;
  for (Index i = 0; i < right.size(); ++i)
    if (!looked_at[static_cast<std::size_t>(i)]) others.push_back(i);
  std::ranges::stable_sort(others, {}, [&](Index i) { return right(i); });
  std::vector<double> values;
  for (const Index i : others) values.push_back(right(i));
  others.resize(static_cast<std::size_t>(named(ranks_of(values, trusted), std::ssize(trusted), most)));
  return others;
}

double expected_length(const Vector& right, const Vector& wrong, Index checked, double most) {
  const Index n = right.size();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&](Index i) { return right(i); });
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    Random random(0, Stream::labels, static_cast<std::uint64_t>(draw));
    std::vector<bool> looked_at(static_cast<std::size_t>(n));
    for (const Index i : draw_samples(n, checked, static_cast<std::uint64_t>(draw)))
      looked_at[static_cast<std::size_t>(i)] = true;
    std::vector<double> trusted, others;
    for (const Index i : order) {
      const bool is_wrong = random.uniform() < wrong(i);
      if (!looked_at[static_cast<std::size_t>(i)])
        others.push_back(right(i));
      else if (!is_wrong)
        trusted.push_back(right(i));
    }
    sum += static_cast<double>(named(ranks_of(others, trusted), std::ssize(trusted), most));
  }
  return sum / kDraws;
}

}  // namespace zeroloss::internal
