#pragma once
#include <functional>

#include "zeroloss/base/matrix.hpp"

/// The inner loops of the memoriser, vectorised over points. A tile of points is stored component by
/// component: component j of point i is tile[j count + i], and `count` is a multiple of kPoints. Every point
/// has sums of its own, taken in the order of the formulas with fused multiply-adds where the processor has
/// them: the result of a point depends neither on its place nor on the length of vectors. T is float or
/// double. One thread; pointers need no alignment. NaN in, NaN out.
namespace zeroloss::internal::blocks {

constexpr Index kPoints = 32;  ///< that are computed together
constexpr Index kPanel = 256;  ///< terms of an inner product that are summed before they join the others

/// Maps with relu, h -> V relu(U h + s): U rows x cols, s rows, V outputs x rows, all row by row.
template <class T>
struct Layer {
  Index rows, cols, outputs;
  const T *U, *s, *V;
};

/// z = U x + s, where s may be null: x cols x count, z rows x count.
template <class T>
void affine(const T* U, const T* s, Index rows, Index cols, const T* x, Index count, T* z);

/// h <- h + V_j relu(U_j h + s_j) for j = 0, 1, ..: `blocks` layers of k rows, columns and outputs whose
/// numbers follow one another in `first`; h k x count. `scratch` holds k kPoints numbers.
template <class T>
void residual(const Layer<T>& first, Index blocks, Index count, T* h, T* scratch);

/// y = V relu(U h + s): h cols x count, y outputs x count. `scratch` holds rows kPoints numbers.
template <class T>
void output(const Layer<T>& layer, const T* h, Index count, T* y, T* scratch);

/// largest_a <- max(largest_a, max_i <u_a, z_i>) over `count` points: U rows x cols, component j of point i
/// is Z[j stride + i]. `count` is a multiple of kPoints.
void largest_products(const double* U, Index rows, Index cols, const double* Z, Index stride, Index count,
                      double* largest);

/// Blocks as `screen` sees them: floats, which need not be exact.
struct Screen {
  Index width, blocks;         ///< k, l
  const float *U, *s, *norms;  ///< l k x k, l k, l k
};

/// awake(j, i) for every block j and point i of the tile with <u_a, h_i> + s_a + norm_a reach_i >= 0, or NaN,
/// for a row a of the block: block by block, those of a block in the order of points. `awake` may change
/// component by component what is in h (k x count) and reach (count) of its point.
void screen(const Screen& network, Index count, const float* h, const float* reach,
            const std::function<void(Index block, Index point)>& awake);

}  // namespace zeroloss::internal::blocks
