#pragma once
#include "kernel/entries.hpp"
#include "kernel/power_series.hpp"

/// Sums of powers of |rho| over the rows and columns of a tile of inner products, in float32, for a grid of
/// powers at once, vectorised for the processor at hand.
namespace zeroloss::internal {

constexpr int kMostOctaves = 10;
constexpr int kMostSums = 4 + 4 * kMostOctaves;

/// The powers summed: e_k = E_k, or E_k + 1 where `odd`, with E = 0, 2, 4, 6, then 8, 10, 12, 14 times 1, 2,
/// 4, ..: each is a product of two before it. The place of the power 0 is taken by
///
///     g(rho) = c_1 rho for rho >= 0, max(c_1 |rho| - 2 P(|rho|), -c_1 |rho|) for rho < 0,
///     P(x) = low_2 x^2 + low_4 x^4 + low_6 x^6,
///
/// which is what |k(rho)| has more than the sum of c_r |rho|^r over r >= 2 (theory 3).
struct PowerGrid {
  bool odd = false;
  int octaves = 0;
  float c1 = 0, low2 = 0, low4 = 0, low6 = 0;

  int size() const { return 4 + 4 * octaves; }
  int power(int k) const {
    const int even = k < 4 ? 2 * k : (8 + 2 * (k % 4)) << (k / 4 - 1);
    return even + static_cast<int>(odd);
  }
};

/// What a series asks for: its parity, and powers up to its degree or kMostPower.
PowerGrid power_grid(const PowerSeries& series);

/// Adds to row_sums (grid.size() x kTile, a power a row) for i < rows the sums over j < columns of
/// max(x^e_k, 2^-60) w_j, and to column_sums those of ... w_i over i, where x = min(1, |rho| + error), rho =
/// tile[j kTile + i]. All that is summed is >= 0 but g, so that a sum is too small by at most a factor
/// sum_slack(e_k); powers that are all below 2^-50 are left out. Numbers of the tile beyond `rows`, up to the
/// next multiple of 64, must be finite and their weights 0.
void add_powers(const PowerGrid& grid, const float* tile, Index rows, Index columns, float error,
                const float* row_weights, const float* column_weights, float* row_sums, float* column_sums);

constexpr double kLeftOut = 0x1p-50;  ///< largest power that add_powers leaves out
constexpr double u32 = 0x1p-24;       ///< unit roundoff of float

/// Covers e - 1 roundings of a power, those of a sum of 512 terms in any order, and of w.
constexpr double sum_slack(int power) {
  const double roundings = (power + 600) * u32;
  return 1 / (1 - roundings);
}

}  // namespace zeroloss::internal
