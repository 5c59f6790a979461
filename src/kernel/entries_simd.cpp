#include <algorithm>
#include <iterator>
#include <numbers>
#include <vector>

#include "kernel/deep_kernel.hpp"
#include "kernel/entries.hpp"

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/entries_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#ifndef ZEROLOSS_ENTRIES_ONCE
#define ZEROLOSS_ENTRIES_ONCE
namespace zeroloss::internal::entries {

// rho^factors times a polynomial in rho, or in rho^2 where every coefficient sits at one parity (half the
// work).
template <class T>
struct Polynomial {
  std::vector<T> coefficients;  // ascending
  bool squared = false;
  int factors = 0;
};

template <class T>
Polynomial<T> polynomial(const Kernel& kernel) {
  const auto& full = kernel.dual.coefficients;
  bool any[2] = {false, false};
  for (std::size_t r = 0; r < full.size(); ++r) any[r % 2] |= full[r] != 0;
  Polynomial<T> p;
  p.squared = !(any[0] && any[1]);
  const bool odd = any[1] && !any[0];
  for (std::size_t r = odd; r < full.size(); r += p.squared ? 2 : 1)
    p.coefficients.push_back(static_cast<T>(full[r]));
  if (p.coefficients.empty()) p.coefficients.push_back(0);
  p.factors = static_cast<int>(odd) + static_cast<int>(kernel.times_rho);
  return p;
}

}  // namespace zeroloss::internal::entries
#endif

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::entries::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
V clamp_to_unit(D d, V rho) {
  using T = hn::TFromD<D>;
  return hn::Max(hn::Set(d, T{-1}), hn::Min(hn::Set(d, T{1}), rho));
}

// values <- f(values), four vectors at a time to hide the latency of long chains. f takes (d, a, b, c, e) by
// reference.
template <class T, class F>
void transform(T* values, std::size_t count, const F& f) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), step = 4 * lanes;
  const auto four = [&](T* p) HWY_ATTR {
    auto a = clamp_to_unit(d, hn::LoadU(d, p)), b = clamp_to_unit(d, hn::LoadU(d, p + lanes));
    auto c = clamp_to_unit(d, hn::LoadU(d, p + 2 * lanes)), e = clamp_to_unit(d, hn::LoadU(d, p + 3 * lanes));
    f(d, a, b, c, e);
    hn::StoreU(a, d, p);
    hn::StoreU(b, d, p + lanes);
    hn::StoreU(c, d, p + 2 * lanes);
    hn::StoreU(e, d, p + 3 * lanes);
  };
  std::size_t i = 0;
  for (; i + step <= count; i += step) four(values + i);
  if (i == count) return;
  HWY_ALIGN T rest[4 * HWY_MAX_BYTES / sizeof(T)] = {};
  std::copy(values + i, values + count, rest);
  four(rest);
  std::copy(rest, rest + (count - i), values + i);
}

template <class T, class F>
void transform_each(T* values, std::size_t count, const F& f) {
  transform(values, count, [&](auto d, auto& a, auto& b, auto& c, auto& e) HWY_ATTR {
    a = f(d, a);
    b = f(d, b);
    c = f(d, c);
    e = f(d, e);
  });
}

template <class T>
void map_polynomial(const Kernel& kernel, T* values, std::size_t count) {
  const auto p = polynomial<T>(kernel);
  const T* const coefficients = p.coefficients.data();
  const std::size_t degree = p.coefficients.size() - 1;
  transform(values, count, [&](auto d, auto& a, auto& b, auto& c, auto& e) HWY_ATTR {
    const auto xa = p.squared ? hn::Mul(a, a) : a, xb = p.squared ? hn::Mul(b, b) : b;
    const auto xc = p.squared ? hn::Mul(c, c) : c, xe = p.squared ? hn::Mul(e, e) : e;
    auto pa = hn::Set(d, coefficients[degree]), pb = pa, pc = pa, pe = pa;
    for (std::size_t r = degree; r-- > 0;) {
      const auto next = hn::Set(d, coefficients[r]);
      pa = hn::MulAdd(pa, xa, next);
      pb = hn::MulAdd(pb, xb, next);
      pc = hn::MulAdd(pc, xc, next);
      pe = hn::MulAdd(pe, xe, next);
    }
    for (int factor = 0; factor < p.factors; ++factor) {
      pa = hn::Mul(pa, a);
      pb = hn::Mul(pb, b);
      pc = hn::Mul(pc, c);
      pe = hn::Mul(pe, e);
    }
    a = pa;
    b = pb;
    c = pc;
    e = pe;
  });
}

// One polynomial in t = 1 - |rho| less the middle of its interval, both of which t's bits tell. A t outside
// the table is taken at its end: such pairs are computed from their angle.
inline void map_table(const SphereTable& table, double* values, std::size_t count) {
  transform_each(values, count, [&](auto d, auto rho) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> bits;
    const hn::RebindToSigned<decltype(d)> integers;
    const auto below = hn::Set(d, 1 - 0x1p-53), least = hn::Set(d, SphereTable::kLeast);
    const auto t = hn::Max(least, hn::Min(below, hn::Sub(hn::Set(d, 1.0), hn::Abs(rho))));
    const auto index = hn::ShiftRight<SphereTable::kIndexShift>(hn::BitCast(bits, t));
    const auto half = hn::Set(bits, 1ull << (SphereTable::kIndexShift - 1));
    const auto middle = hn::BitCast(d, hn::Or(hn::ShiftLeft<SphereTable::kIndexShift>(index), half));
    const auto sign = hn::BroadcastSignBit(hn::BitCast(integers, rho));
    const auto of_sign = hn::And(sign, hn::Set(integers, SphereTable::kPieces));
    const auto first = hn::Set(integers, SphereTable::kFirstIndex);
    const auto piece = hn::Add(hn::Sub(hn::BitCast(integers, index), first), of_sign);
    const auto y = hn::Sub(t, middle);
    auto value = hn::GatherIndex(d, table.terms(SphereTable::kTerms - 1), piece);
    for (int r = SphereTable::kTerms - 1; r-- > 0;)
      value = hn::MulAdd(value, y, hn::GatherIndex(d, table.terms(r), piece));
    return value;
  });
}

