// sigmoid: 1/(1 + exp(-z))
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_SIGMOID
#define ZEROLOSS_SIGMOID
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct Sigmoid {
  static constexpr double B = 0.25, M = 0.09622504486493763;  // M = 1/(6 sqrt 3)
  static constexpr Parity parity = Parity::even;
  static constexpr Ulps phi_ulps{2.5, 2.5, 3}, dphi_ulps{2.5, 2.5, 5};

  static double phi(double z) { return logistic(z); }                         // 4
  static double dphi(double z) { return dlogistic(z); }                       // 6
  static double d2phi(double z) { return -dlogistic(z) * std::tanh(z / 2); }  // 13

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    return graph.node("Sigmoid", {z});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Sigmoid {  // with e = exp(-|z|)
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    return logistic(d, z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto e = decay(d, z);
    return op::Div(e, square_of_one_plus(d, e));
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const auto e = quick_exp(d, op::Abs(z)), one = set(d, 1), inverse = op::Div(one, op::Add(one, e));
    value_z = op::IfThenElse(negative(d, z), op::Mul(e, inverse), inverse);
    slope_z = op::Mul(op::Mul(e, inverse), inverse);
  }
};

#endif
