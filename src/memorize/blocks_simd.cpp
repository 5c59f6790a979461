#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "memorize/blocks.hpp"

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "memorize/blocks_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::blocks::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Two vectors of at most 16 lanes: kPoints is a multiple of what they hold.
template <class T>
using Lanes = hn::CappedTag<T, kPoints / 2>;

// <u_a, x> of four rows for two vectors of points: eight sums, as many as hide the latency of a fused
// multiply-add on two units. `use(a, low, high)` receives them. Sums over panels of kPanel terms.
template <class T, class Use>
HWY_INLINE void four_products(const T* U, Index cols, const T* x, Index stride, const Use& use) {
  const Lanes<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  auto t00 = hn::Zero(d), t01 = t00, t10 = t00, t11 = t00, t20 = t00, t21 = t00, t30 = t00, t31 = t00;
  for (Index begin = 0; begin < cols; begin += kPanel) {
    auto s00 = hn::Zero(d), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
    const Index end = std::min(cols, begin + kPanel);
    const T* at = x + begin * stride;
    for (Index j = begin; j < end; ++j, at += stride) {
      const auto low = hn::LoadU(d, at), high = hn::LoadU(d, at + lanes);
      const auto u0 = hn::Set(d, U[j]), u1 = hn::Set(d, U[cols + j]);
      const auto u2 = hn::Set(d, U[2 * cols + j]), u3 = hn::Set(d, U[3 * cols + j]);
      s00 = hn::MulAdd(u0, low, s00), s01 = hn::MulAdd(u0, high, s01);
      s10 = hn::MulAdd(u1, low, s10), s11 = hn::MulAdd(u1, high, s11);
      s20 = hn::MulAdd(u2, low, s20), s21 = hn::MulAdd(u2, high, s21);
      s30 = hn::MulAdd(u3, low, s30), s31 = hn::MulAdd(u3, high, s31);
    }
    t00 = hn::Add(t00, s00), t01 = hn::Add(t01, s01), t10 = hn::Add(t10, s10), t11 = hn::Add(t11, s11);
    t20 = hn::Add(t20, s20), t21 = hn::Add(t21, s21), t30 = hn::Add(t30, s30), t31 = hn::Add(t31, s31);
  }
  use(0, t00, t01), use(1, t10, t11), use(2, t20, t21), use(3, t30, t31);
}

template <class T, class Use>
HWY_INLINE void one_product(const T* U, Index cols, const T* x, Index stride, const Use& use) {
  const Lanes<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  auto t0 = hn::Zero(d), t1 = t0;
  for (Index begin = 0; begin < cols; begin += kPanel) {
    auto s0 = hn::Zero(d), s1 = s0;
    const Index end = std::min(cols, begin + kPanel);
    const T* at = x + begin * stride;
    for (Index j = begin; j < end; ++j, at += stride) {
      const auto u = hn::Set(d, U[j]);
      s0 = hn::MulAdd(u, hn::LoadU(d, at), s0), s1 = hn::MulAdd(u, hn::LoadU(d, at + lanes), s1);
    }
    t0 = hn::Add(t0, s0), t1 = hn::Add(t1, s1);
  }
  use(0, t0, t1);
}

// use(a, low, high) for every row a of U and the two vectors of points at x.
template <class T, class Use>
HWY_INLINE void products(const T* U, Index rows, Index cols, const T* x, Index stride, const Use& use) {
  Index a = 0;
  const auto shifted = [&](Index row, auto low, auto high) HWY_ATTR { use(a + row, low, high); };
  for (; a + 4 <= rows; a += 4) four_products(U + a * cols, cols, x, stride, shifted);
  for (; a < rows; ++a) one_product(U + a * cols, cols, x, stride, shifted);
}

template <class T>
void Affine(const T* U, const T* s, Index rows, Index cols, const T* x, Index count, T* z) {
  const Lanes<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < count; i += 2 * lanes)
    products(U, rows, cols, x + i, count, [&](Index a, auto low, auto high) HWY_ATTR {
      const auto shift = hn::Set(d, s != nullptr ? s[a] : T{0});
      hn::StoreU(hn::Add(low, shift), d, z + a * count + i);
      hn::StoreU(hn::Add(high, shift), d, z + a * count + i + lanes);
    });
}

