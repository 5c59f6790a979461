// sin
#ifndef ZEROLOSS_VECTORS  // the description
#ifndef ZEROLOSS_SIN
#define ZEROLOSS_SIN
#include "kernel/activations/scalar.hpp"

namespace zeroloss::internal::activations {

struct Sin {
  static constexpr double B = 1, M = 1;
  static constexpr Parity parity = Parity::even;
  static constexpr Ulps phi_ulps{2.1, 2.1, 2.1}, dphi_ulps{2.1, 2.1, 2.1};

  template <class T>
  static T phi(T z) {  // 8
    return std::sin(z);
  }
  static double dphi(double z) { return std::cos(z); }    // 8
  static double d2phi(double z) { return -std::sin(z); }  // 8

  template <class Graph>
  static auto onnx(Graph& graph, const typename Graph::Value& z) {
    return graph.node("Sin", {z});
  }
};

}  // namespace zeroloss::internal::activations
#endif
#else  // the vectors

// z = k pi/2 + r. Up to kEnd, k times the first two parts of pi/2 is exact, fused or not: z - k kFirst is
// exact too, and r is off by two roundings at most, by less where it is tiny. No float or double in that
// range is nearer than 2^-31 (2^-62) to a multiple of pi/2, of which k times the error of the last part
// is nothing. Then Taylor's series for |r| <= pi/4, cut where it is below 2^-27 (2^-58) of the value.
template <class T>
struct Turns;

template <>
struct Turns<float> {
  static constexpr double kEnd = 128;
  static constexpr float kFirst = 0x1.921fp+0f, kSecond = 0x1.6a88p-17f, kThird = 0x1.0b4612p-34f;
  static constexpr float kSine[] = {-1.f / 6, 1.f / 120, -1.f / 5040, 1.f / 362880};
  static constexpr float kCosine[] = {-.5f, 1.f / 24, -1.f / 720, 1.f / 40320, -1.f / 3628800};
};

template <>
struct Turns<double> {
  static constexpr double kEnd = 4096;
  static constexpr double kFirst = 0x1.921fb54442p+0, kSecond = 0x1.a308d31319p-41,
                          kThird = 0x1.145c06e0e6895p-82;
  static constexpr double kSine[] = {
      -1. / 6,         1. / 120,         -1. / 5040,           1. / 362880,
      -1. / 39916800., 1. / 6227020800., -1. / 1307674368000., 1. / 355687428096000.};
  static constexpr double kCosine[] = {
      -1. / 2,       1. / 24,         -1. / 720,          1. / 40320,
      -1. / 3628800, 1. / 479001600., -1. / 87178291200., 1. / 20922789888000.};
};

struct Sin {
  template <class D>
  static HWY_INLINE Vec<D> value(D d, Vec<D> z) {
    const Parts<D> p(d, z);
    return near_or_far(d, z, p.turned(d, 0), false);
  }
  template <class D>
  static HWY_INLINE Vec<D> slope(D d, Vec<D> z) {
    const Parts<D> p(d, z);
    return near_or_far(d, z, p.turned(d, 1), true);
  }
  template <class D>
  static HWY_INLINE void both(D d, Vec<D> z, Vec<D>& value_z, Vec<D>& slope_z) {
    const Parts<D> p(d, z);
    value_z = near_or_far(d, z, p.turned(d, 0), false);
    slope_z = near_or_far(d, z, p.turned(d, 1), true);
  }

 private:
  template <class D>
  struct Parts {
    using T = Number<D>;
    using Bits = Number<Unsigned<D> >;
    Vec<Unsigned<D> > k;  // its two lowest bits
    Vec<D> sine, cosine;  // of r

    HWY_INLINE Parts(D d, Vec<D> z) {
      const auto round = op::Set(d, In<D>::kRound);
      const auto shifted = op::MulAdd(z, set(d, 0.6366197723675814), round), turns = op::Sub(shifted, round);
      auto r = op::NegMulAdd(turns, op::Set(d, Turns<T>::kFirst), z);
      r = op::NegMulAdd(turns, op::Set(d, Turns<T>::kSecond), r);
      r = op::NegMulAdd(turns, op::Set(d, Turns<T>::kThird), r);
      const auto square = op::Mul(r, r);
      k = op::BitCast(Unsigned<D>(), shifted);
      sine = op::MulAdd(op::Mul(r, square), polynomial(d, square, Turns<T>::kSine), r);
      cosine = op::MulAdd(square, polynomial(d, square, Turns<T>::kCosine), set(d, 1));
    }
    // sin(r + (k + more) pi/2)
    HWY_INLINE Vec<D> turned(D d, Bits more) const {
      constexpr int kTop = 8 * sizeof(T) - 2;
      const Unsigned<D> du;
      const auto q = op::ShiftLeft<kTop>(op::Add(k, op::Set(du, more)));  // its bits lead: minus, cosine
      const auto odd = op::BitCast(d, op::And(q, op::Set(du, Bits{1} << kTop)));  // 2 or 0
      const auto size = op::IfThenElse(op::Gt(odd, op::Zero(d)), cosine, sine);
      const auto sign = op::And(q, op::Set(du, Bits{2} << kTop));
      return op::BitCast(d, op::Xor(op::BitCast(du, size), sign));
    }
  };

  template <class T>
  static HWY_NOINLINE void far(const T* z, std::size_t count, bool derivative, T* result) {
    for (std::size_t i = 0; i < count; ++i)
      if (std::abs(z[i]) > Turns<T>::kEnd)
        result[i] = static_cast<T>(derivative ? std::cos(double{z[i]}) : std::sin(double{z[i]}));
  }
  // The C library's beyond kEnd: pre-activations of that size come up where training diverges.
  template <class D>
  static HWY_INLINE Vec<D> near_or_far(D, Vec<D> z, Vec<D> near, bool derivative) {
    const auto single = [derivative](auto z1, auto near1) HWY_ATTR {
      const hn::DFromV<decltype(z1)> d1;
      using T = hn::TFromD<decltype(d1)>;
      const auto end = hn::Set(d1, static_cast<T>(Turns<T>::kEnd));
      if (HWY_LIKELY(hn::AllFalse(d1, hn::Gt(hn::Abs(z1), end)))) return near1;
      HWY_ALIGN T numbers[HWY_MAX_BYTES / sizeof(T)], result[HWY_MAX_BYTES / sizeof(T)];
      hn::StoreU(z1, d1, numbers);
      hn::StoreU(near1, d1, result);
      far(numbers, hn::Lanes(d1), derivative, result);
      return hn::LoadU(d1, result);
    };
    return op::each(single, z, near);
  }
};

#endif
