#pragma once

// The smallest eigenvalue of a symmetric matrix that is known up to an error.

#include <optional>
#include <string>
#include <vector>

#include "ball.hpp"

namespace check {

// A symmetric matrix of doubles. The true one differs from it by at most `error` in the Frobenius norm.
class Symmetric {
 public:
  explicit Symmetric(std::size_t n);

  std::size_t size() const { return n_; }
  // An entry, i >= j, with the bound of what it may be off by.
  void set(std::size_t i, std::size_t j, double value, double off) {
    (i == j ? diagonal_[i] : a_[j * n_ + i]) = value;
    squares_ += (i == j ? 1 : 2) * off * off;
  }
  double get(std::size_t i, std::size_t j) const {
    return i == j ? diagonal_[i] : i > j ? a_[j * n_ + i] : a_[i * n_ + j];
  }
  // Of all entries, beside what `set` was told.
  void add_error(double frobenius) { more_ += frobenius; }
  double error() const;
  double trace() const;
  double largest_diagonal() const;

  // Factors sign A + shift I. False where a pivot is not positive.
  bool factor(double sign, double shift);
  // After factor: the least eigenvalue of sign A + shift I is not below minus this.
  double loss() const;
  // After factor: x becomes the solution of (sign A + shift I) x = b, computed.
  void solve(std::vector<double>& x) const;
  // x^T A x/x^T x, with the error of A.
  Ball rayleigh(const std::vector<double>& x) const;

 private:
  std::size_t n_;
  std::vector<double> a_;  // above the diagonal A, below it and on it the factor
  std::vector<double> diagonal_;
  double squares_ = 0;
  double more_ = 0;
  double sign_ = 1;
  double shift_ = 0;
};

// What is known of the least eigenvalue: not below `lower` (-inf: nothing), not above `upper`.
struct Least {
  double lower, upper;
};
// Whether sign A has no eigenvalue below s: `lower` >= s proves it, `upper` < s disproves it.
Least least_eigenvalue(Symmetric& a, double sign, double s);

}  // namespace check
