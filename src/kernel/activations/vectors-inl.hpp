// The activations and their derivatives on vectors: phi::Name::value(d, z), phi::Name::slope(d, z). Every
// operation is one of IEEE 754's, correctly rounded, and none depends on the number of lanes. NaN comes out
// as NaN.
//
// phi::Name::both(d, z, value, slope) is quicker: it shares one exponential and one division, and lets no
// exponential fall below In::kNegligible. Training then meets no denormal numbers, which cost a processor a
// hundred cycles each.
//
// Here are the tools; the activations are in headers of their own, which list.hpp includes.

#ifndef ZEROLOSS_ACTIVATION_TABLES
#define ZEROLOSS_ACTIVATION_TABLES
#include <cstdint>

#include "kernel/activations/list.hpp"

namespace zeroloss::internal::phi {

#include "kernel/activations/tables.inc"

// exp's reduction x = k ln2 + r. k kLn2High is exact for every k that occurs. Adding kRound leaves k as an
// integer in the low bits, and with kBias the exponent field of 2^(k + kSpare) once shifted by kMantissa: the
// spare exponent keeps 2^k normal where exp(x) no longer is.
template <class T>
struct Format;

template <>
struct Format<float> {
  static constexpr int kMantissa = 23, kSpare = 64, kBias = 127;
  static constexpr float kRound = 0x1.8p23f, kUnspare = 0x1p-64f;
  static constexpr float kLn2High = 0x1.63p-1f, kLn2Low = -0x1.bd0106p-13f;
  static constexpr std::uint32_t kHighHalf = 0xfffff000;  // 12 of 24 bits: their square is exact
  // From here on: t exp(-t), exp(-x^2) and t Phi(-t) round to 0, tanh and erf to 1.
  static constexpr float kExpEnd = 110, kGaussEnd = 10.5, kNormalEnd = 15, kTanhEnd = 10, kErfEnd = 4;
  static constexpr float kNegligible = 0x1p-62f, kQuickEnd = 42.9f;  // exp(-kQuickEnd) is just above it
};

template <>
struct Format<double> {
  static constexpr int kMantissa = 52, kSpare = 128, kBias = 1023;
  static constexpr double kRound = 0x1.8p52, kUnspare = 0x1p-128;
  static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr std::uint64_t kHighHalf = 0xfffffffff8000000;  // 26 of 53 bits
  static constexpr double kExpEnd = 760, kGaussEnd = 27.5, kNormalEnd = 39, kTanhEnd = 20, kErfEnd = 6;
  static constexpr double kNegligible = 0x1p-400, kQuickEnd = 277.2;
};

}  // namespace zeroloss::internal::phi
#endif

#if defined(ZEROLOSS_ACTIVATION_SIMD) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef ZEROLOSS_ACTIVATION_SIMD
#undef ZEROLOSS_ACTIVATION_SIMD
#else
#define ZEROLOSS_ACTIVATION_SIMD
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::phi::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Several vectors that go through a function side by side: one alone would keep the processor waiting for
// each operation's result. Several<D, K> is their tag, op:: has the operations for them and for single
// vectors.
template <class V, int K>
struct Pack {
  V v[K];
};
template <class D, int K>
struct Several {};

template <class D>
struct Traits {
  using Vec = hn::Vec<D>;
  using Number = hn::TFromD<D>;
  using Unsigned = hn::RebindToUnsigned<D>;
};
template <class D, int K>
struct Traits<Several<D, K>> {
  using Vec = Pack<hn::Vec<D>, K>;
  using Number = hn::TFromD<D>;
  using Unsigned = Several<hn::RebindToUnsigned<D>, K>;
};
template <class D>
using Vec = typename Traits<D>::Vec;
template <class D>
using Number = typename Traits<D>::Number;
template <class D>
using Unsigned = typename Traits<D>::Unsigned;

