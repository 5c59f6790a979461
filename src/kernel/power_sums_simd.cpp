#include <algorithm>

#include "kernel/power_sums.hpp"

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/power_sums_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::power_sums::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// Four vectors of numbers of one column, their weights, and where their sums go.
template <bool kOdd>
struct Four {
  V x[4], weight[4], column_weight;
  float* rows;     // of the first power
  float* columns;  // a vector a power

  HWY_INLINE void add_plain(int k, const V* p) const {
    const D d;
    float* row = rows + k * kTile;
    auto column = hn::Load(d, columns + k * 16);
    for (int q = 0; q < 4; ++q) {
      float* at = row + q * static_cast<int>(hn::Lanes(d));
      hn::StoreU(hn::MulAdd(p[q], column_weight, hn::LoadU(d, at)), d, at);
      column = hn::MulAdd(p[q], weight[q], column);
    }
    hn::Store(column, d, columns + k * 16);
  }
  HWY_INLINE void add(int k, const V* p) const {
    if constexpr (kOdd) {
      V shifted[4];
      for (int q = 0; q < 4; ++q) shifted[q] = hn::Mul(p[q], x[q]);
      add_plain(k, shifted);
    } else {
      add_plain(k, p);
    }
  }
};

HWY_INLINE void multiply(const V* a, const V* b, V* product) {
  const D d;
  const auto floor = hn::Set(d, 0x1p-60f);  // nothing becomes a denormal
  for (int q = 0; q < 4; ++q) product[q] = hn::Max(hn::Mul(a[q], b[q]), floor);
}

HWY_INLINE bool all_left_out(const V* p) {
  const D d;
  const auto most = hn::Max(hn::Max(p[0], p[1]), hn::Max(p[2], p[3]));
  return hn::AllTrue(d, hn::Lt(most, hn::Set(d, static_cast<float>(kLeftOut))));
}

template <bool kOdd>
void Add(const PowerGrid& grid, const float* tile, Index rows, Index columns, float error,
         const float* row_weights, const float* column_weights, float* row_sums, float* column_sums) {
  const D d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const int sums = grid.size();
  HWY_ALIGN float of_column[kMostSums * 16];
  const auto one = hn::Set(d, 1.f), c1 = hn::Set(d, grid.c1), minus_c1 = hn::Set(d, -grid.c1),
             low2 = hn::Set(d, 2 * grid.low2), low4 = hn::Set(d, 2 * grid.low4),
             low6 = hn::Set(d, 2 * grid.low6);
  for (Index j = 0; j < columns; ++j) {
    std::fill(of_column, of_column + sums * 16, 0.f);
    for (Index i = 0; i < rows; i += 4 * lanes) {
      const float* at = tile + j * kTile + i;
      Four<kOdd> four;
      four.column_weight = hn::Set(d, column_weights[j]);
      four.rows = row_sums + i;
      four.columns = of_column;
      V p2[4], p4[4], p6[4], p[4];
      for (int q = 0; q < 4; ++q) {
        const auto rho = hn::LoadU(d, at + q * lanes), size = hn::Abs(rho);
        four.weight[q] = hn::LoadU(d, row_weights + i + q * lanes);
        four.x[q] = hn::Min(one, hn::Add(size, hn::Set(d, error)));
        if constexpr (kOdd) {
          p[q] = four.x[q];
        } else {
          const auto square = hn::Mul(size, size);
          const auto twice = hn::Mul(square, hn::MulAdd(square, hn::MulAdd(square, low6, low4), low2));
          const auto up = hn::Mul(c1, size);
          const auto down = hn::Max(hn::Sub(up, twice), hn::Mul(minus_c1, size));
          p[q] = hn::IfThenElse(hn::Lt(rho, hn::Zero(d)), down, up);
        }
      }
      four.add_plain(0, p);
      multiply(four.x, four.x, p2);
      multiply(p2, p2, p4);
      multiply(p4, p2, p6);
      four.add(1, p2);
      four.add(2, p4);
      four.add(3, p6);
      if (grid.octaves == 0) continue;
      for (int chain = 0; chain < 4; ++chain) {  // x^8, x^10, x^12, x^14, and the squares of each
        multiply(chain < 2 ? p4 : p6, chain == 0 ? p4 : p6, p);
        if (chain == 3) multiply(p, p2, p);
        for (int octave = 0; octave < grid.octaves && !all_left_out(p); ++octave) {
          four.add(4 + 4 * octave + chain, p);
          multiply(p, p, p);
        }
      }
    }
    for (int k = 0; k < sums; ++k)
      column_sums[k * kTile + j] += hn::GetLane(hn::SumOfLanes(d, hn::Load(d, of_column + k * 16)));
  }
}

void AddEven(const PowerGrid& grid, const float* tile, Index rows, Index columns, float error,
             const float* row_weights, const float* column_weights, float* row_sums, float* column_sums) {
  Add<false>(grid, tile, rows, columns, error, row_weights, column_weights, row_sums, column_sums);
}
void AddOdd(const PowerGrid& grid, const float* tile, Index rows, Index columns, float error,
            const float* row_weights, const float* column_weights, float* row_sums, float* column_sums) {
  Add<true>(grid, tile, rows, columns, error, row_weights, column_weights, row_sums, column_sums);
}

}  // namespace zeroloss::internal::power_sums::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroloss::internal {

namespace power_sums {
HWY_EXPORT(AddEven);
HWY_EXPORT(AddOdd);
}  // namespace power_sums

PowerGrid power_grid(const PowerSeries& series) {
  // Rounded towards what makes g larger.
  const auto above = [](double c) { return static_cast<float>(c * (1 + 0x1p-22)); };
  const auto below = [&](int r) {
    return r <= series.degree() ? static_cast<float>(series.c[static_cast<std::size_t>(r)] * (1 - 0x1p-22))
                                : 0;
  };
  PowerGrid grid;
  grid.odd = series.odd();
  while (grid.octaves < kMostOctaves && grid.power(grid.size() - 1) < series.degree()) ++grid.octaves;
  if (grid.odd) return grid;
  grid.c1 = above(series.c[1]);
  if (series.even_but_linear()) {
    grid.low2 = below(2);
    grid.low4 = below(4);
    grid.low6 = below(6);
  }
  return grid;
}

void add_powers(const PowerGrid& grid, const float* tile, Index rows, Index columns, float error,
                const float* row_weights, const float* column_weights, float* row_sums, float* column_sums) {
  using namespace power_sums;
  if (grid.odd) HWY_DYNAMIC_DISPATCH(AddOdd)
  (grid, tile, rows, columns, error, row_weights, column_weights, row_sums, column_sums);
  else HWY_DYNAMIC_DISPATCH(AddEven)(grid, tile, rows, columns, error, row_weights, column_weights, row_sums,
                                     column_sums);
}

}  // namespace zeroloss::internal
#endif
