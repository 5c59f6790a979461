#pragma once
#include <string>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/linalg/center.hpp"

/// Columns of one scale, without a rounding: what is proved of the points is proved of the table.
namespace zeroloss {

/// x -> (scale x, bias) - origin. Scales are powers of two and the origin has twice the digits of a double,
/// so that the point is known exactly: different rows stay different.
struct Standardization {
  Vector scale{};   ///< d powers of two; empty: ones
  Center origin{};  ///< as many numbers as the result has, 0 for the constant; empty: nothing is subtracted
  double bias = 0;  ///< the constant that is appended; 0: none
  std::string how = "no";  ///< as it was asked for: no | yes | robust | min-max
  double lengths = 0;      ///< what `bias` is in root mean square lengths
  bool automatic = false;  ///< nobody asked: points that are not to be normalised are taken as they are

  bool empty() const { return scale.size() == 0 && origin.empty() && bias == 0; }
  /// Numbers of a point of `d` numbers.
  Index d(Index d) const { return d + (bias != 0 ? 1 : 0); }
};
template <Is<Standardization> T, class Visitor>
void fields(T& s, const Visitor& visit) {
  visit(Field{"how", "no, yes, robust or min-max."}, s.how);
  visit(Field{"scale", "Of each feature, a power of two."}, s.scale);
  visit(Field{"origin", "What is subtracted then."}, s.origin);
  visit(Field{"bias", "The constant that is appended; 0: none."}, s.bias);
}

/// For these points:
/// no       scales and origin as they are;
/// yes      divided by the power of two next to the standard deviation, less the mean;
/// robust   by that next to the interquartile range over 1.349, less the median;
/// min-max  by the power of two from the range up, less the least.
/// A constant column has the scale 1, as has one whose numbers would not all be kept exactly. `bias` times
/// the root mean square of the lengths is appended, or `bias` where that is 0. Throws std::invalid_argument
/// for another `how` or a bias that is negative or not finite.
Standardization standardization(const RowMatrix& X, const std::string& how, double bias);

/// (scale x, bias) of every row: exact.
RowMatrix scaled(const RowMatrix& X, const Standardization& standardization);

}  // namespace zeroloss
