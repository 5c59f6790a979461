#include "kernel.hpp"

#include <algorithm>
#include <cmath>

#include "hermite.hpp"
#include "verdict.hpp"

namespace check {
namespace {

// The angle of a correlation, of which the part outside of [-1, 1] cannot be.
Ball angle(const Ball& rho) {
  if (rho < 1 && rho > -1) {
    return acos(rho);
  }
  const auto end = [](double x) { return acos(Ball(std::clamp(x, -1.0, 1.0))); };
  const Ball least = end(rho.upper()), most = end(rho.lower());
  return Ball::make([&](arb_t z) { arb_union(z, least.get(), most.get(), precision); });
}

Ball relu_hidden(const Ball& rho) { return (Ball::pi() - angle(rho)) / (Ball(2) * Ball::pi()); }

Ball relu_output(const Ball& rho) {
  const Ball sine = sqrt(Ball(1) - square(rho));
  return (sine + (Ball::pi() - angle(rho)) * rho) / (Ball(2) * Ball::pi());
}

constexpr slong kSeriesBits = 320;

}  // namespace

void Dual::Series::finish() {
  rest.assign(c.size() + 1, 0);
  for (std::size_t k = c.size(); k-- > 0;) {
    rest[k] = (rest[k + 1] + c[k].size()) * (1 + 1e-15);
  }
}

Ball Dual::Series::at(const Ball& rho) const {
  if (bits != precision) {
    rounded.resize(c.size());
    for (std::size_t k = 0; k < c.size(); ++k) {
      arb_set_round(rounded[k].get(), c[k].get(), precision);
    }
    bits = precision;
  }
  // Powers that are too small to matter are a radius instead.
  const double x2 = std::min(1.0, rho.size() * rho.size() * (1 + 1e-15));
  const double small = std::ldexp(1.0, -static_cast<int>(std::min<slong>(precision + 8, 900)));
  std::size_t terms = c.size();
  double left = 0;
  if (x2 < 0.999) {
    const double base = std::log(x2 + 1e-300) * (1 - 1e-12);
    const auto rest_from = [&](std::size_t k) { return rest[k] * std::exp(base * static_cast<double>(k)); };
    std::size_t low = 0, high = c.size();  // the least number of terms whose rest is small
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      (rest_from(middle) <= small ? high : low) = rest_from(middle) <= small ? middle : middle + 1;
    }
    terms = low;
    // Charged by balls: the functions above only chose.
    left = terms == c.size() ? 0 : Ball::make([&](arb_t z) {
                                     arb_set_d(z, x2);
                                     arb_pow_ui(z, z, terms, 32);
                                     const Ball r(rest[terms]);
                                     arb_mul(z, z, r.get(), 32);
                                   }).size();
  }
  const Ball y = square(rho);
  Ball sum;
  for (std::size_t k = terms; k-- > 0;) {
    arb_mul(sum.get(), sum.get(), y.get(), precision);
    arb_add(sum.get(), sum.get(), rounded[k].get(), precision);
  }
  if (left > 0) {
    sum.widen(left);
  }
  if (parity == 1) {
    sum *= rho;
  }
  return sum + first;
}

Dual::Dual(const Activation& activation) : activation_(activation) {
  const std::string& name = activation.name();
  const bool closed =
      name == "leak" || name == "erf" || name == "quadratic" || name == "sin" || name == "identity";
  if (closed) {
    return;
  }
  const Hermite& series = hermite(name);
  const Bits bits(kSeriesBits);
  const bool even = name == "tanh" || name == "sigmoid";  // phi' is
  hidden_.parity = even ? 0 : 1;
  output_.parity = even ? 1 : 0;
  slope_ = even ? Ball(0) : series.c[0];
  hidden_.first = slope_;
  output_.first = square(series.mean);
  if (!even) {  // rho^2k comes from c_(2k-1), k >= 1
    output_.c.emplace_back();
  }
  Ball sum = hidden_.first, integral = output_.first + slope_;
  for (std::size_t r = hidden_.parity; r < series.c.size(); r += 2) {
    hidden_.c.push_back(series.c[r]);
    output_.c.push_back(series.c[r] / Ball(static_cast<double>(r + 1)));
    sum += hidden_.c.back();
    integral += output_.c.back();
  }
  hidden_all_ = series.all;
  // Of the integral's series the rest is at most that of the other by the number of terms.
  Ball rest = max(series.all - sum, Ball(0)) / Ball(static_cast<double>(series.c.size()));
  rest = Ball(rest.size());
  output_all_ = integral + rest / Ball(2);
  output_all_.widen((rest / Ball(2)).size());
  hidden_.finish();
  output_.finish();
}

