#include "deep/affine.hpp"

#include <algorithm>
#include <cmath>

namespace zeroloss::internal {

bool power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

void Affine::add(Stored<Vector> v) {
  settle(v.values.size());
  if (b.values.size() == 0) {
    b = std::move(v);
    return;
  }
  b.values += v.values;
  b.place = {};
  folded = rounded = true;
}

void Affine::multiply(const Vector& v) {
  const bool exact = std::all_of(v.begin(), v.end(), power_of_two);
  if ((v.array() == v(0)).all()) {
    rounded = rounded || (times != 1 && !exact && !power_of_two(times));
    times *= v(0);
    return;
  }
  folded = true;
  rounded = rounded || !exact;
  if (mapped()) {
    W.values = v.asDiagonal() * W.values;
    W.place = {};
  } else {
    diagonal = diagonal.size() == 0 ? v : Vector(diagonal.cwiseProduct(v));
  }
  if (b.values.size() > 0) {
    b.values = b.values.cwiseProduct(v);
    b.place = {};
  }
}

void Affine::settle(Index size) {
  if (times == 1) return;
  folded = true;
  rounded = rounded || !power_of_two(times);
  if (mapped()) {
    W.values *= times;
    W.place = {};
  } else {
    diagonal = diagonal.size() > 0 ? Vector(diagonal * times) : Vector(Vector::Constant(size, times));
  }
  b.values *= times;
  b.place = {};
  times = 1;
}

void Affine::map(Stored<RowMatrix> M) {
  Stored<Vector> moved;
  if (b.values.size() > 0) {
    moved.values = M.values * b.values * times;
    folded = rounded = true;
  }
  if (diagonal.size() > 0) {
    M.values = M.values * diagonal.asDiagonal();
    M.place = {};
    folded = true;
    rounded = rounded || !std::all_of(diagonal.begin(), diagonal.end(), power_of_two);
  }
  if (times != 1) {
    M.values *= times;
    M.place = {};
    folded = true;
    rounded = rounded || !power_of_two(times);
  }
  W = std::move(M);
  diagonal.resize(0);
  b = std::move(moved);
  times = 1;
}

}  // namespace zeroloss::internal
