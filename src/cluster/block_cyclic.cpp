#include "cluster/block_cyclic.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "base/parallel_for.hpp"
#include "cluster/gather.hpp"
#include "kernel/residual.hpp"
#include "linalg/lapack.hpp"
#include "linalg/parallel.hpp"
#include "processes/transport.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kPanel = 512;            // columns of the residual, or of the inverse, at a time
constexpr double kNumbers = 2147483647;  // of a process

Layout layout(Index n, Index block, int processes, int mine) { return {n, block, processes, mine}; }

// Rows or columns of the grid: process `rank` is in row rank / columns, column rank % columns.
struct Place {
  Shape shape;
  int row, column;
  explicit Place(const Group& group)
      : shape(group.size()), row(group.rank() / shape.columns), column(group.rank() % shape.columns) {}
};

// Blocks of the distribution in a panel of about kPanel columns.
Index panel_width(Index block) { return std::max<Index>(1, kPanel / block) * block; }

}  // namespace

void BlockCyclic::Free::operator()(double* values) const { std::free(values); }

std::string BlockCyclic::shape(int processes) {
  const Shape shape(processes);
  return fmt::format("{} x {}", shape.rows, shape.columns);
}

double BlockCyclic::bytes(int processes, const Sizes& sizes) {
  const Shape shape(processes);
  const Layout rows = layout(sizes.n, sizes.block, shape.rows, 0),
               columns = layout(sizes.n, sizes.block, shape.columns, 0);
  const auto r = static_cast<double>(rows.count()), c = static_cast<double>(columns.count());
  const auto d = static_cast<double>(sizes.d), panel = static_cast<double>(kPanel + sizes.block);
  // The matrix, the points, a panel of products on the way, and one of the factor's rows.
  return 8 * (r * c + (r + c) * d + 3 * r * panel + c * panel);
}

std::string BlockCyclic::refused(int processes, const Sizes& sizes) {
  const Shape shape(processes);
  const auto r = static_cast<double>(layout(sizes.n, sizes.block, shape.rows, 0).count()),
             c = static_cast<double>(layout(sizes.n, sizes.block, shape.columns, 0).count());
  if (r * c <= kNumbers) return "";
  const auto n = static_cast<double>(sizes.n);
  return fmt::format(
      "the kernel of {} points over {} processes has {:.3g} numbers in each, and ScaLAPACK counts "
      "2^31 - 1; take at least {:.0f} processes",
      sizes.n, processes, r * c, std::ceil(n / kNumbers * n * 1.02));
}

BlockCyclic::BlockCyclic(const Group& group, const Sizes& sizes, std::string& failure)
    : group_(group), sizes_(sizes) {
  const Place place(group);
  row_ = group.split(place.row);
  column_ = group.split(place.shape.rows + place.column);
  rows_ = layout(sizes.n, sizes.block, place.shape.rows, place.row);
  columns_ = layout(sizes.n, sizes.block, place.shape.columns, place.column);
  stride_ = std::max<Index>(rows_.count(), 1);
  std::string mine;
  try {
    row_points_.resize(rows_.count(), sizes.d);
    column_points_.resize(columns_.count(), sizes.d);
    A_.reset(static_cast<double*>(std::calloc(numbers(), sizeof(double))));
    if (A_ == nullptr) throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
    mine = fmt::format("process {} of {} has no {} for its part of the kernel", group.rank(), group.size(),
                       format_bytes(bytes(group.size(), sizes)));
  }
  const int first = static_cast<int>(-group.largest(mine.empty() ? -1e9 : -group.rank()));
  failure = mine;
  if (first < group.size()) group.broadcast(failure, first);
  if (failure.empty() && group.transport() != nullptr)
    context_ = group.transport()->grid(const_cast<Transport*>(group.transport()), place.shape.rows,
                                       place.shape.columns);
}

std::size_t BlockCyclic::numbers() const {
  return static_cast<std::size_t>(stride_) * static_cast<std::size_t>(std::max<Index>(columns_.count(), 1));
}

BlockCyclic::~BlockCyclic() {
  if (context_ >= 0) group_.transport()->grid_free(context_);
}

void BlockCyclic::take_points(const RowMatrix* X) { deal_rows(X, sizes_.d, row_points_, column_points_); }

