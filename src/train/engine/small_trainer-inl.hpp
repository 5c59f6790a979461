#include <algorithm>
#include <type_traits>

#include "train/engine/small_trainer.hpp"

// What bounds a step: 4 n d m flops in multiply-adds whose operands come from the first-level cache (a block
// of 4 x 4 or 4 x 3 accumulators loads half an operand a multiply-add), the activations (about 30 operations
// and one division each for softplus), and in the pass back the sums over lanes, which a tree of shuffles
// takes for a whole vector of weights at once. Sums over points: lane l adds up the points l, l + lanes, ..,
// then lanes are added in pairs.
//
// small_trainer_float_simd.cpp and small_trainer_double_simd.cpp include this for each instruction set.

#include <hwy/highway.h>

#include "kernel/activations/vectors-inl.hpp"

#ifndef ZEROLOSS_SMALL_TRAINER_ONCE
#define ZEROLOSS_SMALL_TRAINER_ONCE
namespace zeroloss::internal::small {
using Number = ZEROLOSS_NUMBER;
}
#endif

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::small::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace functions = phi::HWY_NAMESPACE;

template <class T>
using Full = hn::ScalableTag<T>;
template <class D>
using Vec = hn::Vec<D>;
template <class T>
constexpr Index kLanes = static_cast<Index>(hn::MaxLanes(Full<T>()));
template <class T>
constexpr Index kNeurons = std::min<Index>(4, kLanes<T>);
template <class T>
constexpr Index kInputs = kLanes<T> / kNeurons<T>;

// Vectors of points that a part of the pass forward takes, and vectors that go through an activation side by
// side: as many as there are registers for.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr Index kPoints = kMostVectors;
constexpr int kPack = kSlack + 1;
#else
constexpr Index kPoints = 3;
constexpr int kPack = 3;
#endif

// f(std::integral_constant<Index, count>) for a count known at run time, 1..kMost
template <Index kMost, class F>
HWY_INLINE void with_count(Index count, const F& f) {
  if constexpr (kMost > 1)
    if (count < kMost) return with_count<kMost - 1>(count, f);
  f(std::integral_constant<Index, kMost>());
}

// ---- forward ---------------------------------------------------------------------------------------------

// Z for kRows neurons from `j` on, whose weights begin at w, and kCount vectors of points from `first` on.
template <Index kRows, Index kCount, class T>
void multiply(const Network<T>& s, const T* w, Index j, Index first) {
  const Full<T> d;
  constexpr Index kWide = kLanes<T>, kIn = kInputs<T>;
  Vec<Full<T>> sum[kRows][kCount];
  for (Index a = 0; a < kRows; ++a)
    for (Index c = 0; c < kCount; ++c) sum[a][c] = hn::Zero(d);
  const T* x = s.X + first * s.d * kWide;
  const auto add_input = [&](const T* column) HWY_ATTR {
    Vec<Full<T>> point[kCount];
    for (Index c = 0; c < kCount; ++c) point[c] = hn::Load(d, x + c * s.d * kWide);
    for (Index a = 0; a < kRows; ++a) {
      const auto weight = hn::Set(d, column[a * kIn]);
      for (Index c = 0; c < kCount; ++c) sum[a][c] = hn::MulAdd(weight, point[c], sum[a][c]);
    }
    x += kWide;
  };
  Index i = 0;
  for (; i + kIn <= s.d; i += kIn, w += kWide)
    for (Index b = 0; b < kIn; ++b) add_input(w + b);
  for (; i < s.d; ++i) add_input(w++);
  for (Index a = 0; a < kRows; ++a)
    for (Index c = 0; c < kCount; ++c) hn::Store(sum[a][c], d, s.Z + ((first + c) * s.m + j + a) * kWide);
}

// squares += r^2 of each pair of lanes, in double
HWY_INLINE void add_squares(Vec<Full<double>> r, Vec<Full<double>>& squares) {
  squares = hn::MulAdd(r, r, squares);
}
HWY_INLINE void add_squares(Vec<Full<float>> r, Vec<Full<double>>& squares) {
  const Full<double> wide;
#if HWY_TARGET == HWY_SCALAR
  add_squares(hn::PromoteTo(wide, r), squares);
#else
  const hn::Half<Full<float>> half;
  add_squares(hn::PromoteTo(wide, hn::LowerHalf(half, r)), squares);
  add_squares(hn::PromoteTo(wide, hn::UpperHalf(half, r)), squares);
#endif
}

