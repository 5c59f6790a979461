#include "kernel/tile_pass.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/as_double.hpp"
#include "base/parallel_for.hpp"
#include "kernel/entries.hpp"
#include "kernel/entry_run.hpp"
#include "linalg/lapack.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr std::size_t kBetweenReports = 4;  // tiles of a group

Index sides(Index n) { return (n + kTile - 1) / kTile; }

/// Where the tiles of a group are, on or below the diagonal: their first rows and columns.
std::vector<std::pair<Index, Index>> places_of(Index n, Index group) {
  std::vector<std::pair<Index, Index>> places;
  Index t = 0;
  for (Index j = 0; j < sides(n); ++j)
    for (Index i = j; i < sides(n); ++i, ++t)
      if (t % kGroupsOfTiles == group) places.emplace_back(i * kTile, j * kTile);
  return places;
}

Index rows_of_tile(Index n, Index i) { return std::min(kTile, n - i); }

/// Forms one tile after the other.
class TileFormer {
 public:
  TileFormer(const RowMatrix& X, const Kernel& kernel)
      : X_(X),
        runs_(kernel, X.cols()),
        at_one_(kernel(1)),
        buffer_(static_cast<std::size_t>(kTile * kTile)) {}

  /// Rows i.., columns j.., column by column; of a tile on the diagonal the lower triangle.
  const double* form(Index i, Index j, Tally& tally, double& squares) {
    const Index n = X_.rows(), d = X_.cols(), rows = rows_of_tile(n, i), columns = rows_of_tile(n, j);
    double* tile = buffer_.data();
    lapack::gemm('T', 'N', rows, columns, d, 1.0, X_.data() + i * d, d, X_.data() + j * d, d, 0.0, tile,
                 rows);
    const bool diagonal = i == j;
    for (Index q = 0; q < columns; ++q) {
      const Index first = diagonal ? q + 1 : 0, at = j + q;
      double* column = tile + q * rows;
      const auto place = [&](Index p) -> PlacedPair<double> {
        const Index row = i + first + p;
        return {row, at, X_.row(row).data(), X_.row(at).data()};
      };
      runs_.finish(column + first, rows - first, place, tally);
      double sum = 0;
      for (Index p = first; p < rows; ++p) sum += column[p] * column[p];
      squares += 2 * sum;
      if (!diagonal) continue;
      column[q] = at_one_;  // <x, x> = 1 exactly
      squares += at_one_ * at_one_;
    }
    return tile;
  }

 private:
  const RowMatrix& X_;
  EntryRuns<double> runs_;
  double at_one_;
  std::vector<double> buffer_;
};

/// A product goes into `part`, a place of its own, so that it goes through the sums of its tile alone.
template <class T, class M>
void add_product(const T* tile, Index i, Index j, const M& V, M& part, M& sum) {
  const Index n = V.rows(), c = V.cols(), rows = rows_of_tile(n, i), columns = rows_of_tile(n, j);
  part.resize(kTile, c);
  if (i == j) {
    lapack::symm('L', rows, c, tile, rows, V.data() + j, n, T{0}, part.data(), kTile);
    sum.middleRows(i, rows) += part.topRows(rows);
    return;
  }
  lapack::gemm('N', 'N', rows, c, columns, T{1}, tile, rows, V.data() + j, n, T{0}, part.data(), kTile);
  sum.middleRows(i, rows) += part.topRows(rows);
  lapack::gemm('T', 'N', columns, c, rows, T{1}, tile, rows, V.data() + i, n, T{0}, part.data(), kTile);
  sum.middleRows(j, columns) += part.topRows(columns);
}

