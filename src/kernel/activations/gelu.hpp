// gelu: z Phi(z), the exact one
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_GELU
#define ZEROLOSS_GELU
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct Gelu {
  // B = Phi(sqrt 2) + sqrt 2 density(sqrt 2); M = sqrt(2/pi) at 0
  static constexpr double B = 1.128904145185155, M = 0.7978845608028654;
  static constexpr Parity parity = Parity::constant_plus_odd;
  static constexpr Ulps phi_ulps{9, 11, 8.5}, dphi_ulps{5.5, 8, 6};
  static constexpr double kDphiZero = -0.7518;  // within 1/2 of which phi' is within 2 u absolute

  static double phi(double z) { return damped(normal_cdf(z), z); }  // 14
  /// 14 and 4.9 absolute: 13 Phi + 7 |z| density + |gelu'|, that is 14 gelu' for z >= 0. Below, 13 |gelu'|
  /// and 20 times the smaller of the two terms are enough, which is at most |z| density <= 0.242.
  static double dphi(double z) { return normal_cdf(z) + damped(normal_density(z), z); }
  static double d2phi(double z) { return damped(normal_density(z), std::fma(-z, z, 2)); }  // 8

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    const auto x = graph.node("Mul", {z, graph.number(std::sqrt(0.5))});
    const auto twice_cdf = graph.node("Add", {graph.erf(x), graph.number(1)});
    return graph.node("Mul", {graph.node("Mul", {z, graph.number(0.5)}), twice_cdf});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Gelu {  // with e = exp(-t^2/2), t = |z|, and Phi(-t) = e M(t)
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kNormalEnd);
    const auto spared = op::Div(op::Mul(spared_gaussian(d, t, 0.5), polynomial(d, t, Table<D>::kMillsP)),
                                polynomial(d, t, Table<D>::kMillsQ));
    const auto below = unspare(d, op::Mul(op::Neg(t), spared));
    const auto above = op::Mul(z, op::Sub(set(d, 1), unspare(d, spared)));
    return op::IfThenElse(negative(d, z), below, above);
  }
  // Phi(-t) - t density(t) = e (M(t) - t/sqrt(2 pi)), and 1 minus that for z >= 0
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kNormalEnd);
    const auto mills = op::Div(polynomial(d, t, Table<D>::kMillsP), polynomial(d, t, Table<D>::kMillsQ));
    const auto gap = op::NegMulAdd(t, set(d, 0.3989422804014327), mills);
    const auto below = unspare(d, op::Mul(spared_gaussian(d, t, 0.5), gap));
    return op::IfThenElse(negative(d, z), below, op::Sub(set(d, 1), below));
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const auto t = op::Min(set(d, In<D>::kNormalEnd), op::Abs(z)), one = set(d, 1);
    const auto mills = op::Div(polynomial(d, t, Table<D>::kMillsP), polynomial(d, t, Table<D>::kMillsQ));
    const auto gaussian = quick_gaussian(d, t, 0.5), tail = op::Mul(gaussian, mills);
    const auto gap = op::NegMulAdd(t, set(d, 0.3989422804014327), mills);
    const auto slope_below = op::Mul(gaussian, gap);
    const auto under = negative(d, z);
    value_z = op::IfThenElse(under, op::Neg(op::Mul(t, tail)), op::Mul(z, op::Sub(one, tail)));
    slope_z = op::IfThenElse(under, slope_below, op::Sub(one, slope_below));
  }
};

#endif
