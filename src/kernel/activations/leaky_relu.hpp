// leaky_relu: z for z >= 0, z/100 for z < 0; the generalised derivative at 0 is 1. The slope is the double
// nearest to 0.01, exactly.
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_LEAKY_RELU
#define ZEROLOSS_LEAKY_RELU
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct LeakyRelu {
  static constexpr double kLeak = 0.01, B = 1, M = kInfinite;
  static constexpr Parity parity = Parity::constant_plus_odd;
  static constexpr Ulps phi_ulps{1.5, 1.5, 1.5}, dphi_ulps{0.5, 0.5, 0.5};  // the float slope is rounded

  template <class T>
  static T phi(T z) {  // 1
    return z < 0 ? T{kLeak} * z : z;
  }
  static double dphi(double z) { return z < 0 ? kLeak : 1; }

  /// ONNX Runtime's LeakyRelu is for single precision alone.
  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    if (graph.single()) return graph.node("LeakyRelu", {z}, {{"alpha", static_cast<float>(kLeak)}});
    return graph.node("Max", {z, graph.node("Mul", {z, graph.number(kLeak)})});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct LeakyRelu {
  static constexpr double kLeak = activations::LeakyRelu::kLeak;

  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    return op::IfThenElse(negative(d, z), op::Mul(set(d, kLeak), z), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    return op::IfThenElse(op::Ge(z, op::Zero(d)), set(d, 1),
                          op::IfThenElse(negative(d, z), set(d, kLeak), z));
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const auto under = negative(d, z);
    value_z = op::IfThenElse(under, op::Mul(set(d, kLeak), z), z);
    slope_z = op::IfThenElse(under, set(d, kLeak), set(d, 1));
  }
};

#endif