// r = relu(U h + s) of two vectors of points, to `r` row by row; whether any of it is not 0.
template <class T>
HWY_INLINE bool activate(const Layer<T>& layer, const T* h, Index stride, T* r) {
  const Lanes<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  auto any = hn::Zero(d);
  products(layer.U, layer.rows, layer.cols, h, stride, [&](Index a, auto low, auto high) HWY_ATTR {
    const auto zero = hn::Zero(d), shift = hn::Set(d, layer.s[a]);
    low = hn::Add(low, shift), high = hn::Add(high, shift);
    low = hn::IfThenZeroElse(hn::Lt(low, zero), low);  // NaN stays
    high = hn::IfThenZeroElse(hn::Lt(high, zero), high);
    any = hn::Or(any, hn::Or(low, high));
    hn::StoreU(low, d, r + a * 2 * lanes);
    hn::StoreU(high, d, r + a * 2 * lanes + lanes);
  });
  return !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
}

// y <- y + V r for the same points.
template <class T>
HWY_INLINE void add_outputs(const Layer<T>& layer, const T* r, Index stride, T* y) {
  const Lanes<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index o = 0; o < layer.outputs; ++o) {
    T* at = y + o * stride;
    auto low = hn::LoadU(d, at), high = hn::LoadU(d, at + lanes);
    for (Index a = 0; a < layer.rows; ++a) {
      const auto v = hn::Set(d, layer.V[o * layer.rows + a]);
      low = hn::MulAdd(v, hn::LoadU(d, r + a * 2 * lanes), low);
      high = hn::MulAdd(v, hn::LoadU(d, r + a * 2 * lanes + lanes), high);
    }
    hn::StoreU(low, d, at);
    hn::StoreU(high, d, at + lanes);
  }
}

template <class T>
void Residual(const Layer<T>& first, Index blocks, Index count, T* h, T* scratch) {
  const Index pair = 2 * static_cast<Index>(hn::Lanes(Lanes<T>()));
  Layer<T> layer = first;
  for (Index j = 0; j < blocks; ++j) {
    // A block is 0 on most points: then h stays, bit for bit, without the second product.
    for (Index i = 0; i < count; i += pair)
      if (activate(layer, h + i, count, scratch)) add_outputs(layer, scratch, count, h + i);
    layer.U += layer.rows * layer.cols, layer.s += layer.rows, layer.V += layer.outputs * layer.rows;
  }
}

template <class T>
void Output(const Layer<T>& layer, const T* h, Index count, T* y, T* scratch) {
  const Index pair = 2 * static_cast<Index>(hn::Lanes(Lanes<T>()));
  std::fill(y, y + layer.outputs * count, T{0});
  for (Index i = 0; i < count; i += pair)
    if (activate(layer, h + i, count, scratch)) add_outputs(layer, scratch, count, y + i);
}

void LargestProducts(const double* U, Index rows, Index cols, const double* Z, Index stride, Index count,
                     double* largest) {
  const Lanes<double> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  std::vector<double> best(static_cast<std::size_t>(rows * lanes), -std::numeric_limits<double>::infinity());
  for (Index i = 0; i < count; i += 2 * lanes)
    products(U, rows, cols, Z + i, stride, [&](Index a, auto low, auto high) HWY_ATTR {
      double* at = best.data() + a * lanes;
      hn::StoreU(hn::Max(hn::LoadU(d, at), hn::Max(low, high)), d, at);
    });
  for (Index a = 0; a < rows; ++a)
    largest[a] =
        std::max(largest[a], *std::max_element(best.begin() + a * lanes, best.begin() + (a + 1) * lanes));
}

// Whether a row of the block may wake for one of two vectors of points; the largest value of each point to
// `top`.
HWY_INLINE bool may_wake(const float* U, const float* s, const float* norms, Index k, const float* h,
                         Index stride, const float* reach, float* top) {
  const Lanes<float> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto reach_low = hn::LoadU(d, reach), reach_high = hn::LoadU(d, reach + lanes);
  auto top_low = hn::Set(d, -std::numeric_limits<float>::infinity()), top_high = top_low;
  products(U, k, k, h, stride, [&](Index a, auto low, auto high) HWY_ATTR {
    const auto shift = hn::Set(d, s[a]), norm = hn::Set(d, norms[a]);
    top_low = hn::Max(top_low, hn::MulAdd(norm, reach_low, hn::Add(low, shift)));
    top_high = hn::Max(top_high, hn::MulAdd(norm, reach_high, hn::Add(high, shift)));
  });
  const auto zero = hn::Zero(d);
  if (hn::AllTrue(d, hn::And(hn::Lt(top_low, zero), hn::Lt(top_high, zero)))) return false;
  hn::StoreU(top_low, d, top);
  hn::StoreU(top_high, d, top + lanes);
  return true;
}