Ball Dual::hidden(const Ball& rho) const {
  const std::string& name = activation_.name();
  if (name == "leak") {  // a z + (1 - a) relu(z), E[relu'] = 1/2
    const Ball a(activation_.slope());
    return a + square(Ball(1) - a) * relu_hidden(rho);
  }
  if (name == "erf") {
    return Ball(4) / Ball::pi() / sqrt(Ball(9) - Ball(4) * square(rho));
  }
  if (name == "quadratic") {
    return rho;
  }
  if (name == "sin") {
    return cosh(rho) / exp(Ball(1));
  }
  if (name == "identity") {
    return 1;
  }
  return hidden_.at(rho);
}

Ball Dual::output(const Ball& rho) const {
  const std::string& name = activation_.name();
  if (name == "leak") {
    const Ball a(activation_.slope());
    return a * rho + square(Ball(1) - a) * relu_output(rho);
  }
  if (name == "erf") {
    return Ball(2) / Ball::pi() * asin(Ball(2) * rho / Ball(3));
  }
  if (name == "quadratic") {
    return (Ball(1) + Ball(2) * square(rho)) / Ball(4);
  }
  if (name == "sin") {
    return sinh(rho) / exp(Ball(1));
  }
  if (name == "identity") {
    return rho;
  }
  return output_.at(rho) + slope_ * rho;
}

Ball Dual::hidden_at_one() const { return hidden_.c.empty() ? hidden(1) : hidden_all_; }
Ball Dual::output_at_one() const { return output_.c.empty() ? output(1) : output_all_; }

Balls Dual::hidden_series(std::size_t count) const {
  const std::string& name = activation_.name();
  Balls c(count + 2);
  if (name == "leak") {  // asin(rho) = rho + rho^3/6 + ..
    const Ball a(activation_.slope());
    const Ball share = square(Ball(1) - a);
    c[0] = a + share / Ball(4);
    c[1] = share / (Ball(2) * Ball::pi());
    for (std::size_t r = 3; r < count; r += 2) {
      const auto s = static_cast<double>(r);
      c[r] = c[r - 2] * Ball((s - 2) * (s - 2)) / Ball((s - 1) * s);
    }
  } else if (name == "erf") {  // (9 - 4 rho^2)^(-1/2)
    c[0] = Ball(4) / (Ball(3) * Ball::pi());
    for (std::size_t r = 2; r < count; r += 2) {
      const auto s = static_cast<double>(r);
      c[r] = c[r - 2] * Ball(s - 1) / Ball(s) * Ball(4) / Ball(9);
    }
  } else if (name == "sin") {
    c[0] = Ball(1) / exp(Ball(1));
    for (std::size_t r = 2; r < count; r += 2) {
      c[r] = c[r - 2] / Ball(static_cast<double>(r * (r - 1)));
    }
  } else if (name == "quadratic") {
    c[1] = 1;
  } else if (name == "identity") {
    c[0] = 1;
  } else {
    c[0] = slope_;
    for (std::size_t k = 0; k < hidden_.c.size() && 2 * k + hidden_.parity < count; ++k) {
      c[2 * k + hidden_.parity] += hidden_.c[k];
    }
    if (hidden_.parity == 0) {
      c[0] = hidden_.c[0];
    }
  }
  c.resize(count);
  return c;
}

// Its derivative is the other one.
Balls Dual::output_series(std::size_t count) const {
  const Balls slopes = hidden_series(count);
  Balls c(count);
  for (std::size_t r = 1; r < count; ++r) {
    c[r] = slopes[r - 1] / Ball(static_cast<double>(r));
  }
  if (count > 0) {
    c[0] = output(0);
  }
  return c;
}

