// The activations and their derivatives on vectors: phi::Name::value(d, z), phi::Name::slope(d, z). Every
// operation is one of IEEE 754's, correctly rounded, and none depends on the number of lanes. NaN comes out
// as NaN.

#ifndef ZEROLOSS_ACTIVATION_TABLES
#define ZEROLOSS_ACTIVATION_TABLES
#include <cstdint>

namespace zeroloss::phi {

#include "kernel/activation_tables.inc"

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
};

template <>
struct Format<double> {
  static constexpr int kMantissa = 52, kSpare = 128, kBias = 1023;
  static constexpr double kRound = 0x1.8p52, kUnspare = 0x1p-128;
  static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr std::uint64_t kHighHalf = 0xfffffffff8000000;  // 26 of 53 bits
  static constexpr double kExpEnd = 760, kGaussEnd = 27.5, kNormalEnd = 39, kTanhEnd = 20, kErfEnd = 6;
};

}  // namespace zeroloss::phi
#endif

#if defined(ZEROLOSS_ACTIVATION_SIMD) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef ZEROLOSS_ACTIVATION_SIMD
#undef ZEROLOSS_ACTIVATION_SIMD
#else
#define ZEROLOSS_ACTIVATION_SIMD
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace zeroloss::phi::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using Vec = hn::Vec<D>;
template <class D>
using In = Format<hn::TFromD<D>>;
template <class D>
using Table = Tables<hn::TFromD<D>>;

template <class D>
HWY_INLINE Vec<D> set(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

// c[0] + c[1] x + ..
template <class D, class T, std::size_t N>
HWY_INLINE Vec<D> polynomial(D d, Vec<D> x, const T (&c)[N]) {
  auto sum = hn::Set(d, c[N - 1]);
  for (std::size_t k = N - 1; k-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[k]));
  return sum;
}

// |z|, but at most `end`: infinity times 0 must not come up.
template <class D>
HWY_INLINE Vec<D> size(D d, Vec<D> z, double end) {
  const auto t = hn::Abs(z), last = set(d, end);
  return hn::IfThenElse(hn::Gt(t, last), last, t);
}

template <class D>
HWY_INLINE auto negative(D d, Vec<D> z) {
  return hn::Lt(z, hn::Zero(d));
}

// exp(x) = 2^k (1 + rest) for x = high + low <= 0 with k > -kBias - kSpare; scale = 2^(k + kSpare).
template <int kSpare, class D>
HWY_INLINE Vec<D> exp_parts(D d, Vec<D> high, Vec<D> low, Vec<D>& scale) {
  const hn::RebindToUnsigned<D> du;
  constexpr double kRound = In<D>::kRound;
  const auto round = set(d, kRound + In<D>::kBias + kSpare);
  const auto shifted = hn::MulAdd(hn::Add(high, low), set(d, 1.4426950408889634), round);
  const auto k = hn::Sub(shifted, round);
  auto r = hn::NegMulAdd(k, hn::Set(d, In<D>::kLn2High), high);
  r = hn::Add(hn::NegMulAdd(k, hn::Set(d, In<D>::kLn2Low), r), low);
  scale = hn::BitCast(d, hn::ShiftLeft<In<D>::kMantissa>(hn::BitCast(du, shifted)));
  return hn::MulAdd(hn::Mul(r, r), polynomial(d, r, Table<D>::kExp), r);
}

// 2^spare exp(high + low), same range. What is to become denormal or 0 does so at the very end, by unspare.
template <class D>
HWY_INLINE Vec<D> spared_exp(D d, Vec<D> high, Vec<D> low) {
  Vec<D> scale;
  const auto rest = exp_parts<In<D>::kSpare>(d, high, low, scale);
  return hn::MulAdd(rest, scale, scale);
}

template <class D>
HWY_INLINE Vec<D> unspare(D d, Vec<D> x) {
  return hn::Mul(x, hn::Set(d, In<D>::kUnspare));
}

// 2^spare exp(-t), 0 <= t <= kExpEnd
template <class D>
HWY_INLINE Vec<D> spared_decay(D d, Vec<D> t) {
  return spared_exp(d, hn::Neg(t), hn::Zero(d));
}

// exp(-|z|)
template <class D>
HWY_INLINE Vec<D> decay(D d, Vec<D> z) {
  return unspare(d, spared_decay(d, size(d, z, In<D>::kExpEnd)));
}

// 2^spare exp(-factor t^2), factor 1 or 1/2; t^2 in two parts, else the relative error would grow like t^2 u.
template <class D>
HWY_INLINE Vec<D> spared_gaussian(D d, Vec<D> t, double factor) {
  const hn::RebindToUnsigned<D> du;
  const auto high = hn::BitCast(d, hn::And(hn::BitCast(du, t), hn::Set(du, In<D>::kHighHalf)));
  const auto minus = set(d, -factor);
  return spared_exp(d, hn::Mul(hn::Mul(minus, high), high),
                    hn::Mul(hn::Mul(minus, hn::Sub(t, high)), hn::Add(t, high)));
}

// 1 + 2 e + e^2
template <class D>
HWY_INLINE Vec<D> square_of_one_plus(D d, Vec<D> e) {
  return hn::MulAdd(e, hn::Add(e, set(d, 2)), set(d, 1));
}