void ScreenFloat(const Screen& network, Index count, const float* h, const float* reach,
                 const std::function<void(Index block, Index point)>& awake) {
  const Index k = network.width, pair = 2 * static_cast<Index>(hn::Lanes(Lanes<float>()));
  float top[kPoints];
  for (Index j = 0; j < network.blocks; ++j) {
    const float* U = network.U + j * k * k;
    for (Index i = 0; i < count; i += pair)
      if (may_wake(U, network.s + j * k, network.norms + j * k, k, h + i, count, reach + i, top))
        for (Index lane = 0; lane < pair; ++lane)
          if (!(top[lane] < 0)) awake(j, i + lane);
  }
}

void AffineFloat(const float* U, const float* s, Index rows, Index cols, const float* x, Index count,
                 float* z) {
  Affine(U, s, rows, cols, x, count, z);
}
void AffineDouble(const double* U, const double* s, Index rows, Index cols, const double* x, Index count,
                  double* z) {
  Affine(U, s, rows, cols, x, count, z);
}
void ResidualFloat(const Layer<float>& first, Index blocks, Index count, float* h, float* scratch) {
  Residual(first, blocks, count, h, scratch);
}
void ResidualDouble(const Layer<double>& first, Index blocks, Index count, double* h, double* scratch) {
  Residual(first, blocks, count, h, scratch);
}
void OutputFloat(const Layer<float>& layer, const float* h, Index count, float* y, float* scratch) {
  Output(layer, h, count, y, scratch);
}
void OutputDouble(const Layer<double>& layer, const double* h, Index count, double* y, double* scratch) {
  Output(layer, h, count, y, scratch);
}

}  // namespace zeroloss::internal::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroloss::internal::blocks {

HWY_EXPORT(AffineFloat);
HWY_EXPORT(AffineDouble);
HWY_EXPORT(ResidualFloat);
HWY_EXPORT(ResidualDouble);
HWY_EXPORT(OutputFloat);
HWY_EXPORT(OutputDouble);
HWY_EXPORT(LargestProducts);
HWY_EXPORT(ScreenFloat);

template <>
void affine(const float* U, const float* s, Index rows, Index cols, const float* x, Index count, float* z) {
  HWY_DYNAMIC_DISPATCH(AffineFloat)(U, s, rows, cols, x, count, z);
}
template <>
void affine(const double* U, const double* s, Index rows, Index cols, const double* x, Index count,
            double* z) {
  HWY_DYNAMIC_DISPATCH(AffineDouble)(U, s, rows, cols, x, count, z);
}
template <>
void residual(const Layer<float>& first, Index blocks, Index count, float* h, float* scratch) {
  HWY_DYNAMIC_DISPATCH(ResidualFloat)(first, blocks, count, h, scratch);
}
template <>
void residual(const Layer<double>& first, Index blocks, Index count, double* h, double* scratch) {
  HWY_DYNAMIC_DISPATCH(ResidualDouble)(first, blocks, count, h, scratch);
}
template <>
void output(const Layer<float>& layer, const float* h, Index count, float* y, float* scratch) {
  HWY_DYNAMIC_DISPATCH(OutputFloat)(layer, h, count, y, scratch);
}
template <>
void output(const Layer<double>& layer, const double* h, Index count, double* y, double* scratch) {
  HWY_DYNAMIC_DISPATCH(OutputDouble)(layer, h, count, y, scratch);
}

void largest_products(const double* U, Index rows, Index cols, const double* Z, Index stride, Index count,
                      double* largest) {
  HWY_DYNAMIC_DISPATCH(LargestProducts)(U, rows, cols, Z, stride, count, largest);
}

void screen(const Screen& network, Index count, const float* h, const float* reach,
            const std::function<void(Index block, Index point)>& awake) {
  HWY_DYNAMIC_DISPATCH(ScreenFloat)(network, count, h, reach, awake);
}

}  // namespace zeroloss::internal::blocks
#endif
