#pragma once
#include <cstdint>
#include <vector>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/matrix.hpp"

/// What labels and numbers share: intervals from samples drawn anew (bootstrap), and the least rate.
namespace zeroloss::internal {

constexpr double kLeastRate = 0.01;  ///< of wrong labels, that probabilities are made with

/// How often each of n samples is drawn in n draws.
Vector drawn(Index n, std::uint64_t seed, Index index);

/// Fewer than asked for many samples, whose intervals are narrow anyway.
Index draws_for(Index n, Index c, Index asked);

/// value -+ 1.96 standard deviations of the sample, in [0, most].
Estimate interval(double value, const std::vector<double>& sample, double most);

/// The rate that n samples without a wrong label leave possible, with 95 %.
double unseen(Index n);

}  // namespace zeroloss::internal