void BlockCyclic::deal_rows(const RowMatrix* X, Index d, RowMatrix& of_rows, RowMatrix& of_columns) const {
  of_rows.resize(rows_.count(), d);
  of_columns.resize(columns_.count(), d);
  const Index step = std::max<Index>(1, (Index{4} << 20) / std::max<Index>(d, 1));
  RowMatrix some;
  for (Index begin = 0; begin < sizes_.n; begin += step) {
    const Index end = std::min(sizes_.n, begin + step);
    some.resize(end - begin, d);
    if (X != nullptr) some = X->middleRows(begin, end - begin);
    group_.broadcast(std::span(some.data(), static_cast<std::size_t>(some.size())));
    for (const auto& [layout, points] : {std::pair(&rows_, &of_rows), std::pair(&columns_, &of_columns)})
      for (Index local = layout->before(begin); local < layout->before(end); ++local)
        points->row(local) = some.row(layout->global(local) - begin);
  }
}

void BlockCyclic::fill(double on_diagonal, Index side, const Tile& tile) {
  std::vector<std::pair<Index, Index>> corners;
  for (Index j = 0; j < columns_.count(); j += side)
    for (Index i = rows_.before(columns_.global(j)); i < rows_.count(); i += side) corners.emplace_back(i, j);
  parallel_for(std::ssize(corners), [&](Index k) {
    const auto [i, j] = corners[static_cast<std::size_t>(k)];
    const Index i_end = std::min(i + side, rows_.count()), j_end = std::min(j + side, columns_.count());
    tile(i, i_end, j, j_end, A_.get() + j * stride_ + i, stride_);
    for (Index column = j; column < j_end; ++column) {
      const Index global = columns_.global(column), on = rows_.before(global);
      if (rows_.before(global + 1) > on && on >= i && on < i_end)
        A_[static_cast<std::size_t>(column * stride_ + on)] = on_diagonal;
    }
  });
}

void BlockCyclic::entries(const Kernel& kernel, double shift, Index first, Index last, double* out,
                          std::vector<Tally>& tallies) const {
  const Index d = sizes_.d, count = rows_.count();
  const EntryRuns<double> runs(kernel, d);
  const double on_diagonal = kernel(1) + shift;
  struct Tile {
    Index i, i_end, j, j_end;
  };
  std::vector<Tile> tiles;
  for (Index j = first; j < last; j += kTile) {
    const Index j_end = std::min(j + kTile, last);
    for (Index i = rows_.before(columns_.global(j)); i < count; i += kTile)
      tiles.push_back({i, std::min(i + kTile, count), j, j_end});
  }
  const SerialBlas serial;
  parallel_for(std::ssize(tiles), [&](Index t) {
    const Tile& tile = tiles[static_cast<std::size_t>(t)];
    Tally& tally = tallies[static_cast<std::size_t>(omp_get_thread_num())];
    double* at = out + (tile.j - first) * stride_;
    lapack::gemm('T', 'N', tile.i_end - tile.i, tile.j_end - tile.j, d, 1.0, row_points_.row(tile.i).data(),
                 d, column_points_.row(tile.j).data(), d, 0.0, at + tile.i, stride_);
    for (Index j = tile.j; j < tile.j_end; ++j) {
      double* column = at + (j - tile.j) * stride_;
      const Index global = columns_.global(j), on = rows_.before(global), below = rows_.before(global + 1);
      if (below > on && on >= tile.i && on < tile.i_end) column[on] = on_diagonal;
      const Index start = std::max(tile.i, below);
      runs.finish(
          column + start, tile.i_end - start,
          [&](Index q) -> PlacedPair<double> {
            return {rows_.global(start + q), global, row_points_.row(start + q).data(),
                    column_points_.row(j).data()};
          },
          tally);
    }
  });
}

BlockCyclic::Pass BlockCyclic::form(const Kernel& kernel, double shift) {
  std::vector<Tally> tallies(static_cast<std::size_t>(thread_count()));
  entries(kernel, shift, 0, columns_.count(), A_.get(), tallies);
  return gathered(tallies);
}

BlockCyclic::Pass BlockCyclic::gathered(const std::vector<Tally>& tallies) const {
  Pass pass;
  for (const Tally& tally : tallies) {
    pass.closest.add(tally.closest);
    pass.singular_sum += tally.singular_sum;
  }
  group_.sum_to(0, &pass.singular_sum, 1);
  gather(group_, pass.closest);
  return pass;
}