namespace op {

// f(v..) of single vectors, and of packs one by one
template <class F, class V, class... More>
HWY_INLINE auto each(const F& f, const V& first, const More&... more) {
  return f(first, more...);
}
template <class F, class V, int K, class... More>
HWY_INLINE auto each(const F& f, const Pack<V, K>& first, const Pack<More, K>&... more) {
  Pack<decltype(f(first.v[0], more.v[0]...)), K> result;
  for (int k = 0; k < K; ++k) result.v[k] = f(first.v[k], more.v[k]...);
  return result;
}

#define ZEROLOSS_OP(Name)                                                 \
  template <class... V>                                                   \
  HWY_INLINE auto Name(const V&... v) {                                   \
    return each([](auto... x) HWY_ATTR { return hn::Name(x...); }, v...); \
  }
ZEROLOSS_OP(Abs)
ZEROLOSS_OP(Add)
ZEROLOSS_OP(And)
ZEROLOSS_OP(CopySign)
ZEROLOSS_OP(Div)
ZEROLOSS_OP(Ge)
ZEROLOSS_OP(Gt)
ZEROLOSS_OP(IfThenElse)
ZEROLOSS_OP(IfThenZeroElse)
ZEROLOSS_OP(Lt)
ZEROLOSS_OP(Max)
ZEROLOSS_OP(Min)
ZEROLOSS_OP(Mul)
ZEROLOSS_OP(MulAdd)
ZEROLOSS_OP(Neg)
ZEROLOSS_OP(NegMulAdd)
ZEROLOSS_OP(NegMulSub)
ZEROLOSS_OP(Sub)
ZEROLOSS_OP(Xor)
#undef ZEROLOSS_OP

using hn::BitCast;
using hn::Set;
using hn::ShiftLeft;
using hn::Zero;

template <class D, int K, class V>
HWY_INLINE Vec<Several<D, K>> BitCast(Several<D, K>, const Pack<V, K>& from) {
  return each([](auto v) HWY_ATTR { return hn::BitCast(D(), v); }, from);
}
template <int kBits, class V, int K>
HWY_INLINE Pack<V, K> ShiftLeft(const Pack<V, K>& from) {
  return each([](auto v) HWY_ATTR { return hn::ShiftLeft<kBits>(v); }, from);
}
template <class D, int K>
HWY_INLINE Vec<Several<D, K>> Set(Several<D, K>, hn::TFromD<D> value) {
  Vec<Several<D, K>> result;
  for (int k = 0; k < K; ++k) result.v[k] = hn::Set(D(), value);
  return result;
}
template <class D, int K>
HWY_INLINE Vec<Several<D, K>> Zero(Several<D, K>) {
  return Set(Several<D, K>(), 0);
}

}  // namespace op

template <class D>
using In = Format<Number<D>>;
template <class D>
using Table = Tables<Number<D>>;

template <class D>
HWY_INLINE Vec<D> set(D d, double value) {
  return op::Set(d, static_cast<Number<D>>(value));
}

// c[0] + c[1] x + ..
template <class D, class T, std::size_t N>
HWY_INLINE Vec<D> polynomial(D d, Vec<D> x, const T (&c)[N]) {
  auto sum = op::Set(d, c[N - 1]);
  for (std::size_t k = N - 1; k-- > 0;) sum = op::MulAdd(sum, x, op::Set(d, c[k]));
  return sum;
}

// |z|, but at most `end`: infinity times 0 must not come up.
template <class D>
HWY_INLINE Vec<D> size(D d, Vec<D> z, double end) {
  const auto t = op::Abs(z), last = set(d, end);
  return op::IfThenElse(op::Gt(t, last), last, t);
}

template <class D>
HWY_INLINE auto negative(D d, Vec<D> z) {
  return op::Lt(z, op::Zero(d));
}

// exp(x) = 2^k (1 + rest) for x = high + low <= 0 with k > -kBias - kSpare; scale = 2^(k + kSpare).
template <int kSpare, class D>
HWY_INLINE Vec<D> exp_parts(D d, Vec<D> high, Vec<D> low, Vec<D>& scale) {
  const Unsigned<D> du;
  constexpr double kRound = In<D>::kRound;
  const auto round = set(d, kRound + In<D>::kBias + kSpare);
  const auto shifted = op::MulAdd(op::Add(high, low), set(d, 1.4426950408889634), round);
  const auto k = op::Sub(shifted, round);
  auto r = op::NegMulAdd(k, op::Set(d, In<D>::kLn2High), high);
  r = op::Add(op::NegMulAdd(k, op::Set(d, In<D>::kLn2Low), r), low);
  scale = op::BitCast(d, op::ShiftLeft<In<D>::kMantissa>(op::BitCast(du, shifted)));
  return op::MulAdd(op::Mul(r, r), polynomial(d, r, Table<D>::kExp), r);
}

// 2^spare exp(high + low), same range. What is to become denormal or 0 does so at the very end, by unspare.
template <class D>
HWY_INLINE Vec<D> spared_exp(D d, Vec<D> high, Vec<D> low) {
  Vec<D> scale;
  const auto rest = exp_parts<In<D>::kSpare>(d, high, low, scale);
  return op::MulAdd(rest, scale, scale);
}

template <class D>
HWY_INLINE Vec<D> unspare(D d, Vec<D> x) {
  return op::Mul(x, op::Set(d, In<D>::kUnspare));
}

