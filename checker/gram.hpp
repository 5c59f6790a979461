#pragma once

// Inner products of all pairs of unit rows.

#include <functional>
#include <vector>

#include "ball.hpp"
#include "points.hpp"
#include "split.hpp"

namespace check {

class Gram {
 public:
  explicit Gram(const Points& points);

  // visit(i, j, rho) for all pairs i >= j (i > j only, unless `diagonal`), rho a ball about <x_i, x_j>. It
  // may keep nothing of rho. Pairs that are close to equal or antipodal have a rho of far more digits.
  void pairs(bool diagonal, const std::string& what,
             const std::function<void(std::size_t, std::size_t, const Ball&)>& visit);
  // <x_i, x_j> from the points themselves, as good as the precision of balls.
  // The same within rough_error(), in doubles, for all pairs i > j.
  void rough_pairs(const std::function<void(std::size_t, std::size_t, double)>& visit) const;
  double rough(std::size_t i, std::size_t j) const;
  double rough_error() const;
  Ball exact(std::size_t i, std::size_t j) const { return dot(points_.row(i), points_.row(j)); }

 private:
  const Points& points_;
  Grid grid_;
  std::size_t n_, d_;
  std::vector<double> head_, tail_;
  double off_ = 0;  // how far head + tail may be from a row
};

}  // namespace check