std::optional<Vector> BlockCyclic::eigenvalues() const {
  const Numbers copy(static_cast<double*>(std::malloc(numbers() * sizeof(double))));
  if (group_.largest(copy == nullptr ? 1 : 0) > 0) return {};
  std::copy_n(A_.get(), numbers(), copy.get());
  Vector values(sizes_.n);
  const int info =
      group_.transport()->eigenvalues(context_, sizes_.n, sizes_.block, copy.get(), stride_, values.data());
  if (info != 0) throw BackendError(fmt::format("ScaLAPACK: pdsyev ended with info {}", info));
  return values;
}

bool BlockCyclic::factor() {
  const int info = group_.transport()->factor(context_, sizes_.n, sizes_.block, A_.get(), stride_);
  double bad = info != 0 ? 1 : 0;
  for (Index j = 0; j < columns_.count(); ++j) {
    const Index global = columns_.global(j), on = rows_.before(global);
    if (rows_.before(global + 1) > on && !std::isfinite(A_[static_cast<std::size_t>(j * stride_ + on)]))
      bad = 1;
  }
  return group_.largest(bad) == 0;
}

Matrix BlockCyclic::to_all(const Matrix& V) const {
  std::uint64_t columns = static_cast<std::uint64_t>(V.cols());
  group_.broadcast(&columns, sizeof columns);
  Matrix all(sizes_.n, static_cast<Index>(columns));
  if (group_.leads()) all = V;
  group_.broadcast(std::span(all.data(), static_cast<std::size_t>(all.size())));
  return all;
}

// Entries on and below the diagonal act twice, from the right and from the left.
Matrix BlockCyclic::product(const Matrix& V) {
  const Matrix all = to_all(V);
  const Index b = all.cols(), rows = rows_.count(), columns = columns_.count();
  Matrix by_row(rows, b), by_column(columns, b);
  for (Index i = 0; i < rows; ++i) by_row.row(i) = all.row(rows_.global(i));
  for (Index j = 0; j < columns; ++j) by_column.row(j) = all.row(columns_.global(j));
  Matrix of_rows = Matrix::Zero(rows, b), of_columns = Matrix::Zero(columns, b), diagonal;
  for (Index j = 0; j < columns; j += sizes_.block) {
    const Index width = std::min(sizes_.block, columns - j), global = columns_.global(j);
    const Index on = rows_.before(global), below = rows_.before(global + width), left = rows - below;
    double* column = A_.get() + j * stride_;
    if (below > on) {  // a block on the diagonal: symmetric
      diagonal.resize(width, b);
      lapack::symm('L', width, b, column + on, stride_, by_column.data() + j, columns, 0.0, diagonal.data(),
                   width);
      of_rows.middleRows(on, width) += diagonal;
    }
    parallel::gemm('N', 'N', left, b, width, 1, column + below, stride_, by_column.data() + j,
                   std::max<Index>(columns, 1), 1, of_rows.data() + below, std::max<Index>(rows, 1));
    parallel::gemm('T', 'N', width, b, left, 1, column + below, stride_, by_row.data() + below,
                   std::max<Index>(rows, 1), 1, of_columns.data() + j, std::max<Index>(columns, 1));
  }
  Matrix result = Matrix::Zero(sizes_.n, b);
  for (Index i = 0; i < rows; ++i) result.row(rows_.global(i)) += of_rows.row(i);
  for (Index j = 0; j < columns; ++j) result.row(columns_.global(j)) += of_columns.row(j);
  group_.sum_to(0, result.data(), static_cast<std::size_t>(result.size()));
  return result;
}

Matrix BlockCyclic::solve(const Matrix& V) {
  const Matrix all = to_all(V);
  const Index b = all.cols(), rows = rows_.count();
  const bool holds = columns_.mine == 0;  // B is in the first column of processes
  Matrix B(std::max<Index>(rows, 1), holds ? b : 1);
  if (holds)
    for (Index i = 0; i < rows; ++i) B.row(i) = all.row(rows_.global(i));
  group_.transport()->solve(context_, sizes_.n, sizes_.block, A_.get(), stride_, B.data(), B.rows(), b);
  Matrix result = Matrix::Zero(sizes_.n, b);
  if (holds)
    for (Index i = 0; i < rows; ++i) result.row(rows_.global(i)) = B.row(i);
  group_.sum_to(0, result.data(), static_cast<std::size_t>(result.size()));
  return result;
}