// 2^spare exp(-t), 0 <= t <= kExpEnd
template <class D>
HWY_INLINE Vec<D> spared_decay(D d, Vec<D> t) {
  return spared_exp(d, op::Neg(t), op::Zero(d));
}

// exp(-|z|)
template <class D>
HWY_INLINE Vec<D> decay(D d, Vec<D> z) {
  return unspare(d, spared_decay(d, size(d, z, In<D>::kExpEnd)));
}

template <class V>
HWY_INLINE V plus(const V& a) {
  return a;
}
template <class V>
HWY_INLINE V plus(const V& a, const V& b) {
  return op::Add(a, b);
}
template <class V>
HWY_INLINE V minus(const V& a) {
  return a;
}
template <class V>
HWY_INLINE V minus(const V& a, const V& b) {
  return op::Sub(a, b);
}

// exp(-t) = scale (1 + rest) for 0 <= t <= kQuickEnd, and for larger t as for that; t = high + low, where low
// is small or not there.
template <class D, class... Low>
HWY_INLINE Vec<D> quick_parts(D d, Vec<D> high, Vec<D>& scale, Low... low) {
  const Unsigned<D> du;
  const auto end = op::Min(op::Set(d, In<D>::kQuickEnd), high);  // in this order NaN stays NaN
  const auto round = set(d, static_cast<double>(In<D>::kRound) + In<D>::kBias);
  const auto shifted = op::NegMulAdd(plus(end, low...), set(d, 1.4426950408889634), round);
  const auto k = op::Sub(shifted, round);
  auto r = op::NegMulSub(k, op::Set(d, In<D>::kLn2High), end);
  r = minus(op::NegMulAdd(k, op::Set(d, In<D>::kLn2Low), r), low...);
  scale = op::BitCast(d, op::ShiftLeft<In<D>::kMantissa>(op::BitCast(du, shifted)));
  return op::MulAdd(op::Mul(r, r), polynomial(d, r, Table<D>::kExp), r);
}

// exp(-t), the same
template <class D, class... Low>
HWY_INLINE Vec<D> quick_exp(D d, Vec<D> high, Low... low) {
  Vec<D> scale;
  const auto rest = quick_parts(d, high, scale, low...);
  return op::MulAdd(rest, scale, scale);
}

// factor t^2 = high + low; in one number its rounding would be a relative error of t^2 u in the exponential.
template <class D>
HWY_INLINE Vec<D> square_parts(D d, Vec<D> t, double factor, Vec<D>& low) {
  const Unsigned<D> du;
  const auto half = op::BitCast(d, op::And(op::BitCast(du, t), op::Set(du, In<D>::kHighHalf)));
  const auto scale = set(d, factor);
  low = op::Mul(op::Mul(scale, op::Sub(t, half)), op::Add(t, half));
  return op::Mul(op::Mul(scale, half), half);
}

// 2^spare exp(-factor t^2), factor 1 or 1/2
template <class D>
HWY_INLINE Vec<D> spared_gaussian(D d, Vec<D> t, double factor) {
  Vec<D> low;
  const auto high = square_parts(d, t, -factor, low);
  return spared_exp(d, high, low);
}

// exp(-factor t^2), as quick_exp
template <class D>
HWY_INLINE Vec<D> quick_gaussian(D d, Vec<D> t, double factor) {
  Vec<D> low;
  const auto high = square_parts(d, t, factor, low);
  return quick_exp(d, high, low);
}

// 1 + 2 e + e^2
template <class D>
HWY_INLINE Vec<D> square_of_one_plus(D d, Vec<D> e) {
  return op::MulAdd(e, op::Add(e, set(d, 2)), set(d, 1));
}

// max(z, 0)
template <class D>
HWY_INLINE Vec<D> positive_part(D d, Vec<D> z) {
  return op::IfThenZeroElse(negative(d, z), z);
}

// 1/(1 + exp(-z)), with e = exp(-|z|)
template <class D>
HWY_INLINE Vec<D> logistic(D d, Vec<D> z) {
  const auto e = decay(d, z), one = set(d, 1);
  return op::Div(op::IfThenElse(negative(d, z), e, one), op::Add(one, e));
}

#define ZEROLOSS_VECTORS
#include "kernel/activations/list.hpp"
#undef ZEROLOSS_VECTORS

// f(Relu()) for Phi::relu, and so on.
template <class F>
HWY_INLINE void with(Phi phi, const F& f) {
  switch (phi) {
#define ZEROLOSS_ROW(name, Description) \
  case Phi::name:                       \
    return f(Description());
    ZEROLOSS_ACTIVATIONS(ZEROLOSS_ROW)
#undef ZEROLOSS_ROW
  }
}

}  // namespace zeroloss::internal::phi::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
