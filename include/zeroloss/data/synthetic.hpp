#pragma once
#include <cstdint>
#include <string>

#include "zeroloss/data/readers.hpp"

namespace zeroloss {

/// Generated points: "sphere:n=..,d=..[,y=normal|sign|none][,seed=..]", n points uniform on the unit sphere
/// of R^d. y: normal = independent N(0, 1) (the default; regression); sign = classes "-1" and "1" with equal
/// probability. A seed in the text wins over `seed`; both lie in [0, 2^53). The points are prefix-stable: n =
/// 100 gives the first 100 of n = 200. The digest is the SHA-256 of the doubles of X, then y. Throws
/// std::invalid_argument, showing the form, for anything else; ResourceError if the points do not fit into
/// memory.
Source generate(const std::string& text, std::uint64_t seed);

}  // namespace zeroloss
