#pragma once
#include <boost/multiprecision/cpp_int.hpp>
#include <string>
#include <vector>

#include "zeroloss/linalg/center.hpp"

/// Points in exact arithmetic, up to their lengths.
namespace zeroloss::internal {

/// As long as need be; each operation gives a number, not an expression that refers to temporaries.
using Integer =
    boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;
using Integers = std::vector<Integer>;

/// The whole numbers without a common divisor that are a positive multiple of row i less the center. Two
/// points are equal once divided by their lengths exactly if these agree.
Integers direction(const RowMatrix& points, Index i, const Center& center);

/// They as text, for comparison; `sign` = -1 gives that of the opposite point.
std::string key(const Integers& direction, int sign = 1);

/// Of rows of integers, by elimination without fractions. Cost: rows^2 columns products of long numbers.
Index rank(std::vector<Integers> rows);

}  // namespace zeroloss::internal
