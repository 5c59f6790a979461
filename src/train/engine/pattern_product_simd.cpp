#include <algorithm>
#include <cstdint>

#include "train/engine/pattern_product.hpp"

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/engine/pattern_product_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
// clang-format on

#ifndef ZEROLOSS_PATTERN_PRODUCT_ONCE
#define ZEROLOSS_PATTERN_PRODUCT_ONCE
namespace zeroloss::internal::patterns {

// Rows are done in blocks, and for each block the points in passes of kGroups groups of kGroup points. A pass
// tabulates the 2^kGroup sums of each group's columns over the block and adds, for every column of Z, one
// entry of each table to the block's running sums.
//
// For each row and point that is 2^kGroup/kGroup additions and stores for tables and width/kGroup lookups,
// where BLAS needs width multiplications and additions. Longer groups pay only for widths beyond 1000, and
// then their tables no longer fit. Here they take 24 KB, which leaves the sums, streaming through, a quarter
// of a first-level cache of 32 KB; fewer groups in a pass would stream them more often. The sizes are the
// same for all vector lengths: they set the order of summation.
constexpr Index kGroup = 5, kGroups = 6, kPass = kGroup * kGroups;
constexpr Index kEntries = Index{1} << kGroup;
constexpr Index kLine = 64;  // bytes of a cache line, and of the longest vectors in use
template <class T>
constexpr Index kRows = 2 * kLine / static_cast<Index>(sizeof(T));  // of a block
template <class T>
constexpr Index kTable = kRows<T> << kGroup;

constexpr Index passes(Index n) { return (n + kPass - 1) / kPass; }

// Between two passes' windows of a column; without the odd line they would fall into one set of the cache.
constexpr Index window_stride(Index width) { return width + kLine / 8; }

// Buffers of one call.
template <class T>
struct Scratch {
  std::uint64_t* bits;     // [z >= 0] for one column of Z, zeros from n on
  std::uint64_t* windows;  // pass by pass, column by column: the pass's bits, times kRows
  T* tables;               // group, pattern, row of the block
  T* sums;                 // kRows x width
};

}  // namespace zeroloss::internal::patterns
#endif

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::patterns::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, kLine / sizeof(T)>;

template <class T>
void read_bits(const T* z, Index n, std::uint64_t* bits) {
  const Tag<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index first = 0; first < n; first += 64) {
    const Index count = std::min<Index>(64, n - first);
    std::uint64_t word = 0;
    Index i = 0;
    for (; i + lanes <= count; i += lanes) {
      std::uint8_t mask[8] = {};
      hn::StoreMaskBits(d, hn::Ge(hn::LoadU(d, z + first + i), hn::Zero(d)), mask);
      word |= static_cast<std::uint64_t>(mask[0] | mask[1] << 8) << i;
    }
    for (; i < count; ++i) word |= static_cast<std::uint64_t>(z[first + i] >= 0) << i;
    bits[first / 64] = word;
  }
}

template <class T>
void find_windows(const T* Z, Index n, Index width, const Scratch<T>& scratch) {
  for (Index j = 0; j < width; ++j) {
    read_bits(Z + j * n, n, scratch.bits);
    for (Index pass = 0; pass < passes(n); ++pass) {
      const Index word = pass * kPass / 64, shift = pass * kPass % 64;
      const std::uint64_t window = scratch.bits[word] >> shift | scratch.bits[word + 1] << 1 << (63 - shift);
      scratch.windows[pass * window_stride(width) + j] = window * kRows<T>;
    }
  }
}

// entry + step * pattern <- sum + the pattern's columns, added in their order; one addition for each entry.
template <class D, class V, class T>
HWY_INLINE void spread(D d, T* entry, Index, V sum) {
  hn::Store(sum, d, entry);
}
template <class D, class V, class T, class... Columns>
HWY_INLINE void spread(D d, T* entry, Index step, V sum, V column, Columns... more) {
  spread(d, entry, 2 * step, sum, more...);
  spread(d, entry + step, 2 * step, hn::Add(sum, column), more...);
}

template <class T>
void tabulate(const T* A, Index lda, T* tables) {
  const Tag<T> d;
  for (Index q = 0; q < kGroups; ++q, A += kGroup * lda, tables += kTable<T>)
    for (Index i = 0; i < kRows<T>; i += static_cast<Index>(hn::Lanes(d))) {
      const auto a = [&](Index k) HWY_ATTR { return hn::LoadU(d, A + k * lda + i); };
      static_assert(kGroup == 5);
      spread(d, tables + i, kRows<T>, hn::Zero(d), a(0), a(1), a(2), a(3), a(4));
    }
}

// What the pass after this one will touch: its first access would wait for memory, column after column.
template <class T>
struct Ahead {
  const T* from;
  Index stride, rows, columns;
  HWY_INLINE void fetch(Index j) const {
    if (j >= columns) return;
    const T* column = from + j * stride;
    for (Index i = 0; i < rows; i += kLine / sizeof(T)) hwy::Prefetch(column + i);
    hwy::Prefetch(column + rows - 1);
  }
};

