// Every activation of the library: its header, which has all that is known of it, and its row. Included once
// for the descriptions (activations::Relu, ..), and by vectors-inl.hpp for each instruction set, where
// ZEROLOSS_VECTORS is defined, for the vectors.
//
// A description has: phi, dphi and, for smooth ones, d2phi with B = sup |phi'| and M = sup |phi''|; `parity`
// of phi'; phi_ulps and dphi_ulps, the accuracy of the vectors; onnx(graph, z), the recipe in ONNX's
// operators. Where they apply: kLeak, for phi(z) = z for z >= 0 and kLeak z below; kDphiZero, a zero of phi'
// inside; dual(derivative) where there is a closed form, or series(derivative) and squares(derivative) where
// the Hermite series is finite. All others have a row in hermite_tables.inc.
#include "kernel/activations/erf.hpp"
#include "kernel/activations/gelu.hpp"
#include "kernel/activations/leaky_relu.hpp"
#include "kernel/activations/quadratic.hpp"
#include "kernel/activations/relu.hpp"
#include "kernel/activations/sigmoid.hpp"
#include "kernel/activations/silu.hpp"
#include "kernel/activations/sin.hpp"
#include "kernel/activations/softplus.hpp"
#include "kernel/activations/tanh.hpp"

#ifndef ZEROLOSS_ACTIVATIONS
// row(name, Description), in the order of activation_names()
// clang-format off
#define ZEROLOSS_ACTIVATIONS(row) \
  row(relu, Relu)                 \
  row(softplus, Softplus)         \
  row(tanh, Tanh)                 \
  row(sigmoid, Sigmoid)           \
  row(erf, Erf)                   \
  row(gelu, Gelu)                 \
  row(silu, Silu)                 \
  row(quadratic, Quadratic)       \
  row(leaky_relu, LeakyRelu)      \
  row(sin, Sin)
// clang-format on

namespace zeroloss::internal {

#define ZEROLOSS_ROW(name, Description) name,
enum class Phi { ZEROLOSS_ACTIVATIONS(ZEROLOSS_ROW) };
#undef ZEROLOSS_ROW

/// Throws std::invalid_argument for a user's function.
Phi phi_of(const Activation& activation);

/// f(activations::Relu()) for Phi::relu, and so on.
template <class F>
auto describe(Phi phi, const F& f) {
  switch (phi) {
#define ZEROLOSS_ROW(name, Description) \
  case Phi::name:                       \
    return f(activations::Description());
    ZEROLOSS_ACTIVATIONS(ZEROLOSS_ROW)
#undef ZEROLOSS_ROW
  }
  __builtin_unreachable();
}

}  // namespace zeroloss::internal
#endif