Kernel::Kernel(const Json& json, const std::string& where) {
  const std::string here = where + ": kernel";
  of_ = Object(json, here, {"of", "activation", "layers", "residual", "branch", "trained", "exponent"})
            .text("of");
  const Object o = of_ == "power" ? Object(json, here, {"of", "exponent"})
                   : of_ == "layers"
                       ? Object(json, here, {"of", "activation", "layers", "residual", "branch", "trained"})
                       : Object(json, here, {"of", "activation"});
  if (of_ == "power") {
    exponent_ = o.count("exponent", 1000000);
    return;
  }
  if (of_ != "hidden" && of_ != "output" && of_ != "layers") {
    throw Open("a kernel of " + of_ + " is not known");
  }
  dual_ = std::make_unique<Dual>(Activation(o.at("activation"), where));
  if (of_ == "layers") {
    layers_ = o.count("layers", 10000);
    residual_ = o.truth("residual");
    if (residual_) {
      branch_ = o.number("branch");
      if (!(branch_ > 0)) {
        o.fail("branch is not above 0");
      }
    } else if (o.has("branch")) {
      o.fail("a branch is one of residual blocks");
    }
    if (o.has("trained")) {
      trained_ = o.text("trained");
    }
    if (layers_ == 0 || (trained_ != "all" && trained_ != "hidden" && trained_ != "output")) {
      o.fail("layers is 0, or trained is none of all, hidden and output");
    }
  }
}

Kernel::~Kernel() = default;

// Section 15. `whole`: at rho = 1, of the series without what was cut.
Ball Kernel::layers(const Ball& rho, bool whole) const {
  const Ball one = dual_->output_at_one();
  const Ball a2 = square(Ball(branch_));
  const Ball keep = residual_ ? Ball(1) / (Ball(1) + a2) : Ball(0);
  const Ball move = residual_ ? a2 / (Ball(1) + a2) : Ball(1);
  Ball correlation = rho;
  Ball tangent = residual_ ? rho : Ball(0);
  for (std::size_t l = 0; l < layers_; ++l) {
    const Ball h = whole ? Ball(1) : dual_->output(correlation) / one;
    const Ball q = (whole ? dual_->hidden_at_one() : dual_->hidden(correlation)) / one;
    Ball layer = q * (tangent + correlation);
    if (residual_) {
      layer += h;
    }
    tangent = keep * tangent + move * layer;
    correlation = keep * correlation + move * h;
  }
  return trained_ == "all" ? correlation + tangent : trained_ == "hidden" ? tangent : correlation;
}

Ball Kernel::entry(const Ball& rho) const {
  if (of_ == "power") {
    return Ball::make([&](arb_t z) { arb_pow_ui(z, rho.get(), exponent_, precision); });
  }
  if (of_ == "hidden") {
    return rho * dual_->hidden(rho);
  }
  return of_ == "output" ? dual_->output(rho) : layers(rho, false);
}

// Where nothing is cut, correlations stay 1 from layer to layer.
Ball Kernel::at_one() const { return of_ == "layers" && !dual_->cut() ? layers(1, true) : entry(1); }

Balls Kernel::coefficients(std::size_t count) const {
  const Bits bits(kSeriesBits);
  if (of_ == "layers") {
    throw Open("the power series of kernels of many layers is not known here");
  }
  if (of_ == "output") {
    return dual_->output_series(count);
  }
  Balls c(count);
  if (of_ == "power") {
    if (exponent_ < count) {
      c[exponent_] = 1;
    }
    return c;
  }
  const Balls slopes = dual_->hidden_series(count);
  for (std::size_t r = 1; r < count; ++r) {
    c[r] = slopes[r - 1];
  }
  return c;
}

double Kernel::left_out() const {
  if (of_ == "power") {
    return 0;
  }
  const Bits bits(kSeriesBits);
  const Ball all = of_ == "hidden"   ? dual_->hidden_at_one()
                   : of_ == "output" ? dual_->output_at_one()
                                     : layers(1, true);
  return (all - at_one()).size();
}

}  // namespace check
