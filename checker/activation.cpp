#include "activation.hpp"

#include <array>

#include "verdict.hpp"

namespace check {
namespace {

const double kLeakyRelu = 0x1.47ae147ae147bp-7;

Ball sigmoid(const Ball& z) { return Ball(1) / (Ball(1) + exp(-z)); }

Ball root_two_pi() { return sqrt(Ball(2) * Ball::pi()); }

Ball normal(const Ball& z) { return exp(-(z * z) / Ball(2)) / root_two_pi(); }

Ball normal_cdf(const Ball& z) { return erfc(-z / sqrt(Ball(2))) / Ball(2); }

Ball hull(const Ball& x, const Ball& y) {
  return Ball::make([&](arb_t z) { arb_union(z, x.get(), y.get(), precision); });
}

}  // namespace

Activation::Activation(const Json& json, const std::string& where) {
  if (json.is_object()) {
    const Object o(json, where + ": activation", {"leak"});
    name_ = "leak";
    slope_ = o.number("leak");
    return;
  }
  if (!json.is_string()) {
    throw Unreadable(where + ": activation is neither a name nor a leak");
  }
  name_ = json.get<std::string>();
  if (name_ == "relu" || name_ == "leaky_relu") {
    slope_ = name_ == "relu" ? 0 : kLeakyRelu;
    name_ = "leak";
    return;
  }
  for (const char* known :
       {"quadratic", "erf", "sin", "tanh", "sigmoid", "softplus", "gelu", "silu", "identity"}) {
    if (name_ == known) {
      return;
    }
  }
  throw Open("the activation " + name_ + " is not known");
}

Ball Activation::value(const Ball& z) const {
  if (name_ == "leak") {
    if (z >= 0) {
      return z;
    }
    const Ball below = Ball(slope_) * z;
    if (z < 0) {
      return below;
    }
    if (slope_ <= 1 && slope_ >= 0) {
      return max(z, below);
    }
    return hull(z, hull(below, 0));
  }
  if (name_ == "quadratic") {
    return square(z) / Ball(2);
  }
  if (name_ == "erf") {
    return erf(z);
  }
  if (name_ == "sin") {
    return sin(z);
  }
  if (name_ == "tanh") {
    return tanh(z);
  }
  if (name_ == "sigmoid") {
    return sigmoid(z);
  }
  if (name_ == "softplus") {
    return log1p(exp(z));
  }
  if (name_ == "gelu") {
    return z * normal_cdf(z);
  }
  if (name_ == "silu") {
    return z * sigmoid(z);
  }
  return z;
}

Ball Activation::derivative(const Ball& z) const {
  if (name_ == "leak") {
    return z >= 0 ? Ball(1) : z < 0 ? Ball(slope_) : hull(Ball(1), Ball(slope_));
  }
  if (name_ == "quadratic") {
    return z;
  }
  if (name_ == "erf") {
    return Ball(2) * exp(-square(z)) / sqrt(Ball::pi());
  }
  if (name_ == "sin") {
    return cos(z);
  }
  if (name_ == "tanh") {
    return Ball(1) / square(cosh(z));
  }
  if (name_ == "sigmoid") {
    return sigmoid(z) * sigmoid(-z);
  }
  if (name_ == "softplus") {
    return sigmoid(z);
  }
  if (name_ == "gelu") {
    return normal_cdf(z) + z * normal(z);
  }
  if (name_ == "silu") {
    return sigmoid(z) * (Ball(1) + z * sigmoid(-z));
  }
  return 1;
}

Ball Activation::most_slope() const {
  if (name_ == "leak") {
    return std::max(1.0, std::fabs(slope_));
  }
  if (name_ == "quadratic") {
    return Ball::make([](arb_t z) { arb_zero_pm_inf(z); });
  }
  if (name_ == "erf") {
    return Ball(2) / sqrt(Ball::pi());
  }
  if (name_ == "sigmoid") {
    return 0.25;
  }
  if (name_ == "gelu") {  // where phi'' = (2 - z^2) normal(z) is 0
    return derivative(sqrt(Ball(2)));
  }
  if (name_ == "silu") {
    return 1.09984;  // 1.0998393.. at 2.3994
  }
  return 1;
}

Ball Activation::most_curvature() const {
  if (name_ == "leak" || name_ == "identity") {
    return 0;
  }
  if (name_ == "erf") {  // (4/sqrt(pi)) |z| exp(-z^2) at 1/sqrt(2)
    return Ball(4) / sqrt(Ball::pi()) * sqrt(Ball(0.5)) * exp(Ball(-0.5));
  }
  if (name_ == "tanh") {
    return Ball(4) / sqrt(Ball(27));
  }
  if (name_ == "sigmoid") {
    return Ball(1) / sqrt(Ball(108));
  }
  if (name_ == "softplus") {
    return 0.25;
  }
  if (name_ == "gelu") {  // (2 - z^2) normal(z) at 0
    return Ball(2) / root_two_pi();
  }
  if (name_ == "silu") {
    return 0.5;
  }
  return 1;  // quadratic, sin
}

}  // namespace check
