#pragma once

#include <memory>
#include <string>
#include <vector>

#include "activation.hpp"
#include "ball.hpp"
#include "folder.hpp"

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

}  // namespace check
