#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/broadcast.hpp"
#include "zeroloss/kernel/activation.hpp"

// Functions of one number: those with kinks, whose errors are those of their pieces, and smooth ones.
namespace zeroloss::internal::graph {
namespace {

// With f(ball) of each number and the largest slope of f.
template <class Function>
std::vector<Value> each(const Call& call, double slope, const Function& f) {
  const Value& x = call.numbers(0);
  Value made = blank(x.type, x.shape, x.varies, x.h.rows());
  const Rounding r = call.rounding(made);
  Vector known = Vector::Zero(x.h.rows()), here(x.size());  // of what is rounded here
  for (Index i = 0; i < made.h.rows(); ++i) {
    for (Index k = 0; k < made.h.cols(); ++k) {
      const auto [ball, rounding] = f(x.at(i, k), r);
      made.h(i, k) = ball.h;
      made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
      here(k) = rounding;
    }
    known(i) = (slope * (x.exact() ? 0 : x.eps(i)) + length_above(here.data(), here.size())) * kUp +
               kTiny * std::sqrt(made.h.cols());
  }
  settle(made, known);
  return {std::move(made)};
}

struct Rounded {
  Ball ball;
  double rounding;  ///< what of its error is not that of the argument
};

// z times `slope` below 0.
Rounded leaky(Ball z, double slope, const Rounding& r) {
  const double low = std::abs(slope) * kUp, size = std::abs(z.h);
  // The rounding of the product.
  const Ball below = rounded(slope * z.h, r.flushed() * (low + size + z.e), low * (size + z.e), r);
  const bool kept = slope == 0 || slope == 1;
  const double rounding = kept || z.h - z.e >= 0 ? 0 : below.e;
  if (z.h - z.e >= 0) return {z, 0};
  if (z.h + z.e <= 0) return {{slope * z.h, (low * z.e + rounding) * kUp + (kept ? 0 : kTiny)}, rounding};
  // Between, the slope is at most the larger of both; of relu no more than how far z may be above 0.
  const double e = std::max(1.0, low) * z.e;
  const double h = z.h >= 0 ? z.h : slope * z.h;
  return {{h, slope == 0 && z.h < 0 ? (z.h + z.e) * kUp + kTiny : (e + rounding) * kUp}, rounding};
}

std::vector<Value> relu(const Call& call) {
  return each(call, 1, [](Ball z, const Rounding& r) { return leaky(z, 0, r); });
}

std::vector<Value> leaky_relu(const Call& call) {
  const double slope = call.node.number("alpha", static_cast<double>(0.01F));
  return each(call, std::max(1.0, std::abs(slope)),
              [&](Ball z, const Rounding& r) { return leaky(z, slope, r); });
}

std::vector<Value> prelu(const Call& call) {
  const Value& slope = call.numbers(1);
  Value made =
      each_of(call, {&call.numbers(0), &slope}, [](const std::vector<Ball>& x, const Rounding& r) -> Ball {
        const Ball ball = leaky(x[0], x[1].h, r).ball;  // of the slope as it is computed
        return {ball.h, x[1].e == 0
                            ? ball.e
                            : (ball.e + x[1].e * (1 + 2 * r.v) * std::max(0.0, x[0].e - x[0].h)) * kUp};
      });
  settle(made);
  return {std::move(made)};
}

std::vector<Value> hard_sigmoid(const Call& call) {
  const double alpha = call.node.number("alpha", static_cast<double>(0.2F)),
               beta = call.node.number("beta", 0.5);
  return each(call, std::abs(alpha), [&](Ball z, const Rounding& r) -> Rounded {
    const Ball line = add(multiply({alpha, 0}, z, r), {beta, 0}, r);
    const double rounding = (line.e - std::abs(alpha) * z.e) * kUp + 4 * u * (line.e + std::abs(line.h));
    return {{std::clamp(line.h, 0.0, 1.0), line.e}, std::max(rounding, 0.0)};
  });
}

// phi with |phi'| <= slope everywhere, computed to within 17 u |phi| + own (1 + |z|) u. A runtime's is taken
// to be within 16 units of 1 + |phi| + |z|.
template <class Function>
std::vector<Value> smooth(const Call& call, double slope, double own, const Function& phi) {
  return each(call, slope, [&](Ball z, const Rounding& r) -> Rounded {
    const double h = phi(z.h), size = 1 + std::abs(h) + std::abs(z.h) + z.e;
    const double rounding =
        (17 * u * std::abs(h) + own * u * (1 + std::abs(z.h)) + 4 * kTiny + 16 * r.v * size + r.lost) * kUp;
    const double e = (slope * z.e + rounding) * kUp;
    return {{h, size < r.largest ? e : kInfinite}, rounding};
  });
}

template <const char* name>
std::vector<Value> activation_called(const Call& call) {
  const Activation& phi = activation(name);
  return smooth(call, phi.B, 5, phi.phi);
}

std::vector<Value> gelu(const Call& call) {
  const auto* approximate = call.node.find<std::string>("approximate");
  if (approximate != nullptr && *approximate == "tanh")  // |phi'| < 1.1291, at 1.42
    return smooth(call, 1.13, 16, [](double z) {
      return z *
             (1 + std::tanh(std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (z + 0.044715 * z * z * z))) / 2;
    });
  if (approximate != nullptr && *approximate != "none")
    call.refuse(fmt::format("gelu by '{}' is not read", *approximate));
  const Activation& phi = activation("gelu");
  return smooth(call, phi.B, 5, phi.phi);
}

std::vector<Value> elu(const Call& call) {
  const double alpha = call.node.number("alpha", 1);
  return smooth(call, std::max(1.0, std::abs(alpha)), 4,
                [=](double z) { return z >= 0 ? z : alpha * std::expm1(z); });
}

std::vector<Value> celu(const Call& call) {
  const double alpha = call.node.number("alpha", 1);
  if (!(alpha > 0)) call.refuse("its alpha is not above 0");
  return smooth(call, 1, 8 * (1 + alpha),
                [=](double z) { return z >= 0 ? z : alpha * std::expm1(z / alpha); });
}

std::vector<Value> selu(const Call& call) {
  const double alpha = call.node.number("alpha", static_cast<double>(1.67326319217681884765625F)),
               gamma = call.node.number("gamma", static_cast<double>(1.05070102214813232421875F));
  return smooth(call, std::abs(gamma) * std::max(1.0, std::abs(alpha)) * kUp, 8 * (1 + std::abs(gamma)),
                [=](double z) { return gamma * (z >= 0 ? z : alpha * std::expm1(z)); });
}

std::vector<Value> hard_swish(const Call& call) {  // |phi'| <= 3/2, at 3
  return smooth(call, 1.5, 8, [](double z) { return z * std::clamp(z / 6 + 0.5, 0.0, 1.0); });
}

std::vector<Value> mish(const Call& call) {  // |phi'| < 1.089, at 1.49
  const auto& softplus = activation("softplus").phi;
  return smooth(call, 1.09, 32, [&](double z) { return z * std::tanh(softplus(z)); });
}

std::vector<Value> softsign(const Call& call) {
  return smooth(call, 1, 4, [](double z) { return z / (1 + std::abs(z)); });
}

// Its slope is its value.
std::vector<Value> exponential(const Call& call) {
  Value made = each_of(call, {&call.numbers(0)}, [](const std::vector<Ball>& x, const Rounding& r) -> Ball {
    const double h = std::exp(x[0].h), above = std::exp(x[0].h + x[0].e) * (1 + 8 * u);
    return rounded(h, (above * x[0].e + 4 * u * h) * kUp, above, r, 16);
  });
  settle(made);
  return {std::move(made)};
}

// Unknown where its argument may not be above 0.
std::vector<Value> logarithm(const Call& call) {
  Value made = each_of(call, {&call.numbers(0)}, [](const std::vector<Ball>& x, const Rounding& r) -> Ball {
    const double h = std::log(x[0].h), low = (x[0].h - x[0].e) * kDown;
    if (!(x[0].h > x[0].e && low > 0)) return {h, kInfinite};
    return rounded(h, (x[0].e / low + 4 * u * std::abs(h)) * kUp, 1 + std::abs(h), r, 16);
  });
  settle(made);
  return {std::move(made)};
}

std::vector<Value> swish(const Call& call) {
  if (call.node.number("alpha", 1) != 1) call.refuse("of Swish that with alpha 1 is read");
  const Activation& phi = activation("silu");
  return smooth(call, phi.B, 5, phi.phi);
}

constexpr char kSigmoid[] = "sigmoid", kTanh[] = "tanh", kSoftplus[] = "softplus", kErf[] = "erf",
               kSin[] = "sin";

constexpr Operator kFunctionsRows[] = {{"Celu", celu},
                                       {"Elu", elu},
                                       {"Erf", activation_called<kErf>},
                                       {"Exp", exponential},
                                       {"Gelu", gelu},
                                       {"HardSigmoid", hard_sigmoid},
                                       {"HardSwish", hard_swish},
                                       {"LeakyRelu", leaky_relu},
                                       {"Log", logarithm},
                                       {"Mish", mish},
                                       {"PRelu", prelu},
                                       {"Relu", relu},
                                       {"Selu", selu},
                                       {"Sigmoid", activation_called<kSigmoid>},
                                       {"Sin", activation_called<kSin>},
                                       {"Softplus", activation_called<kSoftplus>},
                                       {"Softsign", softsign},
                                       {"Swish", swish},
                                       {"Tanh", activation_called<kTanh>}};

}  // namespace

const std::span<const Operator> kFunctions = kFunctionsRows;

}  // namespace zeroloss::internal::graph
