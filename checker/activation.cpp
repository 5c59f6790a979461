#include "activation.hpp"

#include "verdict.hpp"

namespace check {

// What is known of a smooth activation; most_slope() is sup |phi'|, and most_curvature() sup |phi''|.
struct Smooth {
  const char* name;
  Ball (*value)(const Ball&);
  Ball (*derivative)(const Ball&);
  Ball (*most_slope)();
  Ball (*most_curvature)();
};

namespace {

const double kLeakyRelu = 0x1.47ae147ae147bp-7;

Ball sigmoid(const Ball& z) { return Ball(1) / (Ball(1) + exp(-z)); }
Ball root_two_pi() { return sqrt(Ball(2) * Ball::pi()); }
Ball normal(const Ball& z) { return exp(-(z * z) / Ball(2)) / root_two_pi(); }
Ball normal_cdf(const Ball& z) { return erfc(-z / sqrt(Ball(2))) / Ball(2); }
Ball gelu_derivative(const Ball& z) { return normal_cdf(z) + z * normal(z); }

Ball silu_derivative(const Ball& z) { return sigmoid(z) * (Ball(1) + z * sigmoid(-z)); }
Ball hull(const Ball& x, const Ball& y) {
  return Ball::make([&](arb_t z) { arb_union(z, x.get(), y.get(), precision); });
}

Ball one() { return 1; }
Ball unbounded() {
  return Ball::make([](arb_t z) { arb_zero_pm_inf(z); });
}

// z (1 + tanh(t))/2, t = sqrt(2/pi) (z + 0.044715 z^3), the factor being that double.
Ball gelu_tanh_argument(const Ball& z) {
  return sqrt(Ball(2) / Ball::pi()) * (z + Ball(0.044715) * z * square(z));
}
Ball gelu_tanh(const Ball& z) { return z * (Ball(1) + tanh(gelu_tanh_argument(z))) / Ball(2); }
Ball gelu_tanh_derivative(const Ball& z) {
  const Ball t = gelu_tanh_argument(z),
             slope = sqrt(Ball(2) / Ball::pi()) * (Ball(1) + Ball(3) * Ball(0.044715) * square(z));
  return (Ball(1) + tanh(t)) / Ball(2) + z * slope / (Ball(2) * square(cosh(t)));
}

const Smooth kSmooth[] = {
    {"identity", [](const Ball& z) { return z; }, [](const Ball&) { return one(); }, one,
     [] { return Ball(0); }},
    {"quadratic", [](const Ball& z) { return square(z) / Ball(2); }, [](const Ball& z) { return z; },
     unbounded, one},
    {"sin", sin, cos, one, one},
    {"erf", erf, [](const Ball& z) { return Ball(2) * exp(-square(z)) / sqrt(Ball::pi()); },
     [] { return Ball(2) / sqrt(Ball::pi()); },
     // (4/sqrt(pi)) |z| exp(-z^2) at 1/sqrt(2)
     [] { return Ball(4) / sqrt(Ball::pi()) * sqrt(Ball(0.5)) * exp(Ball(-0.5)); }},
    {"tanh", tanh, [](const Ball& z) { return Ball(1) / square(cosh(z)); }, one,
     [] { return Ball(4) / sqrt(Ball(27)); }},
    {"sigmoid", sigmoid, [](const Ball& z) { return sigmoid(z) * sigmoid(-z); }, [] { return Ball(0.25); },
     [] { return Ball(1) / sqrt(Ball(108)); }},
    {"softplus", [](const Ball& z) { return log1p(exp(z)); }, sigmoid, one, [] { return Ball(0.25); }},
    // phi'' = (2 - z^2) normal(z)
    {"gelu", [](const Ball& z) { return z * normal_cdf(z); }, gelu_derivative,
     [] { return gelu_derivative(sqrt(Ball(2))); }, [] { return Ball(2) / root_two_pi(); }},
    {"gelu_tanh", gelu_tanh, gelu_tanh_derivative, unbounded, unbounded},
    // sup |phi'| = 1.09983932012288669.., where z tanh(z/2) = 2
    {"silu", [](const Ball& z) { return z * sigmoid(z); }, silu_derivative,
     [] { return Ball(1.0998393201228872); }, [] { return Ball(0.5); }},
};

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
  for (const Smooth& known : kSmooth) {
    smooth_ = name_ == known.name ? &known : smooth_;
  }
  if (smooth_ == nullptr) {
    throw Open("the activation " + name_ + " is not known");
  }
}

Ball Activation::value(const Ball& z) const {
  if (!kinked()) {
    return smooth_->value(z);
  }
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

Ball Activation::derivative(const Ball& z) const {
  if (!kinked()) {
    return smooth_->derivative(z);
  }
  return z >= 0 ? Ball(1) : z < 0 ? Ball(slope_) : hull(Ball(1), Ball(slope_));
}

Ball Activation::most_slope() const {
  return kinked() ? Ball(std::max(1.0, std::fabs(slope_))) : smooth_->most_slope();
}

Ball Activation::most_curvature() const { return kinked() ? Ball(0) : smooth_->most_curvature(); }

}  // namespace check