// From Z to phi'(Z) in place and phi(Z) in s.values, `count` vectors that follow one another, rounded up to
// whole packs: what lies behind them is overwritten.
template <class Function, class T>
void activate(const Network<T>& s, T* z, Index count) {
  const Full<T> d;
  constexpr Index kWide = kLanes<T>;
  functions::Pack<Vec<Full<T>>, kPack> in, value, slope;
  T* values = s.values;
  for (Index e = 0; e < count; e += kPack, z += kPack * kWide, values += kPack * kWide) {
    for (int k = 0; k < kPack; ++k) in.v[k] = hn::Load(d, z + k * kWide);
    Function::both(functions::Several<Full<T>, kPack>(), in, value, slope);
    for (int k = 0; k < kPack; ++k) hn::Store(slope.v[k], d, z + k * kWide);
    for (int k = 0; k < kPack; ++k) hn::Store(value.v[k], d, values + k * kWide);
  }
}

// f = phi(Z) v and r = f - y for kCount vectors of points from `first` on; squares += r^2
template <Index kCount, class T>
HWY_INLINE void residuals(const Network<T>& s, Index first, Vec<Full<double>>& squares) {
  const Full<T> d;
  constexpr Index kWide = kLanes<T>;
  Vec<Full<T>> f[kCount];
  for (Index c = 0; c < kCount; ++c) f[c] = hn::Zero(d);
  for (Index j = 0; j < s.m; ++j) {
    const auto v = hn::Set(d, s.v[j]);
    for (Index c = 0; c < kCount; ++c)
      f[c] = hn::MulAdd(v, hn::Load(d, s.values + (c * s.m + j) * kWide), f[c]);
  }
  for (Index c = 0; c < kCount; ++c) {
    const Index p = (first + c) * kWide;
    const auto r = hn::And(hn::Load(d, s.inside + p), hn::Sub(f[c], hn::Load(d, s.y + p)));
    hn::Store(r, d, s.r + p);
    add_squares(r, squares);
  }
}

template <class T>
using Activate = void (*)(const Network<T>&, T*, Index);

// The only part of a step that is compiled once for each function: a call of it takes some 100 vectors.
template <class T>
Activate<T> activate_of(Phi phi) {
  Activate<T> found = nullptr;
  functions::with(phi, [&](auto function) { found = activate<decltype(function), T>; });
  return found;
}

template <class T>
double pass_forward(Activate<T> activate, const Network<T>& s) {
  constexpr Index kWide = kLanes<T>, kRows = kNeurons<T>;
  const Index vectors = (s.n + kWide - 1) / kWide, parts = (vectors + kPoints - 1) / kPoints;
  const Index row = (s.d + kInputs<T> - 1) / kInputs<T> * kWide;  // weights of kNeurons neurons
  Vec<Full<double>> squares = hn::Zero(Full<double>());
  for (Index part = 0; part < parts; ++part) {
    const Index first = part * vectors / parts, count = (part + 1) * vectors / parts - first;
    const T* w = s.W;
    for (Index j = 0; j < s.m; j += kRows, w += row)
      with_count<kRows>(std::min(kRows, s.m - j), [&](auto rows) HWY_ATTR {
        with_count<kPoints>(count, [&](auto points) HWY_ATTR { multiply<rows(), points()>(s, w, j, first); });
      });
    activate(s, s.Z + first * s.m * kWide, count * s.m);
    with_count<kPoints>(count, [&](auto points) HWY_ATTR { residuals<points()>(s, first, squares); });
  }
  return hn::GetLane(hn::SumOfLanes(Full<double>(), squares));
}

// ---- back ------------------------------------------------------------------------------------------------

// One vector from two: lanes whose number has the bit kBit come from b, the others from a, each added to the
// lane whose number differs in that bit.
#if HWY_TARGET != HWY_SCALAR
template <Index kBit, class T>
HWY_INLINE Vec<Full<T>> fold(Vec<Full<T>> a, Vec<Full<T>> b) {
  const Full<T> d;
  constexpr Index kBytes = kBit * static_cast<Index>(sizeof(T));
  if constexpr (kBytes >= 16 && 2 * kBit == kLanes<T>) {
    return hn::Add(hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a));
  } else if constexpr (kBytes >= 16) {
    return hn::Add(hn::OddEvenBlocks(b, a), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(a, b)));
  } else if constexpr (kBytes == 8) {
    const hn::Repartition<double, Full<T>> wide;
    const auto a2 = hn::BitCast(wide, a), b2 = hn::BitCast(wide, b);
    return hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, a2, b2)),
                   hn::BitCast(d, hn::InterleaveUpper(wide, a2, b2)));
  } else {
    return hn::Add(hn::OddEven(b, a), hn::Shuffle2301(hn::OddEven(a, b)));
  }
}
#endif

