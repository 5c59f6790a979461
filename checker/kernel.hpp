#pragma once

#include <memory>
#include <string>
#include <vector>

#include "activation.hpp"
#include "ball.hpp"
#include "folder.hpp"
#include "points.hpp"

namespace check {

// E[phi'(u) phi'(v)] and E[phi(u) phi(v)] as functions of the correlation. A series is cut: what is left out
// has no negative coefficient.
class Dual {
 public:
  explicit Dual(const Activation& activation);
  Ball hidden(const Ball& rho) const;
  Ball output(const Ball& rho) const;
  Ball hidden_at_one() const;  // all of it
  Ball output_at_one() const;
  // Of the power series of hidden and output, below `count`.
  Balls hidden_series(std::size_t count) const;
  Balls output_series(std::size_t count) const;
  bool cut() const { return !hidden_.c.empty(); }

 private:
  struct Series {
    Ball first;  // beside the powers 2k + parity
    std::size_t parity = 0;
    Balls c;                   // of the powers 2k + parity
    std::vector<double> rest;  // the sum of c from k on, rounded up
    Ball at(const Ball& rho) const;
    void finish();
    mutable Balls rounded;
    mutable slong bits = 0;
  };
  Activation activation_;
  Series hidden_, output_;
  Ball hidden_all_, output_all_;
  Ball slope_;  // c_0 of the derivative's series, where other powers are odd
};

// The kernel of a lambda_min claim as a function of rho.
class Kernel {
 public:
  Kernel(const Json& json, const std::string& where);
  ~Kernel();
  // Of the kernel, or of one that is smaller: the difference has no negative coefficient.
  Ball entry(const Ball& rho) const;
  Ball at_one() const;
  std::size_t depth() const { return layers_; }  // 0: not of layers
  // Those of the powers below `count`, of `entry`. Throws Open where they are not known.
  Balls coefficients(std::size_t count) const;
  // Not below what is left out at rho = 1, and so not below any entry of what is left out.
  double left_out() const;

 private:
  Ball layers(const Ball& rho, bool whole) const;

  std::string of_;
  std::unique_ptr<Dual> dual_;
  std::size_t exponent_ = 0;
  std::size_t layers_ = 0;
  bool residual_ = false;
  double branch_ = 1;
  std::string trained_ = "all";
};

// What is found where lambda_min of the kernel at these points is at least s; throws as claims do. With
// weights it is first tried by the tail from this power on (0: one that fits).
std::string expect_lambda_min(const Points& points, const Json& kernel, const std::string& where, double s,
                              const std::vector<double>* weights = nullptr, std::size_t power = 0);
// The same of the distances of points, up to sign, and of the angles.
std::string expect_separation(const Points& points, double at_least, double angle);

// Not above lambda_min of the kernel at points that may be too many for a matrix. power 0: one that fits.
double tail_bound(const Points& points, const Kernel& kernel, std::size_t power,
                  const std::vector<double>& weights);

}  // namespace check
