#include <algorithm>
#include <type_traits>

#include "train/engine/passes.hpp"

// The fixed order of every sum makes results the same bits on all targets that fuse, whatever their vectors'
// length. Targets that do not fuse round v_j phi(Z_ij) before it is added and agree among themselves. That
// needs a compiler which fuses nothing on its own: GCC is told so by -ffp-contract=off.
//
// passes_float_simd.cpp and passes_double_simd.cpp include this for each instruction set.

#include <hwy/highway.h>

#include "kernel/activations/vectors-inl.hpp"

#ifndef ZEROLOSS_PASSES_ONCE
#define ZEROLOSS_PASSES_ONCE
namespace zeroloss::internal::passes {

constexpr Index kColumns = 4;     // that share one sweep over f, c and the rows: spares their traffic
constexpr Index kPositions = 16;  // partial sums of a column: row i goes into number i mod 16

using Number = ZEROLOSS_NUMBER;

struct Whole {};  // a vector with all its lanes, where the last one of a column may have fewer

}  // namespace zeroloss::internal::passes
#endif

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::passes::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace functions = phi::HWY_NAMESPACE;

template <class T>
using Lanes = hn::CappedTag<T, kPositions>;

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* p, Whole) {
  return hn::LoadU(d, p);
}

template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* p, Whole) {
  hn::StoreU(v, d, p);
}

// The first `count` lanes; the others are 0.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* p, Index count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN hn::TFromD<D> lanes[kPositions] = {};
  std::copy(p, p + count, lanes);
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#endif
}

template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* p, Index count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN hn::TFromD<D> lanes[kPositions];
  hn::Store(v, d, lanes);
  std::copy(lanes, lanes + count, p);
#else
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#endif
}

// f(i, Whole{}) for each whole vector of n rows, then f(i, count) for what is left.
template <class D, class F>
HWY_INLINE void each_vector(D d, Index n, const F& f) {
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= n; i += lanes) f(i, Whole{});
  if (i < n) f(i, n - i);
}

void Map(Phi phi, bool derivative, Number* values, Index count) {
  const Lanes<Number> d;
  functions::with(phi, [&](auto function) HWY_ATTR {
    if (derivative)
      each_vector(d, count, [&](Index i, auto part) HWY_ATTR {
        store(function.slope(d, load(d, values + i, part)), d, values + i, part);
      });
    else
      each_vector(d, count, [&](Index i, auto part) HWY_ATTR {
        store(function.value(d, load(d, values + i, part)), d, values + i, part);
      });
  });
}

void MapBoth(Phi phi, const Number* z, Index count, Number* value, Number* slope) {
  const Lanes<Number> d;
  functions::with(phi, [&](auto function) HWY_ATTR {
    each_vector(d, count, [&](Index i, auto part) HWY_ATTR {
      hn::Vec<Lanes<Number>> phi_z, slope_z;
      function.both(d, load(d, z + i, part), phi_z, slope_z);
      store(phi_z, d, value + i, part);
      store(slope_z, d, slope + i, part);
    });
  });
}

void Outputs(Phi phi, const Number* Z, Index n, Index width, const Number* v, Number* f) {
  const Lanes<Number> d;
  functions::with(phi, [&](auto function) HWY_ATTR {
    for (Index j = 0; j < width; j += kColumns, Z += kColumns * n, v += kColumns) {
      const Index columns = std::min(kColumns, width - j);
      each_vector(d, n, [&](Index i, auto part) HWY_ATTR {
        auto sum = load(d, f + i, part);
        for (Index c = 0; c < columns; ++c)
          sum = hn::MulAdd(hn::Set(d, v[c]), function.value(d, load(d, Z + c * n + i, part)), sum);
        store(sum, d, f + i, part);
      });
    }
  });
}

void Coefficients(Phi phi, const Number* Z, Index n, Index width, const Number* c, Number* S, Number* sum) {
  const Lanes<Number> d;
  functions::with(phi, [&](auto function) HWY_ATTR {
    for (Index j = 0; j < width; ++j) {
      each_vector(d, n, [&](Index i, auto part) HWY_ATTR {
        // Every load comes before the stores: big arrays tend to begin at equal places of their pages, and a
        // load waits for an earlier store at its own place.
        const Index ij = j * n + i;
        auto total = hn::Zero(d);
        if (sum) total = load(d, sum + ij, part);
        const auto s = hn::Mul(load(d, c + i, part), function.slope(d, load(d, Z + ij, part)));
        store(s, d, S + ij, part);
        if (sum) store(hn::Add(total, s), d, sum + ij, part);
      });
    }
  });
}

