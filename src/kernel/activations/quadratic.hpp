// quadratic: z^2/2
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_QUADRATIC
#define ZEROLOSS_QUADRATIC
#include <numbers>
#include <vector>

#include "kernel/activations/scalar.hpp"
#include "zeroloss/kernel/dual.hpp"

namespace zeroloss::internal::activations {

struct Quadratic {
  static constexpr double B = kInfinite, M = 1;
  static constexpr Parity parity = Parity::odd;
  static constexpr Ulps phi_ulps{0.5, 0.5, 0.5}, dphi_ulps{0, 0, 0};

  template <class T>
  static T phi(T z) {  // 1
    return T{0.5} * z * z;
  }
  static double dphi(double z) { return z; }
  static double d2phi(double) { return 1; }

  static HermiteSeries series(bool derivative) {
    if (derivative) return {{0, 1}, 0, 0};
    return {{0.5, 0, std::numbers::sqrt2 / 2}, 0x1p-53, 0};
  }
  /// Of the dual activation, exact: mu_r^2.
  static std::vector<double> squares(bool derivative) {
    if (derivative) return {0, 1};
    return {0.25, 0, 0.5};
  }

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    return graph.node("Mul", {graph.node("Mul", {z, z}), graph.number(0.5)});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Quadratic {
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    return op::Mul(op::Mul(set(d, 0.5), z), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D, Vec<D> z) {
    return z;
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    value_z = value(d, z);
    slope_z = z;
  }
};

#endif
