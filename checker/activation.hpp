#pragma once

#include <string>

#include "ball.hpp"
#include "folder.hpp"

namespace check {

struct Smooth;

// An activation in balls. A kink is at 0, where the derivative is that of the right.
class Activation {
 public:
  explicit Activation(const Json& json, const std::string& where);

  const std::string& name() const { return name_; }  // "leak" for z and a z
  bool kinked() const { return smooth_ == nullptr; }
  double slope() const { return slope_; }  // a

  Ball value(const Ball& z) const;
  // Where z may be on either side of a kink: the ball of both slopes.
  Ball derivative(const Ball& z) const;
  Ball most_slope() const;      // sup |phi'|; not finite for z^2/2
  Ball most_curvature() const;  // sup |phi''| beside a kink

 private:
  std::string name_;
  const Smooth* smooth_ = nullptr;
  double slope_ = 0;
};

}  // namespace check
