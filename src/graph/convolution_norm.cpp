#include "graph/convolution_norm.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/parallel_for.hpp"
#include "proof/evaluate.hpp"

namespace zeroloss::internal::graph {
namespace {

// `place` in digits, the last one first out of a number: places along each axis.
Shape digits_of(Index place, const Shape& sizes) {
  Shape at(sizes.size());
  for (std::size_t a = sizes.size(); a-- > 0; place /= sizes[a]) at[a] = place % sizes[a];
  return at;
}

// Of two conjugate points of the grid the symbol is taken at the first.
bool is_second(const Shape& at, const Shape& grid) {
  for (std::size_t a = 0; a < at.size(); ++a) {
    const Index mirrored = (grid[a] - at[a]) % grid[a];
    if (mirrored != at[a]) return mirrored < at[a];
  }
  return false;
}

}  // namespace

double convolution_norm(const RowMatrix& kernels, const Shape& kernel, double known) {
  const Index cells = count_of(kernel), channels = kernels.cols() / cells, m = kernels.rows();
  const Index shorter = std::min(m, channels), longest = *std::ranges::max_element(kernel);
  if (longest == 1 || shorter < 2) return known;
  // Points along an axis: enough for the cosine to be near 1, fewer where each costs more.
  const Index points = (shorter > 128 ? 6 : 10) * (longest - 1) + 2;
  Shape grid;
  double kept = 1;  // of the largest value
  for (const Index size : kernel) {
    grid.push_back(size == 1 ? 1 : points);
    const double angle = static_cast<double>(size - 1) * std::numbers::pi / static_cast<double>(points);
    kept *= std::cos(angle * kUp) * kDown;
  }
  constexpr double kMost = 1e12;  // multiply-adds
  const auto side = static_cast<double>(2 * shorter), other = static_cast<double>(2 * std::max(m, channels));
  if (static_cast<double>(count_of(grid)) / 2 * side * side * other > kMost) return known;
  // Parts of entries of A are sums of `cells` products with cosines that are within 20 u.
  const double off = 2 * gamma_of(static_cast<double>(cells) + 24) * std::sqrt(static_cast<double>(cells)) *
                     length_above(kernels.data(), kernels.size()) * kUp;
  std::vector<Matrix> parts;  // m x channels, of each cell
  for (Index cell = 0; cell < cells; ++cell)
    parts.emplace_back(kernels(Eigen::all, Eigen::seqN(cell, channels, cells)));
  std::vector<Shape> places;
  for (Index place = 0; place < count_of(grid); ++place)
    if (Shape at = digits_of(place, grid); !is_second(at, grid)) places.push_back(std::move(at));
  Vector norms(std::ssize(places));
  parallel_for(norms.size(), [&](Index k) {
    const Shape& at = places[static_cast<std::size_t>(k)];
    Matrix real = Matrix::Zero(m, channels), imaginary = real;
    for (Index cell = 0; cell < cells; ++cell) {
      const Shape in = digits_of(cell, kernel);
      Index turns = 0;  // in 1/points of a circle
      for (std::size_t a = 0; a < in.size(); ++a) turns += in[a] * at[a];
      const double angle =
          2 * std::numbers::pi * static_cast<double>(turns % points) / static_cast<double>(points);
      real += std::cos(angle) * parts[static_cast<std::size_t>(cell)];
      imaginary += std::sin(angle) * parts[static_cast<std::size_t>(cell)];
    }
    RowMatrix both(2 * m, 2 * channels);  // of real numbers, with the norm of A
    both << real, -imaginary, imaginary, real;
    Progress silent;
    norms(k) = verified::spectral_norm(both, silent);
  });
  const double largest = norms.maxCoeff<Eigen::PropagateNaN>();
  if (!((largest + off) / std::sqrt(kept) < known)) return known;
  return (largest + off) / std::sqrt(kept) * kUp;
}

}  // namespace zeroloss::internal::graph