// to_j <- sums_j + the entries of column j's patterns, added up first; kFirst: without sums_j.
template <bool kFirst, class T>
void gather(const std::uint64_t* windows, const T* tables, Index width, const T* sums, T* to, Index stride,
            const Ahead<T>& ahead) {
  const Tag<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index j = 0; j < width; ++j, sums += kRows<T>, to += stride) {
    ahead.fetch(j);
    const std::uint64_t window = windows[j];
    const auto entry = [&](Index q) HWY_ATTR {
      return tables + q * kTable<T> + (window >> (q * kGroup) & (kEntries - 1) * kRows<T>);
    };
    for (Index i = 0; i < kRows<T>; i += 2 * lanes) {
      auto a = hn::Load(d, entry(0) + i), b = hn::Load(d, entry(0) + i + lanes);
      for (Index q = 1; q < kGroups; ++q) {
        a = hn::Add(a, hn::Load(d, entry(q) + i));
        b = hn::Add(b, hn::Load(d, entry(q) + i + lanes));
      }
      if constexpr (!kFirst) {
        a = hn::Add(hn::LoadU(d, sums + i), a);
        b = hn::Add(hn::LoadU(d, sums + i + lanes), b);
      }
      hn::StoreU(a, d, to + i);
      hn::StoreU(b, d, to + i + lanes);
    }
  }
}

template <class T>
void product(const T* A, Index lda, Index rows, const T* Z, Index n, Index width, T* P,
             const Scratch<T>& scratch) {
  find_windows(Z, n, width, scratch);
  const Index last = passes(n) - 1;
  T padded[kPass * kRows<T>] = {};  // what lies beyond rows and n is never looked up
  for (Index r = 0; r < rows; r += kRows<T>) {
    const Index height = std::min(kRows<T>, rows - r);
    const bool full = height == kRows<T>;
    for (Index pass = 0; pass <= last; ++pass) {
      const Index k = pass * kPass, columns = std::min(kPass, n - k);
      const T* const block = A + k * lda + r;
      if (full && columns == kPass) {
        tabulate(block, lda, scratch.tables);
      } else {
        for (Index c = 0; c < columns; ++c) std::copy_n(block + c * lda, height, padded + c * kRows<T>);
        tabulate(padded, kRows<T>, scratch.tables);
      }
      Ahead<T> ahead{};
      if (pass < last - 1) ahead = {block + kPass * lda, lda, height, kPass};
      if (pass == last - 1) ahead = {P + r, rows, height, width};
      const bool direct = full && pass == last;  // into P, else into the running sums
      (pass == 0 ? gather<true, T> : gather<false, T>)(scratch.windows + pass * window_stride(width),
                                                       scratch.tables, width, scratch.sums,
                                                       direct ? P + r : scratch.sums,
                                                       direct ? rows : kRows<T>, ahead);
    }
    if (!full)
      for (Index j = 0; j < width; ++j) std::copy_n(scratch.sums + j * kRows<T>, height, P + j * rows + r);
  }
}

void ProductDouble(const double* A, Index lda, Index rows, const double* Z, Index n, Index width, double* P,
                   const Scratch<double>& scratch) {
  product(A, lda, rows, Z, n, width, P, scratch);
}
void ProductFloat(const float* A, Index lda, Index rows, const float* Z, Index n, Index width, float* P,
                  const Scratch<float>& scratch) {
  product(A, lda, rows, Z, n, width, P, scratch);
}

}  // namespace zeroloss::internal::patterns::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroloss::internal {
namespace patterns {

HWY_EXPORT(ProductDouble);
HWY_EXPORT(ProductFloat);

template <class T>
auto best() {
  if constexpr (sizeof(T) == sizeof(double))
    return HWY_DYNAMIC_DISPATCH(ProductDouble);
  else
    return HWY_DYNAMIC_DISPATCH(ProductFloat);
}

}  // namespace patterns

template <class T>
void pattern_product(const T* A, Index lda, Index rows, const T* Z, Index n, Index width, T* P) {
  using namespace patterns;
  if (n == 0) std::fill_n(P, rows * width, T{0});
  if (n == 0 || rows == 0 || width == 0) return;
  Eigen::ArrayX<std::uint64_t> bits = Eigen::ArrayX<std::uint64_t>::Zero(n / 64 + 2);
  Eigen::ArrayX<std::uint64_t> windows(passes(n) * window_stride(width));
  Eigen::ArrayX<T> tables(kGroups * kTable<T>), sums(kRows<T> * width);
  best<T>()(A, lda, rows, Z, n, width, P, {bits.data(), windows.data(), tables.data(), sums.data()});
}

template void pattern_product(const double*, Index, Index, const double*, Index, Index, double*);
template void pattern_product(const float*, Index, Index, const float*, Index, Index, float*);

}  // namespace zeroloss::internal
#endif
