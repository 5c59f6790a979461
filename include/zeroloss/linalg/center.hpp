#pragma once
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"

namespace zeroloss {

/// A point that is subtracted from others: high + low, exactly, where high is that sum rounded to double. A
/// mean so stored has twice the digits of a double, so that points far from the origin keep those that tell
/// them apart.
struct Center {
  Vector high, low;  ///< d numbers each; none where nothing is subtracted
  bool empty() const { return high.size() == 0; }
};
template <Is<Center> T, class Visitor>
void fields(T& c, const Visitor& visit) {
  visit(Field{"high"}, c.high);
  visit(Field{"low"}, c.low);
}

/// The mean of rows that come one part after the other.
class MeanPoint {
 public:
  explicit MeanPoint(Index d);
  void add(const RowMatrix& X);  ///< rows of d numbers
  Center mean() const;           ///< of one row at least; as mean_point()

 private:
  struct LongSum {  ///< a sum and what its additions lost
    long double high = 0, low = 0;
  };
  std::vector<LongSum> sums_;
  Index n_ = 0;
};

/// The mean of the rows, within (n^2 2^-129 + 2^-105) of the largest |x_ij| of a column.
Center mean_point(const RowMatrix& X);

}  // namespace zeroloss
