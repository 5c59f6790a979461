#pragma once
#include <vector>

#include "deep/jacobian.hpp"

/// A network of layers, as draw() makes them, in the arithmetic of T, float or double, its weights one behind
/// the other.
namespace zeroloss::internal {

template <class T>
class DeepEngine {
 public:
  using Numbers = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Flat = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  /// On points X, n x d, as the network is asked about them.
  DeepEngine(const DeepNetwork& network, const RowMatrix& X, Moving moving);

  Flat weights;  ///< W, b, U, bU of each layer, row after row, then V and c

  Index points() const { return h0_.rows(); }
  Index outputs() const { return network_.outputs(); }

  /// Outputs of all points, or of these rows, n x K. Cost: n times the weights, in multiply-adds.
  const Numbers& forward();
  const Numbers& forward(const std::vector<Index>& rows);

  const Numbers& f() const { return f_; }  ///< of the last forward()

  /// J^T R of the last forward(), R of its size: 0 where a weight does not move. Twice the cost.
  Flat gradient(const Numbers& R) const;

  /// J direction of the last forward(). Twice the cost.
  Numbers derivative(const Flat& direction) const;

  /// An upper bound, but for rounding, of ||J_i||^2 of every point of the last forward().
  Vector row_squares() const;

  /// Signs of all z of the last forward().
  std::vector<bool> signs() const;

  DeepNetwork network() const;  ///< with the weights as they are

 private:
  struct Place {  // in `weights`
    Index at = 0, rows = 0, columns = 0;
    Index size() const { return rows * columns; }
  };
  struct Places {
    Place W, b, U, bU;
  };
  struct Values {
    Numbers z, a, h;
  };
  using Map = Eigen::Map<const Rows<T>>;

  Map part(const Flat& flat, const Place& place) const {
    return {flat.data() + place.at, place.rows, place.columns};
  }
  const Numbers& input(std::size_t l) const { return l == 0 ? seen_ : values_[l - 1].h; }
  const Numbers& pass();

  // visit(l, u, g) of every layer that the derivative of sum R f goes through, from the last on.
  template <class Visit>
  void sweep(const Numbers& R, const Visit& visit) const;

  DeepNetwork network_;
  Moving moving_;
  std::vector<Places> places_;
  Place V_, c_;
  Numbers h0_, seen_;  // of all points, of those in work
  std::vector<Values> values_;
  Numbers f_;
};

}  // namespace zeroloss::internal
