#pragma once
#include "kernel/activations/list.hpp"
#include "zeroloss/base/matrix.hpp"

/// The elementwise passes of a training step over one tile of neurons, vectorised. A tile is n x width,
/// column by column without gaps: column j holds neuron j's numbers at all n points. T is float or double. No
/// pointer needs an alignment; n, width, count >= 0. One thread. NaN in, NaN out: a diverged run is seen as
/// such. Results do not depend on the vector length: f_i <- fma(v_j, phi(Z_ij), f_i) for one j after the
/// other, and sums over all entries are taken in a fixed order. Processors without fused multiply-add differ
/// by rounding.
namespace zeroloss::internal::passes {

/// values <- phi(values) or phi'(values). Largest errors: phi_ulps and dphi_ulps of src/kernel/activations,
/// which are tested over the whole range; within 1/2 of a zero kDphiZero of phi' they are 2 u absolute, u =
/// 2^-24 or 2^-53.
template <class T>
void map(Phi phi, bool derivative, T* values, Index count);

/// value <- phi(z) and slope <- phi'(z), the quicker way that the small trainer takes: errors as of map,
/// in absolute size at most kNegligible where results are smaller. z, value and slope may be the same.
template <class T>
void map_both(Phi phi, const T* z, Index count, T* value, T* slope);
template <class T>
constexpr T kNegligible = sizeof(T) == 4 ? T(0x1p-56) : T(0x1p-390);

/// f_i += sum_j v_j phi(Z_ij).
template <class T>
void outputs(Phi phi, const T* Z, Index n, Index width, const T* v, T* f);

/// S_ij = c_i phi'(Z_ij), where S may be Z; where `sum` is not null also sum_ij += S_ij.
template <class T>
void coefficients(Phi phi, const T* Z, Index n, Index width, const T* c, T* S, T* sum);

/// A step in Gram space, P = G S known: Z_ij -= v_j P_ij, then f_i += sum_j v_j phi(Z_ij).
/// Returns sum_j v_j^2 sum_i S_ij P_ij (of one step: the squared length of the weights' move), in double:
/// each column's products go into 16 partial sums by i mod 16, these are added in pairs, columns in order.
template <class T>
double advance(Phi phi, const T* S, const T* P, Index n, Index width, const T* v, T* Z, T* f);

/// The same for relu, where S_ij = c_i [Z_ij >= 0] needs no memory of its own: `sum_ij += S_ij` as well.
template <class T>
double advance_relu(const T* c, const T* P, Index n, Index width, const T* v, T* Z, T* f, T* sum);

}  // namespace zeroloss::internal::passes
