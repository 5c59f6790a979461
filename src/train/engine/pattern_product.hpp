#pragma once
#include "zeroloss/base/matrix.hpp"

/// Products with relu's derivative pattern, which holds only zeros and ones.
namespace zeroloss::internal {

/// P = A [Z >= 0] by the method of the four Russians: the sums of five neighbouring columns of A over all 32
/// patterns are tabulated once and looked up for every column of Z.
///
/// A is rows x n (column-major, leading dimension lda >= rows), Z is n x width and P rows x width
/// (column-major without gaps); P overlaps neither, and any size may be 0. As for relu', [-0.0 >= 0] = 1; NaN
/// counts as 0. What a pattern leaves out is not multiplied by zero but never added: infinities there do no
/// harm.
///
/// Error: |P_ij - exact| <= gamma_m sum_{k: Z_kj >= 0} |A_ik|, m = 8 + ceil(n/30), gamma_m = m u/(1 - m u): a
/// number passes through at most m roundings (4 in its table, 5 over a pass of 30 points, then one a pass).
/// Measured for n = 1000, m = 42: 0.9 u sum|A_ik| for normal, 6 u for positive A.
/// An entry's bits depend on its row of A and column of Z alone: not on tile, vector length or processor.
///
/// One thread. Cost: rows n (width + 32)/5 additions and as many loads of vector elements, where BLAS needs
/// rows n width multiply-adds: from width 256 on, 2 to 3 times the speed of its kernels for the same vectors.
/// Scratch: 8 width (n/30 + 16) bytes and 24 KB of tables. T is float or double. Source: Arlazarov, Dinic,
/// Kronrod, Faradzhev, Doklady 11 (1970).
template <class T>
void pattern_product(const T* A, Index lda, Index rows, const T* Z, Index n, Index width, T* P);

}  // namespace zeroloss::internal