// Squares of the columns of L^-1, a strip of them at a time.
Vector BlockCyclic::inverse_diagonal() {
  const Index n = sizes_.n, width = panel_width(sizes_.block) * columns_.processes;
  Vector squares = Vector::Zero(n);
  Matrix strip;
  for (Index first = 0; first < n; first += width) {
    const Index last = std::min(n, first + width);
    // Column c of the strip is column first + c of the identity, dealt from the first column of processes on.
    const Layout mine = layout(last - first, sizes_.block, columns_.processes, columns_.mine);
    strip = Matrix::Zero(stride_, std::max<Index>(mine.count(), 1));
    for (Index c = 0; c < mine.count(); ++c) {
      const Index global = first + mine.global(c), on = rows_.before(global);
      if (rows_.before(global + 1) > on) strip(on, c) = 1;
    }
    group_.transport()->divide(context_, n, first, sizes_.block, A_.get(), stride_, strip.data(), stride_,
                               last - first);
    const Index from = rows_.before(first), count = rows_.count() - from;
    for (Index c = 0; c < mine.count(); ++c)
      squares(first + mine.global(c)) += strip.col(c).segment(from, count).squaredNorm();
  }
  group_.sum_to(0, squares.data(), static_cast<std::size_t>(n));
  return squares;
}

// Panels of columns. Of L all need the panel's rows: those that a column of processes has are summed from its
// parts. Then each multiplies what it has, and the products of a row of processes are summed where the
// entries are.
std::pair<double, BlockCyclic::Pass> BlockCyclic::residual(const Kernel& kernel, double shift) {
  const Index n = sizes_.n, rows = rows_.count(), columns = columns_.count(),
              width = panel_width(sizes_.block);
  ResidualSums sums;
  for (Index j = 0; j < columns; ++j) {
    const Index on = rows_.before(columns_.global(j));
    sums.add_factor_column(A_.get() + j * stride_ + on, rows - on);
  }
  std::vector<Tally> tallies(static_cast<std::size_t>(thread_count()));
  Matrix panel, products, entries_of;
  for (Index first = 0; first < n; first += width) {
    const Index last = std::min(n, first + width), depth = columns_.before(last), top = rows_.before(first),
                height = rows - top;
    panel = Matrix::Zero(last - first, std::max<Index>(depth, 1));
    for (Index k = 0; k < depth; ++k)
      for (Index i = std::max(top, rows_.before(columns_.global(k))); i < rows_.before(last); ++i)
        panel(rows_.global(i) - first, k) = A_[static_cast<std::size_t>(k * stride_ + i)];
    column_.sum(panel.data(), static_cast<std::size_t>(panel.rows() * depth));
    for (int owner = 0; owner < columns_.processes; ++owner) {
      const Layout theirs = layout(n, sizes_.block, columns_.processes, owner);
      const Index c0 = theirs.before(first), c1 = theirs.before(last), count = c1 - c0;
      if (count == 0) continue;
      Matrix wanted(count, std::max<Index>(depth, 1));
      for (Index c = 0; c < count; ++c) wanted.row(c) = panel.row(theirs.global(c0 + c) - first);
      products = Matrix::Zero(std::max<Index>(height, 1), count);
      if (depth > 0)
        parallel::gemm('N', 'T', height, count, depth, 1, A_.get() + top, stride_, wanted.data(), count, 0,
                       products.data(), products.rows());
      row_.sum_to(owner, products.data(), static_cast<std::size_t>(height * count));
      if (owner != columns_.mine || height == 0) continue;
      entries_of.resize(stride_, count);
      entries(kernel, shift, c0, c1, entries_of.data(), tallies);
      for (Index c = 0; c < count; ++c) {
        const Index global = columns_.global(c0 + c), on = rows_.before(global);
        const bool diagonal = rows_.before(global + 1) > on;
        sums.add_column(entries_of.data() + c * stride_ + on,
                        products.data() + c * products.rows() + (on - top), rows - on, diagonal);
      }
    }
  }
  double all[3] = {sums.of_residual, sums.of_A, sums.of_L};
  group_.sum(all, 3);
  return {ResidualSums{all[0], all[1], all[2]}.bound(static_cast<double>(n)), gathered(tallies)};
}

}  // namespace zeroloss::internal
