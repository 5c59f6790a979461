#pragma once
#include <vector>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// Q in SO(d) as plane rotations: Q = S blockdiag(T(theta_1), T(theta_2), .., I) S^T with S orthogonal and
/// T(t) = [cos t, -sin t; sin t, cos t]. From the real Schur form, which for a normal matrix is block
/// diagonal up to rounding; real eigenvalues -1 come in an even number and are paired to T(pi).
class Rotation {
 public:
  /// `Q` is orthogonal to rounding and has det +1.
  explicit Rotation(const Matrix& Q);

  enum class Planes { all, turning, reversing };  ///< reversing: the pairs of -1; turning: the others

  double angle() const { return angle_; }  ///< largest |theta|, 0 if below 16 d u: then Q is I

  /// Q^(1/q) - I on those planes, 0 on the others; its norm is 2 sin(angle/(2 q)). O(d^3).
  Matrix root(Index q, Planes planes = Planes::all) const;

 private:
  struct Plane {
    Index first, second;  // columns of S
    double theta;
    bool reversing;
  };
  Matrix S_;
  std::vector<Plane> planes_;
  double angle_ = 0;
};

}  // namespace zeroloss::internal