// The sums over lanes of as many vectors as there are lanes, the k-th in lane k: sums_of_lanes<1, 0>(v). In
// general, those of v[kFirst], v[kFirst + kBit], ..
template <Index kBit, Index kFirst, class T, class V>
HWY_INLINE V sums_of_lanes(const V (&v)[kLanes<T>]) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kBit < kLanes<T>)
    return fold<kBit, T>(sums_of_lanes<2 * kBit, kFirst, T>(v), sums_of_lanes<2 * kBit, kFirst + kBit, T>(v));
#endif
  return v[kFirst];
}

// One block of weights: kRows neurons from j on, kCount inputs from i on. The first block of a row of blocks
// also leaves diag(r) phi'(Z) for the others.
template <Index kRows, Index kCount, bool kFirst, class T>
void move_block(const Network<T>& s, Index j, Index i, T* w, const T* pull) {
  const Full<T> d;
  constexpr Index kWide = kLanes<T>;
  Vec<Full<T>> sum[kWide];
  for (Index k = 0; k < kWide; ++k) sum[k] = hn::Zero(d);
  const T *x = s.X + i * kWide, *slopes = s.Z + j * kWide, *r = s.r;
  T* scaled = s.scaled;
  for (Index p = 0; p < s.n; p += kWide) {
    Vec<Full<T>> S[kRows];
    for (Index a = 0; a < kRows; ++a) {
      if constexpr (kFirst) {
        S[a] = hn::Mul(hn::Load(d, slopes + a * kWide), hn::Load(d, r));
        hn::Store(S[a], d, scaled + a * kWide);
      } else {
        S[a] = hn::Load(d, scaled + a * kWide);
      }
    }
    for (Index b = 0; b < kCount; ++b) {
      const auto point = hn::Load(d, x + b * kWide);
      for (Index a = 0; a < kRows; ++a)
        sum[a * kInputs<T> + b] = hn::MulAdd(S[a], point, sum[a * kInputs<T> + b]);
    }
    x += s.d * kWide;
    slopes += s.m * kWide;
    scaled += kRows * kWide;
    r += kWide;
  }
  const auto total = sums_of_lanes<1, 0, T>(sum);
  hn::Store(hn::MulAdd(hn::Load(d, pull), total, hn::Load(d, w)), d, w);
}

// W <- W - step diag(v) phi'(Z)^T diag(r) X
template <class T>
void move_weights(const Network<T>& s) {
  constexpr Index kWide = kLanes<T>, kIn = kInputs<T>;
  T* w = s.W;
  const T* pull = s.pull;
  for (Index j = 0; j < s.m; j += kNeurons<T>, pull += kWide)
    with_count<kNeurons<T>>(std::min(kNeurons<T>, s.m - j), [&](auto rows) HWY_ATTR {
      for (Index i = 0; i < s.d; i += kIn, w += kWide)
        with_count<kIn>(std::min(kIn, s.d - i), [&](auto count) HWY_ATTR {
          if (i == 0)
            move_block<rows(), count(), true>(s, j, i, w, pull);
          else
            move_block<rows(), count(), false>(s, j, i, w, pull);
        });
    });
}

double Forward(Phi phi, const Network<Number>& s) { return pass_forward(activate_of<Number>(phi), s); }

Index Descend(Phi phi, const Network<Number>& s, Index most, double low, double high, double& squares) {
  const Activate<Number> activate = activate_of<Number>(phi);
  Index taken = 0;
  do {
    move_weights(s);
    squares = pass_forward(activate, s);
    ++taken;
  } while (taken < most && squares > low && squares < high);
  return taken;
}

// The argument tells the two files' functions apart.
Blocks BlocksOf(Number) { return {kNeurons<Number>, kInputs<Number>}; }

}  // namespace zeroloss::internal::small::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroloss::internal::small {

HWY_EXPORT(BlocksOf);
HWY_EXPORT(Forward);
HWY_EXPORT(Descend);

template <>
Blocks blocks<Number>() {
  return HWY_DYNAMIC_DISPATCH(BlocksOf)(0);
}
template <>
double forward(Phi phi, const Network<Number>& network) {
  return HWY_DYNAMIC_DISPATCH(Forward)(phi, network);
}
template <>
Index descend(Phi phi, const Network<Number>& network, Index most, double low, double high, double& squares) {
  return HWY_DYNAMIC_DISPATCH(Descend)(phi, network, most, low, high, squares);
}

}  // namespace zeroloss::internal::small
#endif
