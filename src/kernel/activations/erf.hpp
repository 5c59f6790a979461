// erf
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_ERF
#define ZEROLOSS_ERF
#include "kernel/activations/scalar.hpp"
#include "zeroloss/kernel/dual.hpp"

namespace zeroloss::internal::activations {

struct Erf {
  // B = 2/sqrt pi at 0; M = 2 sqrt(2/(pi e)) at z = 1/sqrt 2
  static constexpr double B = 1.1283791670955128, M = 0.9678828980765735;
  static constexpr Parity parity = Parity::even;
  static constexpr Ulps phi_ulps{2.5, 3, 2.5}, dphi_ulps{2.5, 2.5, 2.5};

  static double phi(double z) { return std::erf(z); }                       // 4
  static double dphi(double z) { return 2 * kInvSqrtPi * gaussian(z, 1); }  // 6
  static double d2phi(double z) { return damped(dphi(z), -2 * z); }         // 7

  static DualForm dual(bool derivative) { return derivative ? DualForm::erf_derivative : DualForm::erf; }

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    return graph.erf(z);
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

struct Erf {
  // x + x E(x^2) up to 1/2, 1 - exp(-x^2) erfcx(x) from there
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto x = size(d, z, In<D>::kErfEnd);
    const auto near = op::MulAdd(x, polynomial(d, op::Mul(x, x), Table<D>::kErf), x);
    const auto erfcx = op::Div(polynomial(d, x, Table<D>::kErfcxP), polynomial(d, x, Table<D>::kErfcxQ));
    const auto far = op::NegMulAdd(unspare(d, spared_gaussian(d, x, 1)), erfcx, set(d, 1));
    return op::CopySign(op::IfThenElse(op::Lt(x, set(d, 0.5)), near, far), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto spared = spared_gaussian(d, size(d, z, In<D>::kGaussEnd), 1);
    return unspare(d, op::Mul(set(d, 1.1283791670955126), spared));
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const auto x = op::Abs(z), end = op::Min(set(d, In<D>::kErfEnd), x);
    const auto gaussian = quick_gaussian(d, op::Min(set(d, In<D>::kGaussEnd), x), 1);
    const auto near = op::MulAdd(x, polynomial(d, op::Mul(end, end), Table<D>::kErf), x);
    const auto erfcx = op::Div(polynomial(d, end, Table<D>::kErfcxP), polynomial(d, end, Table<D>::kErfcxQ));
    const auto far = op::NegMulAdd(gaussian, erfcx, set(d, 1));
    value_z = op::CopySign(op::IfThenElse(op::Lt(x, set(d, 0.5)), near, far), z);
    slope_z = op::Mul(set(d, 1.1283791670955126), gaussian);
  }
};

#endif