/// `visit(k, tile, i, j, tally, squares)` for each tile of the k-th of these groups, in their order, some at
/// a time.
template <class Visit>
void for_each_tile(const RowMatrix& X, const Kernel& kernel, const std::vector<Index>& groups,
                   Progress& progress, const Visit& visit) {
  const Index n = X.rows();
  std::vector<std::vector<std::pair<Index, Index>>> places;
  for (const Index g : groups) places.push_back(places_of(n, g));
  std::size_t most = 0, all = 0;
  for (const auto& of_group : places) most = std::max(most, of_group.size()), all += of_group.size();
  const Threads threads(all > 1 ? kernel_work(n, n, X.cols()) / 2 : 0);
  progress.stage("kernel " + kernel.name, static_cast<double>(all));
  for (std::size_t begin = 0; begin < most; begin += kBetweenReports) {
    const SerialBlas serial;
    parallel_for(
        std::ssize(groups), [&] { return TileFormer(X, kernel); },
        [&](TileFormer& former, Index k) {
          const auto& of_group = places[static_cast<std::size_t>(k)];
          for (std::size_t t = begin; t < std::min(begin + kBetweenReports, of_group.size()); ++t)
            visit(former, static_cast<std::size_t>(k), of_group[t].first, of_group[t].second);
        });
    double done = 0;
    for (const auto& of_group : places)
      done += static_cast<double>(std::min(of_group.size(), begin + kBetweenReports) -
                                  std::min(of_group.size(), begin));
    progress.advance(done);
  }
  progress.finish();
}

std::vector<Index> every_group() {
  std::vector<Index> groups(static_cast<std::size_t>(kGroupsOfTiles));
  std::iota(groups.begin(), groups.end(), Index{0});
  return groups;
}

/// Columns of size 1, which float32 can hold, and what they were divided by.
std::pair<Eigen::MatrixXf, Vector> to_float(const Matrix& V) {
  const Vector size = V.cwiseAbs().colwise().maxCoeff().transpose();
  const Vector scale = size.unaryExpr([](double s) { return s > 0 ? s : 1.0; });
  return {(V * scale.cwiseInverse().asDiagonal()).cast<float>(), scale};
}

class TilesHere final : public KernelTiles {
 public:
  TilesHere(const RowMatrix& X, const Kernel& kernel) : X_(X), kernel_(kernel) {}

  TilePass pass(const Matrix& V, Progress& progress) override {
    return pass_of(group_sums(X_, kernel_, V, every_group(), progress), kernel_, X_.cols());
  }

  void keep(KernelStorage storage, Progress& progress) override {
    doubles_.reset();
    floats_.reset();
    if (storage == KernelStorage::float64) doubles_ = std::move(gram(X_, kernel_, progress).K);
    if (storage == KernelStorage::float32)
      floats_ = std::move(gram(Rows<float>(X_.cast<float>()), kernel_, progress).K);
  }

  Matrix product(const Matrix& V, Progress& progress) override {
    progress.check();
    if (doubles_) return zeroloss::product(*doubles_, V);
    if (floats_) {
      const auto [scaled, scale] = to_float(V);
      return zeroloss::product(*floats_, scaled).cast<double>() * scale.asDiagonal();
    }
    Progress silent = progress.silent();
    return pass(V, silent).product;
  }

  double bytes(KernelStorage storage) const override {
    const Index n = X_.rows();
    if (storage == KernelStorage::float64) return Packed<double>::bytes(n);
    if (storage == KernelStorage::float32)
      return Packed<float>::bytes(n) + 4 * as_double(n) * as_double(X_.cols());
    return 0;
  }

 private:
  const RowMatrix& X_;
  const Kernel& kernel_;
  std::optional<Packed<double>> doubles_;
  std::optional<Packed<float>> floats_;
};

}  // namespace

// A tile's sum of at most kTile products; sums of a group's tiles; sums of groups.
double tile_pass_additions(Index n) { return static_cast<double>(kTile + sides(n) + kGroupsOfTiles + 1); }

double tile_pass_bytes(Index n, Index c) {
  return 8 * (static_cast<double>(kGroupsOfTiles) + 2) * static_cast<double>(n) * static_cast<double>(c) +
         8.0 * static_cast<double>(kTile * kTile) * thread_count();
}

