// relu: max(z, 0); the generalised derivative at 0 is 1.
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_RELU
#define ZEROLOSS_RELU
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct Relu {
  static constexpr double kLeak = 0, B = 1, M = kInfinite;
  static constexpr Parity parity = Parity::constant_plus_odd;
  static constexpr Ulps phi_ulps{0, 0, 0}, dphi_ulps{0, 0, 0};

  template <class T>
  static T phi(T z) {
    return z < 0 ? 0 : z;
  }
  static double dphi(double z) { return z < 0 ? 0 : 1; }

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    return graph.node("Relu", {z});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Relu {
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    return positive_part(d, z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    return op::IfThenElse(op::Ge(z, op::Zero(d)), set(d, 1), value(d, z));
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const auto under = negative(d, z);
    value_z = op::IfThenZeroElse(under, z);
    slope_z = op::IfThenZeroElse(under, set(d, 1));
  }
};

#endif
