#pragma once
#include <string>
#include <vector>

#include "kernel/distances.hpp"
#include "zeroloss/kernel/separation.hpp"

/// The closest pairs of unit rows up to sign, as a pass over their inner products finds them.
namespace zeroloss::internal {

/// Bound of |fl(<x, y>) - exact| in double precision, x and y rows of d numbers within unit_row_error of the
/// unit vectors that the exact product is of: any order of summation, and underflow.
double product_error(double d);

/// Proven lower bound of ||x -+ y|| for the unit vectors, from distances() of the rows.
double distance_bound(double measured, double d);

/// Gathers the 16 closest pairs. One a thread, then together: the result does not depend on their number.
class Closest {
 public:
  /// |rho| from which on a pair may belong to the closest.
  double bar() const;
  /// rows i > j at a distance up to sign
  void offer(double distance, Index i, Index j);
  /// the same for a pair with 1 - |rho| <= kNear, whose distance was measured on the vectors
  void offer_near(double distance, Index i, Index j);
  void add(const Closest& other);

  /// For another process of the same program.
  std::string bytes() const;
  static Closest of_bytes(const std::string& bytes);

  Index near_pairs() const { return near_pairs_; }
  /// Nearest first, measured on the rows.
  template <class T>
  std::vector<Pair> pairs(const Rows<T>& X) const;
  /// The rows that pairs() looks at, ascending; and the same from these alone.
  std::vector<Index> ends() const;
  std::vector<Pair> pairs(const RowMatrix& X, const std::vector<Index>& ends) const;

 private:
  template <class Row>
  std::vector<Pair> measured(Index d, const Row& row) const;
  struct Candidate {
    double distance;
    Index i, j;
    bool operator<(const Candidate& other) const;
  };
  std::vector<Candidate> heap_;  // the farthest on top
  Index near_pairs_ = 0;
};

extern template std::vector<Pair> Closest::pairs(const Rows<double>&) const;
extern template std::vector<Pair> Closest::pairs(const Rows<float>&) const;

/// Proven lower bound of the least distance up to sign of rows of d numbers; infinite where there is no pair.
double separation_bound(const std::vector<Pair>& closest, Index near_pairs, double d);

}  // namespace zeroloss::internal