// sums_l += double(S_l) double(P_l) for `count` rows
template <class T>
HWY_INLINE void add_products(const T* S, const T* P, Index count, double* sums) {
  const Lanes<double> d;
  const hn::Rebind<T, decltype(d)> narrow;
  each_vector(d, count, [&](Index l, auto part) HWY_ATTR {
    auto s = load(narrow, S + l, part), p = load(narrow, P + l, part);
    auto sum = hn::Load(d, sums + l);
    if constexpr (std::is_same_v<T, double>)
      sum = hn::MulAdd(s, p, sum);
    else
      sum = hn::MulAdd(hn::PromoteTo(d, s), hn::PromoteTo(d, p), sum);
    hn::Store(sum, d, sums + l);
  });
}

// Both steps in Gram space. slopes(i, column, z, part) gives where S_ij and its successors lie.
template <class T, class Function, class Slopes>
HWY_INLINE double step(Function function, const Slopes& slopes, const T* P, Index n, Index width, const T* v,
                       T* Z, T* f) {
  const Lanes<T> d;
  double result = 0;
  for (Index j = 0; j < width; j += kColumns) {
    const Index columns = std::min(kColumns, width - j);
    HWY_ALIGN double sums[kColumns][kPositions] = {};
    each_vector(d, n, [&](Index i, auto part) HWY_ATTR {
      Index count = static_cast<Index>(hn::Lanes(d));
      if constexpr (!std::is_same_v<decltype(part), Whole>) count = part;
      auto output = load(d, f + i, part);
      for (Index c = 0; c < columns; ++c) {
        const Index ij = (j + c) * n + i;
        auto z = load(d, Z + ij, part);
        const auto weight = hn::Set(d, v[j + c]);
        add_products(slopes(i, ij, z, part), P + ij, count, sums[c] + i % kPositions);
        z = hn::NegMulAdd(weight, load(d, P + ij, part), z);
        store(z, d, Z + ij, part);
        output = hn::MulAdd(weight, function.value(d, z), output);
      }
      store(output, d, f + i, part);
    });
    for (Index c = 0; c < columns; ++c) {
      for (Index half = kPositions / 2; half > 0; half /= 2)
        for (Index l = 0; l < half; ++l) sums[c][l] += sums[c][l + half];
      const double weight = v[j + c];
      result += weight * weight * sums[c][0];
    }
  }
  return result;
}

double Advance(Phi phi, const Number* S, const Number* P, Index n, Index width, const Number* v, Number* Z,
               Number* f) {
  double result = 0;
  functions::with(phi, [&](auto function) HWY_ATTR {
    const auto slopes = [&](Index, Index ij, auto, auto) HWY_ATTR { return S + ij; };
    result = step(function, slopes, P, n, width, v, Z, f);
  });
  return result;
}

double AdvanceRelu(const Number* c, const Number* P, Index n, Index width, const Number* v, Number* Z,
                   Number* f, Number* sum) {
  const Lanes<Number> d;
  HWY_ALIGN Number S[kPositions];
  const auto slopes = [&](Index i, Index ij, auto z, auto part) HWY_ATTR {
    const auto s = hn::Mul(load(d, c + i, part), functions::Relu::slope(d, z));
    store(hn::Add(load(d, sum + ij, part), s), d, sum + ij, part);
    hn::Store(s, d, S);
    return static_cast<const Number*>(S);
  };
  return step(functions::Relu{}, slopes, P, n, width, v, Z, f);
}

}  // namespace zeroloss::internal::passes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroloss::internal::passes {

HWY_EXPORT(Map);
HWY_EXPORT(MapBoth);
HWY_EXPORT(Outputs);
HWY_EXPORT(Coefficients);
HWY_EXPORT(Advance);
HWY_EXPORT(AdvanceRelu);

template <>
void map(Phi phi, bool derivative, Number* values, Index count) {
  HWY_DYNAMIC_DISPATCH(Map)(phi, derivative, values, count);
}
template <>
void map_both(Phi phi, const Number* z, Index count, Number* value, Number* slope) {
  HWY_DYNAMIC_DISPATCH(MapBoth)(phi, z, count, value, slope);
}
template <>
void outputs(Phi phi, const Number* Z, Index n, Index width, const Number* v, Number* f) {
  HWY_DYNAMIC_DISPATCH(Outputs)(phi, Z, n, width, v, f);
}
template <>
void coefficients(Phi phi, const Number* Z, Index n, Index width, const Number* c, Number* S, Number* sum) {
  HWY_DYNAMIC_DISPATCH(Coefficients)(phi, Z, n, width, c, S, sum);
}
template <>
double advance(Phi phi, const Number* S, const Number* P, Index n, Index width, const Number* v, Number* Z,
               Number* f) {
  return HWY_DYNAMIC_DISPATCH(Advance)(phi, S, P, n, width, v, Z, f);
}
template <>
double advance_relu(const Number* c, const Number* P, Index n, Index width, const Number* v, Number* Z,
                    Number* f, Number* sum) {
  return HWY_DYNAMIC_DISPATCH(AdvanceRelu)(c, P, n, width, v, Z, f, sum);
}

}  // namespace zeroloss::internal::passes
#endif
