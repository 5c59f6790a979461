// silu: z/(1 + exp(-z))
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_SILU
#define ZEROLOSS_SILU
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct Silu {
  // B where z tanh(z/2) = 2, at z = 2.39935728051546766783; M = 1/2 at 0
  static constexpr double B = 1.099839320128867, M = 0.5;
  static constexpr Parity parity = Parity::constant_plus_odd;
  static constexpr Ulps phi_ulps{3.5, 3.5, 4}, dphi_ulps{4, 4.5, 6};
  static constexpr double kDphiZero = -1.2785;  // within 1/2 of which phi' is within 2 u absolute

  static double phi(double z) { return damped(logistic(z), z); }  // 5
  /// 6 and 1.2 absolute: 5 |z| sigmoid', which is at most 0.224.
  static double dphi(double z) { return damped(logistic(z), 1 + damped(logistic(-z), z)); }
  /// 8 and 1.2 absolute: 7 sigmoid' |z tanh(z/2)|, which is at most 0.160.
  static double d2phi(double z) { return damped(dlogistic(z), 2 - z * std::tanh(z / 2)); }

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    return graph.node("Mul", {z, graph.node("Sigmoid", {z})});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Silu {  // with e = exp(-t), t = |z|
  // -t e/(1 + e) for z < 0, z/(1 + e) for z >= 0
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kExpEnd), spared = spared_decay(d, t);
    const auto below = unspare(d, op::Mul(op::Neg(t), spared));
    const auto e = unspare(d, spared);
    return op::Div(op::IfThenElse(negative(d, z), below, z), op::Add(set(d, 1), e));
  }
  // e (1 - t + e)/(1 + e)^2 for z < 0, (1 + e + t e)/(1 + e)^2 for z >= 0
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kExpEnd), spared = spared_decay(d, t);
    const auto e = unspare(d, spared), one = set(d, 1);
    const auto below = unspare(d, op::Mul(spared, op::Add(op::Sub(one, t), e)));
    const auto above = op::MulAdd(t, e, op::Add(one, e));
    return op::Div(op::IfThenElse(negative(d, z), below, above), square_of_one_plus(d, e));
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const auto t = op::Min(op::Set(d, In<D>::kQuickEnd), op::Abs(z)), e = quick_exp(d, t), one = set(d, 1);
    const auto one_e = op::Add(one, e), inverse = op::Div(one, one_e);
    const auto under = negative(d, z);
    value_z = op::Mul(op::IfThenElse(under, op::Neg(op::Mul(t, e)), z), inverse);
    const auto below = op::Mul(e, op::Add(op::Sub(one, t), e)), above = op::MulAdd(t, e, one_e);
    slope_z = op::Mul(op::Mul(op::IfThenElse(under, below, above), inverse), inverse);
  }
};

#endif
