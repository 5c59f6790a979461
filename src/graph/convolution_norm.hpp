#pragma once
#include "graph/value.hpp"

/// How much a convolution may lengthen what it takes.
namespace zeroloss::internal::graph {

/// An upper bound of the 2-norm of the convolution with these kernels (m x channels cells, cells of the shape
/// `kernel`) as a map of whole tensors, whatever their size, strides, padding and dilation; at most `known`,
/// which is one already. By the symbol: on all of Z^a it is the largest norm of the m x channels matrices
/// A(t) = sum_k K_k e^(i k.t), and a strided, padded one on a box is a part of that. ||A(t) v||^2 is a
/// trigonometric polynomial of degree s - 1 in each t, s cells along it, whose largest value on N equidistant
/// points is at least cos((s - 1) pi/N) times that on all (M. Riesz; Ehlich and Zeller 1964). Cost: N^a/2
/// eigenvalue bounds of side 2 min(m, channels).
double convolution_norm(const RowMatrix& kernels, const Shape& kernel, double known);

}  // namespace zeroloss::internal::graph