struct Relu {
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    return hn::IfThenZeroElse(negative(d, z), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    return hn::IfThenElse(hn::Ge(z, hn::Zero(d)), set(d, 1), value(d, z));
  }
};

struct Quadratic {
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    return hn::Mul(hn::Mul(set(d, 0.5), z), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D, Vec<D> z) {
    return z;
  }
};

// With e = exp(-|z|), here and below.
struct Sigmoid {
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto e = decay(d, z), one = set(d, 1);
    return hn::Div(hn::IfThenElse(negative(d, z), e, one), hn::Add(one, e));
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto e = decay(d, z);
    return hn::Div(e, square_of_one_plus(d, e));
  }
};

struct Softplus {
  // max(z, 0) + log1p(e), and log1p(e) = 2 atanh(s), s = e/(2 + e), written as e - s (e - s^2 L(s^2)).
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto e = decay(d, z);
    const auto s = hn::Div(e, hn::Add(e, set(d, 2))), square = hn::Mul(s, s);
    const auto inner = hn::NegMulAdd(square, polynomial(d, square, Table<D>::kLog), e);
    return hn::Add(Relu::value(d, z), hn::NegMulAdd(s, inner, e));
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    return Sigmoid::value(d, z);
  }
};

struct Tanh {
  // -q/(2 + q), q = expm1(-2 |z|) = 2^k rest + (2^k - 1)
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    Vec<D> scale;
    const auto t = size(d, z, In<D>::kTanhEnd);
    const auto rest = exp_parts<0>(d, hn::Mul(set(d, -2), t), hn::Zero(d), scale);
    const auto q = hn::MulAdd(rest, scale, hn::Sub(scale, set(d, 1)));
    return hn::CopySign(hn::Div(q, hn::Add(q, set(d, 2))), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kExpEnd / 2), spared = spared_decay(d, hn::Add(t, t));
    const auto above = unspare(d, hn::Mul(set(d, 4), spared));
    return hn::Div(above, square_of_one_plus(d, unspare(d, spared)));
  }
};

struct Erf {
  // x + x E(x^2) up to 1/2, 1 - exp(-x^2) erfcx(x) from there
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto x = size(d, z, In<D>::kErfEnd);
    const auto near = hn::MulAdd(x, polynomial(d, hn::Mul(x, x), Table<D>::kErf), x);
    const auto erfcx = hn::Div(polynomial(d, x, Table<D>::kErfcxP), polynomial(d, x, Table<D>::kErfcxQ));
    const auto far = hn::NegMulAdd(unspare(d, spared_gaussian(d, x, 1)), erfcx, set(d, 1));
    return hn::CopySign(hn::IfThenElse(hn::Lt(x, set(d, 0.5)), near, far), z);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto spared = spared_gaussian(d, size(d, z, In<D>::kGaussEnd), 1);
    return unspare(d, hn::Mul(set(d, 1.1283791670955126), spared));
  }
};

// With e = exp(-t^2/2), t = |z|, and Phi(-t) = e M(t).
struct Gelu {
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kNormalEnd);
    const auto spared = hn::Div(hn::Mul(spared_gaussian(d, t, 0.5), polynomial(d, t, Table<D>::kMillsP)),
                                polynomial(d, t, Table<D>::kMillsQ));
    const auto below = unspare(d, hn::Mul(hn::Neg(t), spared));
    const auto above = hn::Mul(z, hn::Sub(set(d, 1), unspare(d, spared)));
    return hn::IfThenElse(negative(d, z), below, above);
  }
  // Phi(-t) - t density(t) = e (M(t) - t/sqrt(2 pi)), and 1 minus that for z >= 0
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kNormalEnd);
    const auto mills = hn::Div(polynomial(d, t, Table<D>::kMillsP), polynomial(d, t, Table<D>::kMillsQ));
    const auto gap = hn::NegMulAdd(t, set(d, 0.3989422804014327), mills);
    const auto below = unspare(d, hn::Mul(spared_gaussian(d, t, 0.5), gap));
    return hn::IfThenElse(negative(d, z), below, hn::Sub(set(d, 1), below));
  }
};

struct Silu {
  // -t e/(1 + e) for z < 0, z/(1 + e) for z >= 0
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kExpEnd), spared = spared_decay(d, t);
    const auto below = unspare(d, hn::Mul(hn::Neg(t), spared));
    const auto e = unspare(d, spared);
    return hn::Div(hn::IfThenElse(negative(d, z), below, z), hn::Add(set(d, 1), e));
  }
  // e (1 - t + e)/(1 + e)^2 for z < 0, (1 + e + t e)/(1 + e)^2 for z >= 0
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const auto t = size(d, z, In<D>::kExpEnd), spared = spared_decay(d, t);
    const auto e = unspare(d, spared), one = set(d, 1);
    const auto below = unspare(d, hn::Mul(spared, hn::Add(hn::Sub(one, t), e)));
    const auto above = hn::MulAdd(t, e, hn::Add(one, e));
    return hn::Div(hn::IfThenElse(negative(d, z), below, above), square_of_one_plus(d, e));
  }
};

}  // namespace zeroloss::phi::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
