#include "audit/checked.hpp"

#include <algorithm>
#include <cmath>
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
constexpr double kHalved = 2.241402728;  // 98.75 %, for two of them
constexpr double kSurprises = 10;  // labels that differ from what is more likely: below, their number counts

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

/// Wilson's interval of a share: `wrong` of `count`, z standard deviations wide each way.
std::pair<double, double> wilson(double wrong, double count, double z) {
  const double share = wrong / count, z2 = z * z;
  const double middle = (share + z2 / (2 * count)) / (1 + z2 / count);
  const double half =
      z / (1 + z2 / count) * std::sqrt(share * (1 - share) / count + z2 / (4 * count * count));
  return {middle - half, middle + half};
}

/// The mean of P(wrong) over all, and of what the checked ones differ from theirs.
Estimate rate_of(const Vector& wrong, const CheckedSamples& checked) {
  const auto m = static_cast<double>(checked.positions.size()), n = static_cast<double>(wrong.size());
  double count = 0, mean = 0, squares = 0, more = 0, less = 0, rest = 0, rest_squares = 0;
  for (std::size_t k = 0; k < checked.positions.size(); ++k) {
    const double off = (checked.wrong[k] ? 1.0 : 0.0) - wrong(checked.positions[k]);
    count += checked.wrong[k] ? 1 : 0;
    mean += off / m;
    squares += off * off;
    if (std::abs(off) > 0.5) {
      (off > 0 ? more : less) += 1;
    } else {
      rest += off / m;
      rest_squares += off * off;
    }
  }
  Estimate rate{wrong.mean() + mean, 0, 0};
  if (m < kFew || std::min(count, m - count) < kRare) {
    std::tie(rate.low, rate.high) = wilson(count, m, kNormal);
  } else if (more + less >= kSurprises) {
    const double half = student(m - 3) * std::sqrt((squares - m * mean * mean) / (m - 1) / m * (1 - m / n));
    rate.low = rate.value - half, rate.high = rate.value + half;
  } else {
    // Few were surprises, whose number says more of how far the mean may be off than their variance.
    const auto [more_low, more_high] = wilson(more, m, kHalved);
    const auto [less_low, less_high] = wilson(less, m, kHalved);
    const double around = kHalved * std::sqrt(rest_squares / m / m);
    rate.low = wrong.mean() + rest + more_low / 2 - less_high - around;
    rate.high = wrong.mean() + rest + more_high - less_low / 2 + around;
  }
  return rate;
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

  made.rate = rate_of(made.wrong, checked);
  const auto m = static_cast<double>(x.size()), n = static_cast<double>(right.size());
  const auto count = static_cast<double>(std::ranges::count(checked.wrong, true));
  // Of all labels at least those are wrong that were found to be, and at most all but those found right.
  for (double* part : {&made.rate.low, &made.rate.value, &made.rate.high})
    *part = std::clamp(*part, count / n, (n - m + count) / n);
  made.rate.low = std::min(made.rate.low, made.rate.value);
  made.rate.high = std::max(made.rate.high, made.rate.value);
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
    Random random(0, Stream::supposed, static_cast<std::uint64_t>(draw));
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