std::vector<GroupSum> group_sums(const RowMatrix& X, const Kernel& kernel, const Matrix& V,
                                 const std::vector<Index>& groups, Progress& progress) {
  const Index n = X.rows(), c = V.cols();
  require_memory(tile_pass_bytes(n, c), "a pass over the kernel", "use fewer points");
  std::vector<GroupSum> sums(groups.size());
  std::vector<Tally> tallies(groups.size());
  std::vector<Matrix> parts(groups.size());
  for (GroupSum& sum : sums) sum.product.setZero(n, c);
  for_each_tile(X, kernel, groups, progress, [&](TileFormer& former, std::size_t k, Index i, Index j) {
    const double* tile = former.form(i, j, tallies[k], sums[k].squares);
    add_product(tile, i, j, V, parts[k], sums[k].product);
  });
  for (std::size_t k = 0; k < groups.size(); ++k) {
    sums[k].near_pairs = as_double(tallies[k].closest.near_pairs());
    sums[k].singular_sum = tallies[k].singular_sum;
  }
  return sums;
}

TilePass pass_of(std::vector<GroupSum> all, const Kernel& kernel, Index d) {
  GroupSum total = std::move(all.front());
  for (std::size_t k = 1; k < all.size(); ++k) {
    total.product += all[k].product;
    total.near_pairs += all[k].near_pairs;
    total.singular_sum += all[k].singular_sum;
    total.squares += all[k].squares;
  }
  const Index n = total.product.rows();
  return {std::move(total.product),
          entry_error(kernel, as_double(n), as_double(d), total.near_pairs, total.singular_sum),
          std::sqrt(total.squares) * kUp};
}

template <class T>
KeptTiles<T>::KeptTiles(const RowMatrix& X, const Kernel& kernel, const std::vector<Index>& groups,
                        Progress& progress)
    : n_(X.rows()), groups_(groups.size()) {
  double numbers = 0;
  for (const Index g : groups) numbers += as_double(std::ssize(places_of(n_, g))) * as_double(kTile * kTile);
  require_memory(sizeof(T) * numbers, "the kernel's tiles", "use fewer points, or more processes");
  std::vector<Tally> tallies(groups.size());
  std::vector<double> squares(groups.size());
  for_each_tile(X, kernel, groups, progress, [&](TileFormer& former, std::size_t k, Index i, Index j) {
    const double* tile = former.form(i, j, tallies[k], squares[k]);
    const auto count = static_cast<std::size_t>(rows_of_tile(n_, i) * rows_of_tile(n_, j));
    groups_[k].push_back({i, j, std::vector<T>(tile, tile + count)});
  });
}

template <class T>
Matrix KeptTiles<T>::product(const Matrix& V) const {
  using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  const auto [scaled, scale] = [&]() -> std::pair<Columns, Vector> {
    if constexpr (std::is_same_v<T, float>) return to_float(V);
    return {Columns(V.template cast<T>()), Vector::Ones(V.cols())};
  }();
  std::vector<Columns> sums(groups_.size());
  const SerialBlas serial;
  const Threads threads(as_double(n_) * as_double(n_) * as_double(V.cols()));
  const Columns& columns = scaled;
  parallel_for(std::ssize(groups_), [&](Index k) {
    Columns part, &sum = sums[static_cast<std::size_t>(k)];
    sum.setZero(n_, columns.cols());
    for (const Tile& tile : groups_[static_cast<std::size_t>(k)])
      add_product(tile.entries.data(), tile.i, tile.j, columns, part, sum);
  });
  Matrix total = Matrix::Zero(n_, V.cols());
  for (const Columns& sum : sums) total += sum.template cast<double>();
  return total * scale.asDiagonal();
}

template class KeptTiles<float>;
template class KeptTiles<double>;

std::unique_ptr<KernelTiles> kernel_tiles(const RowMatrix& X, const Kernel& kernel) {
  return std::make_unique<TilesHere>(X, kernel);
}

}  // namespace zeroloss::internal
