#include <omp.h>

#include <algorithm>
#include <cmath>

#include "base/parallel_for.hpp"
#include "kernel/entry_run.hpp"
#include "kernel/lowest.hpp"
#include "kernel/residual.hpp"
#include "linalg/lapack.hpp"
#include "linalg/parallel.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/kernel/kernel_matrix.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss {
using namespace internal;

namespace {

// Points from which on float32 is tried: of fewer a factorisation takes less time than what is done around
// it.
constexpr Index kSingle = 2048;

}  // namespace

bool internal::closest_above(const std::vector<Pair>& closest, const Kernel& kernel, double least) {
  return std::all_of(closest.begin(), closest.end(), [&](const Pair& pair) {
    const double cosine = 1 - pair.distance * pair.distance / 2;
    return std::abs(kernel(1)) - std::abs(kernel(pair.antipodal ? -cosine : cosine)) > least;
  });
}

namespace {

bool factor_floats(Packed<float>& K, Progress& progress) {
  const auto n = static_cast<double>(K.n());
  progress.stage("Cholesky factorisation in float32", n * n * n / 6);
  const bool completed = factor(K, progress);
  progress.finish();
  return completed;
}

}  // namespace

const char* name_of(Proof proof) { return proof == Proof::theorem ? "theorem" : "residual"; }

PackedMatrix::PackedMatrix(const RowMatrix& X) : X_(X), work_{Packed<double>(X.rows())} {}

void PackedMatrix::form(const Kernel& kernel, double shift, Progress& progress) {
  take_memory_back();
  gram_into(work_, X_, kernel, progress);
  seen_ = {work_.entry_error, std::move(work_.closest), work_.near_pairs, work_.separation};
  if (shift != 0) shift_diagonal(work_.K, shift);
}

Matrix PackedMatrix::product(const Matrix& V) { return zeroloss::product(work_.K, V); }
Vector PackedMatrix::eigenvalues() { return zeroloss::eigenvalues(work_.K); }
bool PackedMatrix::factor(Progress& progress) { return zeroloss::factor(work_.K, progress); }

Matrix PackedMatrix::solve(const Matrix& V) {
  Matrix W = V;
  zeroloss::solve(work_.K, W);
  return W;
}

Vector PackedMatrix::inverse_diagonal(Progress& progress) {
  return zeroloss::inverse_diagonal(work_.K, progress);
}

SinglePrecision* PackedMatrix::single() {
  const auto n = static_cast<double>(X_.rows()), d = static_cast<double>(X_.cols());
  const double scratch = Packed<double>::bytes(X_.rows() / 4 + 1) + 4 * n * d;  // beside the matrix
  return X_.rows() >= kSingle && scratch < static_cast<double>(available_memory_bytes()) ? this : nullptr;
}

// What floats lay in is that of doubles again.
void PackedMatrix::take_memory_back() {
  std::optional<Packed<float>>& floats = rounded_ ? rounded_ : single_;
  if (!floats) return;
  if (rounded_) single_.reset();
  work_.K = Packed<double>::in_memory_of(std::move(*floats));
  floats.reset();
}

bool PackedMatrix::factor_single(const Kernel& kernel, double least, Progress& progress) {
  take_memory_back();
  single_.emplace(Packed<float>::in_memory_of(std::move(work_.K)));
  Gram<float> gram{std::move(*single_)};
  const auto take_back = [&] { single_.emplace(std::move(gram.K)); };
  try {
    gram_into(gram, Rows<float>(X_.cast<float>()), kernel, progress);
    const bool completed = closest_above(gram.closest, kernel, least) && factor_floats(gram.K, progress);
    take_back();
    return completed;
  } catch (...) {
    take_back();
    throw;
  }
}

bool PackedMatrix::round_and_factor(Progress& progress) {
  rounded_.emplace(Packed<float>::rounded(std::move(work_.K)));
  try {
    single_.emplace(rounded_->copy());
  } catch (const ResourceError&) {  // pages are given back, addresses are not
    return false;
  }
  return factor_floats(*single_, progress);
}

Matrix PackedMatrix::solve_refined(const Matrix& V) {
  constexpr Index kAtOnce = 16;  // columns: a product takes sixteen times their memory
  Matrix found = solve_single(V);
  for (Index j = 0; j < V.cols(); j += kAtOnce) {
    const Index count = std::min(kAtOnce, V.cols() - j);
    const Matrix some = found.middleCols(j, count);
    found.middleCols(j, count) += solve_single(V.middleCols(j, count) - zeroloss::product(*rounded_, some));
  }
  return found;
}

