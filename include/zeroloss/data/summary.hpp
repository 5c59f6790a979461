#pragma once
#include <vector>

#include "zeroloss/data/dataset.hpp"

namespace zeroloss {

/// What to know about data before training on it.
struct Summary {
  double least = 0, greatest = 0;                ///< entry of X
  double target_least = 0, target_greatest = 0;  ///< regression targets; 0 otherwise
  std::vector<Index> class_counts{};             ///< points of each class; empty unless classification
  std::vector<Index> constant_columns{};         ///< features with one value
  std::vector<Index> zero_rows{};                ///< records of points that are zero
  Index duplicates = 0;                          ///< points equal, entry by entry, to an earlier point
  Index conflicts = 0;  ///< of these, points whose target differs from that of the earliest equal point
};

/// One pass and a sort: O(n d + n log n d).
Summary summarize(const Dataset& data);

/// The error of who guesses: the share of points that are not of the most frequent class; 1, in units of the
/// targets' spread, for who guesses the mean of numbers.
double guessing_error(const Dataset& data);

}  // namespace zeroloss
