// tanh
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_TANH
#define ZEROLOSS_TANH
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct Tanh {
  static constexpr double B = 1, M = 0.769800358919501;  // M = 4/(3 sqrt 3) at tanh z = 1/sqrt 3
  static constexpr Parity parity = Parity::even;
  static constexpr Ulps phi_ulps{3, 3, 3.5}, dphi_ulps{2.5, 2.5, 6};

  static double phi(double z) { return std::tanh(z); }                   // 6
  static double dphi(double z) { return 4 * dlogistic(2 * z); }          // 6
  static double d2phi(double z) { return -2 * std::tanh(z) * dphi(z); }  // 13

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    return graph.node("Tanh", {z});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Tanh {
  // -q/(2 + q), q = expm1(-2 |z|) = 2^k rest + (2^k - 1)
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    Vec<D> scale;
    const auto t = size(d, z, In<D>::kTanhEnd);
    const auto rest = exp_parts<0>(d, op::Mul(set(d, -2), t), op::Zero(d), scale);
    const auto q = op::MulAdd(rest, scale, op::Sub(scale, set(d, 1)));
    return op::CopySign(op::Div(q, op::Add(q, set(d, 2))), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kExpEnd / 2), spared = spared_decay(d, op::Add(t, t));
    const auto above = unspare(d, op::Mul(set(d, 4), spared));
    return op::Div(above, square_of_one_plus(d, unspare(d, spared)));
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    Vec<D> scale;
    const auto t = op::Abs(z), one = set(d, 1), rest = quick_parts(d, op::Add(t, t), scale);
    const auto q = op::MulAdd(rest, scale, op::Sub(scale, one));
    const auto inverse = op::Div(one, op::Add(q, set(d, 2)));
    value_z = op::CopySign(op::Mul(q, inverse), z);
    slope_z = op::Mul(op::Mul(op::Mul(set(d, 4), op::MulAdd(rest, scale, scale)), inverse), inverse);
  }
};

#endif