Vector PackedMatrix::inverse_diagonal_single(Progress& progress) {
  return zeroloss::inverse_diagonal(*single_, progress);
}

Matrix PackedMatrix::solve_single(const Matrix& V) {
  Eigen::MatrixXf W = V.cast<float>();
  zeroloss::solve(*single_, W);
  return W.cast<double>();
}

bool PackedMatrix::quarter_above(const Kernel& kernel, double least, Progress& progress) {
  const Index side = (X_.rows() + 3) / 4;
  RowMatrix some(side, X_.cols());
  for (Index i = 0; i < side; ++i) some.row(i) = X_.row(4 * i);
  Progress silent = progress.silent();
  auto part = gram(some, kernel, silent);
  shift_diagonal(part.K, -least);
  return zeroloss::factor(part.K, silent);
}

void PackedMatrix::shift(double shift) { shift_diagonal(work_.K, shift); }

// A panel of columns at a time: of L its rows there, those below, and the products of both.
double PackedMatrix::residual(const Kernel& kernel, double shift, Progress& progress) {
  constexpr Index kWidth = 256;
  const Packed<double>& L = work_.K;
  const Index n = L.n(), n1 = L.n1(), d = X_.cols();
  const double at_one = kernel(1) + shift;
  const EntryRuns<double> runs(kernel, d);
  std::vector<Tally> tallies(static_cast<std::size_t>(thread_count()));
  ResidualSums sums;
  Matrix panel, P;
  RowMatrix A(kWidth, n);  // row j: entries (j.., j)
  for (Index j0 = 0; j0 < n; j0 += kWidth) {
    const Index j1 = std::min(n, j0 + kWidth), width = j1 - j0, rows = n - j0;
    panel = Matrix::Zero(width, j1);
    for (Index k = 0; k < j1; ++k)
      for (Index j = std::max(j0, k); j < j1; ++j) panel(j - j0, k) = L(j, k);
    P.resize(rows, width);
    const Index left = std::min(j1, n1);
    parallel::gemm('N', 'T', rows, width, left, 1, L.column(0) + j0, L.stride(), panel.data(), width, 0,
                   P.data(), rows);
    if (j1 > n1) {  // columns of the corner, whose rows run the other way: from n1 on, or from j0
      const Index first = std::max(j0, n1), count = n - first;
      parallel::gemm('T', 'T', count, width, j1 - n1, 1, L.corner_row(first), L.stride(),
                     panel.data() + n1 * width, width, 1, P.data() + (first - j0), rows);
    }
    const SerialBlas serial;
    parallel_for((n - j0 + kTile - 1) / kTile, [&](Index t) {
      const Index i0 = j0 + t * kTile;
      const Index end = std::min(n, i0 + kTile);
      lapack::gemm('T', 'N', end - i0, width, d, 1.0, X_.data() + i0 * d, d, X_.data() + j0 * d, d, 0.0,
                   A.data() + i0, n);
      Tally& tally = tallies[static_cast<std::size_t>(omp_get_thread_num())];
      for (Index j = j0; j < j1; ++j) {
        const Index first = std::max(i0, j + 1);
        const auto place = [&](Index q) -> PlacedPair<double> {
          return {first + q, j, X_.row(first + q).data(), X_.row(j).data()};
        };
        runs.finish(A.data() + (j - j0) * n + first, end - first, place, tally);
      }
    });
    for (Index j = j0; j < j1; ++j) {
      double* column = A.data() + (j - j0) * n + j;
      *column = at_one;
      sums.add_column(column, P.data() + (j - j0) * rows + (j - j0), n - j, true);
      if (j < n1) sums.add_factor_column(L.column(j) + j, n - j);
    }
    progress.advance(static_cast<double>(rows) * static_cast<double>(width) * static_cast<double>(j1));
  }
  for (Index i = n1; i < n; ++i) sums.add_factor_column(L.corner_row(i), i - n1 + 1);
  Tally all;
  for (const Tally& tally : tallies) {
    all.closest.add(tally.closest);
    all.singular_sum += tally.singular_sum;
  }
  seen_.entry_error = entry_error(kernel, static_cast<double>(n), static_cast<double>(d),
                                  static_cast<double>(all.closest.near_pairs()), all.singular_sum);
  return sums.bound(static_cast<double>(n));
}

}  // namespace zeroloss
