#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// Which records are kept and what becomes of their labels: one meaning for points and for images.
namespace zeroloss::internal {

/// Throws std::invalid_argument, which begins with the name of the `function`, for an option out of its
/// range: n < 0, labels not "given", "random" or "noise:p" with p in [0, 1], seed >= 2^53.
void check_choice(const std::string& function, Index n, const std::string& labels, std::uint64_t seed);

/// Those records of `among` whose class is among `wanted`; `of` is the class of every record. DataError for
/// an unknown name.
std::vector<Index> records_of_classes(const std::string& source, const std::vector<Index>& of,
                                      const std::vector<std::string>& names,
                                      const std::vector<std::string>& wanted,
                                      const std::vector<Index>& among);

/// Keeps the first n records, or n random ones in random order; n = 0: all of them. DataError if there are
/// fewer (`classes` are those that were asked for).
void keep(std::vector<Index>& records, const std::string& source, Index n, bool shuffle, std::uint64_t seed,
          const std::vector<std::string>& classes);

/// Class numbers 0..classes-1: uniform ("random"), or each replaced by another one with probability p
/// ("noise:p"). Real targets (classes = 0): permuted, or each replaced by that of another point.
void treat_labels(Vector& y, Index classes, const std::string& labels, std::uint64_t seed);

}  // namespace zeroloss::internal
