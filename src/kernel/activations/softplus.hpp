// softplus: log(1 + exp(z))
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_SOFTPLUS
#define ZEROLOSS_SOFTPLUS
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct Softplus {
  static constexpr double B = 1, M = 0.25;
  static constexpr Parity parity = Parity::constant_plus_odd;
  static constexpr Ulps phi_ulps{2.5, 2.5, 2.5}, dphi_ulps{2.5, 2.5, 4};

  /// 7: log1p(e) takes e/((1 + e) log1p(e)) <= 1 of e's error.
  template <class T>
  static T phi(T z) {
    return (z < 0 ? 0 : z) + std::log1p(std::exp(-std::abs(z)));
  }
  static double dphi(double z) { return logistic(z); }
  static double d2phi(double z) { return dlogistic(z); }

  /// ONNX Runtime's Softplus is for single precision alone.
  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    if (graph.single()) return graph.node("Softplus", {z});
    const auto decay = graph.node("Exp", {graph.node("Neg", {graph.node("Abs", {z})})});
    const auto above = graph.node("Relu", {z});
    return graph.node("Add", {above, graph.node("Log", {graph.node("Add", {decay, graph.number(1)})})});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Softplus {
  // max(z, 0) + log1p(e), e = exp(-|z|), and log1p(e) = 2 atanh(s), s = e/(2 + e), written as
  // e - s (e - s^2 L(s^2)).
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z, Vec<D> e, Vec<D> s) {
    const auto square = op::Mul(s, s);
    const auto inner = op::NegMulAdd(square, polynomial(d, square, Table<D>::kLog), e);
    return op::Add(positive_part(d, z), op::NegMulAdd(s, inner, e));
  }
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto e = decay(d, z);
    return value(d, z, e, op::Div(e, op::Add(e, set(d, 2))));
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    return logistic(d, z);
  }
  // 1/(1 + e) and 1/(2 + e) from the inverse of their product
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const auto e = quick_exp(d, op::Abs(z)), one = set(d, 1);
    const auto one_e = op::Add(one, e), two_e = op::Add(e, set(d, 2));
    const auto inverse = op::Div(one, op::Mul(one_e, two_e));
    value_z = value(d, z, e, op::Mul(op::Mul(e, one_e), inverse));
    slope_z = op::Mul(op::IfThenElse(negative(d, z), e, one), op::Mul(two_e, inverse));
  }
};

#endif