inline void map_deep(const Kernel& kernel, double* values, std::size_t count) {
  map_table(kernel.deep->table(), values, count);
}

inline void map_deep(const Kernel& kernel, float* values, std::size_t count) {
  double buffer[256];
  for (std::size_t begin = 0; begin < count; begin += std::size(buffer)) {
    const std::size_t size = std::min(std::size(buffer), count - begin);
    std::copy_n(values + begin, size, buffer);
    map_deep(kernel, buffer, size);
    std::transform(buffer, buffer + size, values + begin, [](double v) { return static_cast<float>(v); });
  }
}

template <class T>
void Map(const Kernel& kernel, T* values, std::size_t count) {
  if (kernel.deep) return map_deep(kernel, values, count);
  using std::numbers::pi;
  const double leak = kernel.dual.leak, share = kernel.dual.share();
  const auto times = [&](auto rho, auto value)
                         HWY_ATTR { return kernel.times_rho ? hn::Mul(rho, value) : value; };
  switch (kernel.dual.form) {
    case DualForm::polynomial:
      return map_polynomial(kernel, values, count);
    case DualForm::leak_derivative:  // h = leak + share (1/4 + asin(rho)/(2 pi))
      return transform_each(values, count, [&](auto d, auto rho) HWY_ATTR {
        const auto at_zero = hn::Set(d, static_cast<T>(leak + share * 0.25));
        return times(rho,
                     hn::MulAdd(hn::Asin(d, rho), hn::Set(d, static_cast<T>(share * (0.5 / pi))), at_zero));
      });
    case DualForm::leak:  // h~ = leak rho + share (sqrt(1 - rho^2) + rho (pi/2 + asin(rho)))/(2 pi)
      return transform_each(values, count, [&](auto d, auto rho) HWY_ATTR {
        const auto one = hn::Set(d, T{1});
        const auto sine = hn::Sqrt(hn::Mul(hn::Sub(one, rho), hn::Add(one, rho)));
        const auto angle = hn::Add(hn::Set(d, static_cast<T>(pi / 2)), hn::Asin(d, rho));
        const auto ramp = hn::MulAdd(rho, angle, sine);
        const auto line = hn::Mul(hn::Set(d, static_cast<T>(leak)), rho);
        return times(rho, hn::MulAdd(ramp, hn::Set(d, static_cast<T>(share * (0.5 / pi))), line));
      });
    case DualForm::erf_derivative:  // h = (4/pi)/sqrt(9 - 4 rho^2)
      return transform_each(values, count, [&](auto d, auto rho) HWY_ATTR {
        const auto root = hn::Sqrt(hn::NegMulAdd(hn::Mul(hn::Set(d, T{4}), rho), rho, hn::Set(d, T{9})));
        return times(rho, hn::Div(hn::Set(d, static_cast<T>(4 / pi)), root));
      });
    case DualForm::erf:  // h~ = (2/pi) asin(2 rho/3)
      return transform_each(values, count, [&](auto d, auto rho) HWY_ATTR {
        const auto angle = hn::Asin(d, hn::Mul(hn::Set(d, static_cast<T>(2.0 / 3)), rho));
        return times(rho, hn::Mul(hn::Set(d, static_cast<T>(2 / pi)), angle));
      });
  }
}

template <class T>
T Largest(const T* values, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto most = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) most = hn::Max(most, hn::Abs(hn::LoadU(d, values + i)));
  T result = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < count; ++i) result = std::max(result, values[i] < 0 ? -values[i] : values[i]);
  return result;
}

double SingularSum(const double* values, std::size_t count, double cut) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0), edge = hn::Set(d, cut);
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto rho = hn::Abs(hn::LoadU(d, values + i));
    const auto gap = hn::Sub(one, rho);
    const auto term = hn::Div(one, hn::Mul(gap, hn::Add(one, rho)));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::Gt(gap, edge), term));
  }
  double result = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) {
    const double rho = values[i] < 0 ? -values[i] : values[i];
    if (1 - rho > cut) result += 1 / ((1 - rho) * (1 + rho));
  }
  return result;
}

void MapDouble(const Kernel& kernel, double* values, std::size_t count) { Map(kernel, values, count); }
void MapFloat(const Kernel& kernel, float* values, std::size_t count) { Map(kernel, values, count); }
double LargestDouble(const double* values, std::size_t count) { return Largest(values, count); }
float LargestFloat(const float* values, std::size_t count) { return Largest(values, count); }

}  // namespace zeroloss::internal::entries::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroloss::internal::entries {

HWY_EXPORT(MapDouble);
HWY_EXPORT(MapFloat);
HWY_EXPORT(LargestDouble);
HWY_EXPORT(LargestFloat);
HWY_EXPORT(SingularSum);

template <>
double largest(const double* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(LargestDouble)(values, count);
}
template <>
float largest(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(LargestFloat)(values, count);
}
template <>
void map(const Kernel& kernel, double* values, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(MapDouble)(kernel, values, count);
}
template <>
void map(const Kernel& kernel, float* values, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(MapFloat)(kernel, values, count);
}
double singular_sum(const double* values, std::size_t count, double cut) {
  return HWY_DYNAMIC_DISPATCH(SingularSum)(values, count, cut);
}

}  // namespace zeroloss::internal::entries
#endif
