#include "torch/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "kernel/entry_run.hpp"
#include "kernel/residual.hpp"
#include "torch/cuda.hpp"
#include "torch/device.hpp"
#include "torch/guarded.hpp"
#include "torch/pairs.hpp"
#include "torch/probe.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {
namespace {

double real(Index value) { return static_cast<double>(value); }

torch::TensorOptions doubles(const torch::Device& device) {
  return torch::TensorOptions().dtype(torch::kDouble).device(device);
}

// sum of 1/(1 - rho^2) over pairs with 1 - |rho| > kNear; a size of -1 is no pair.
double singular_sum_of(const torch::Tensor& size) {
  const torch::Tensor gap = 1 - size;
  const torch::Tensor counts = gap.gt(kNear).logical_and_(size.ge(0));
  const torch::Tensor product = gap.mul(1 + size);
  return at::where(counts, product.reciprocal(), torch::zeros({}, gap.options())).sum().item<double>();
}

}  // namespace

TorchMatrix::TorchMatrix(const RowMatrix& X, const torch::Device& device, Index width)
    : X_(X), n_(X.rows()), width_(width), device_(device) {
  if (n_ < 1 || X.cols() < 1) throw std::invalid_argument("kernel: X needs at least one row and one column");
  if (!X.allFinite()) throw std::invalid_argument("kernel: X has values that are not finite");
  require_bytes(bytes(device, n_, X.cols(), 0, width), device, fmt::format("the kernel of {} points", n_),
                kFewerPoints);
  guarded("kernel", kFewerPoints, [&] {
    const Index side = std::min(width_, n_);
    // The largest shapes that proofs rest on: tiles of entries, and updates of a panel.
    check_products(device_, torch::kDouble, std::min(n_, kRows * width_), X.cols(), side);
    check_products(device_, torch::kDouble, n_, side, side);
    points_ = torch::from_blob(const_cast<double*>(X.data()), {n_, X.cols()}, torch::kDouble).to(device_);
    for (Index j = 0; begin(j) < n_; ++j)
      panels_.push_back(torch::empty({rows(j), columns(j)}, doubles(device_)));
  });
}

double TorchMatrix::bytes(const torch::Device& device, Index n, Index d, Index columns, Index width) {
  const double rows = real(n), w = real(std::min(n, width)), tile = std::min(rows, real(kRows) * w) * w;
  const double points = device.is_cuda() ? rows * real(d) : 0;  // on a processor they are where they are
  // The lower triangle in panels, a panel of products beside one that replaces a panel or six of a probe, and
  // what forms a tile.
  return 8 * (rows * (rows + w) / 2 + points + 7 * rows * w + 12 * tile + 2 * rows * real(columns));
}

// A processor's library multiplies one way; a GPU's may have another for every shape.
void TorchMatrix::probe(Index rows, Index inner, Index columns) {
  if (!device_.is_cuda() || !probed_.emplace(rows, inner, columns).second) return;
  check_products(device_, torch::kDouble, rows, inner, columns);
}

void TorchMatrix::entries(const Kernel& kernel, const TorchEntries& map, double at_one, Index i, Index j,
                          torch::Tensor& tile, Tally& tally) {
  const Index first = begin(j), height = tile.size(0);
  probe(height, X_.cols(), columns(j));
  const bool diagonal = i == first;  // the first tile of a panel holds all of its diagonal block
  at::mm_out(tile, points_.slice(0, i, i + height), points_.slice(0, first, first + columns(j)).t());
  torch::Tensor size = tile.abs();
  if (diagonal)  // what is no pair i > j is of size -1
    size.masked_fill_(torch::ones_like(size, torch::kBool).triu_(), -1);
  std::vector<std::int64_t> recomputed;
  std::vector<double> values;
  const double largest = size.max().item<double>();
  const double least = std::max(0.0, std::min(1 - kNear, tally.closest.bar()));
  if (largest >= least)
    for (const Found& pair : largest_pairs(size, least, 0, 1 - kNear)) {
      const Index row = i + pair.place / columns(j), column = first + pair.place % columns(j);
      const PlacedPair<double> placed{row, column, X_.row(row).data(), X_.row(column).data()};
      if (const auto entry = see_pair(kernel, X_.cols(), pair.size, placed, tally.closest)) {
        recomputed.push_back(pair.place);
        values.push_back(*entry);
      }
    }
  if (std::isinf(kernel.slope())) tally.singular_sum += singular_sum_of(size);
  map.map(tile);
  if (!recomputed.empty()) {
    const auto count = static_cast<std::int64_t>(recomputed.size());
    tile.view({-1}).index_copy_(0, torch::from_blob(recomputed.data(), {count}, torch::kLong).to(device_),
                                torch::from_blob(values.data(), {count}, torch::kDouble).to(device_));
  }
  if (!diagonal) return;
  tile.tril_();
  tile.diagonal().fill_(at_one);
}

double TorchMatrix::error_of(const Kernel& kernel, const Tally& tally) const {
  return entry_error(kernel, real(n_), real(X_.cols()), real(tally.closest.near_pairs()), tally.singular_sum);
}

void TorchMatrix::form(const Kernel& kernel, double shift, Progress& progress) {
  progress.stage("kernel " + kernel.name, real(count()));
  guarded("kernel", kFewerPoints, [&] {
    const TorchEntries map(kernel, device_);
    Tally tally;
    for (Index j = 0; j < count(); ++j) {
      for (Index i = begin(j); i < n_; i += kRows * width_) {
        torch::Tensor tile = below(j, i).slice(0, 0, std::min(kRows * width_, n_ - i));
        entries(kernel, map, kernel(1) + shift, i, j, tile, tally);
      }
      progress.advance(1);
    }
    seen_.near_pairs = tally.closest.near_pairs();
    seen_.closest = tally.closest.pairs(X_);
    seen_.separation = separation_bound(seen_.closest, seen_.near_pairs, real(X_.cols()));
    seen_.entry_error = error_of(kernel, tally);
  });
  progress.finish();
}

torch::Tensor TorchMatrix::to_device(const Matrix& V) const {
  return torch::from_blob(const_cast<double*>(V.data()), {V.cols(), V.rows()}, torch::kDouble)
      .to(device_, torch::kDouble, /*non_blocking=*/false, /*copy=*/true)
      .t()
      .contiguous();
}

Matrix TorchMatrix::to_host(const torch::Tensor& values) {
  const torch::Tensor host = values.t().contiguous().to(torch::kCPU);
  return Eigen::Map<const Matrix>(host.data_ptr<double>(), values.size(0), values.size(1));
}

// Entries below the diagonal act twice, from the right and from the left.
Matrix TorchMatrix::product(const Matrix& V) {
  return guarded("kernel", kFewerPoints, [&] {
    const torch::Tensor v = to_device(V);
    torch::Tensor result = torch::zeros_like(v);
    for (Index j = 0; j < count(); ++j) {
      const Index first = begin(j), end = first + columns(j);
      const torch::Tensor lower = diagonal_block(j).tril();
      const torch::Tensor whole = lower + lower.tril(-1).t(), above = v.slice(0, first, end);
      torch::Tensor here = result.slice(0, first, end);
      here.addmm_(whole, above);
      if (end == n_) continue;
      const torch::Tensor rest = below(j, end);
      result.slice(0, end).addmm_(rest, above);
      here.addmm_(rest.t(), v.slice(0, end));
    }
    return to_host(result);
  });
}

Vector TorchMatrix::eigenvalues() {
  require_bytes(8 * 3 * real(n_) * real(n_), device_, "the full spectrum",
                "leave it out, or use fewer points");
  return guarded("spectrum", kFewerPoints, [&]() -> Vector {
    torch::Tensor full = torch::zeros({n_, n_}, doubles(device_));
    for (Index j = 0; j < count(); ++j)
      full.slice(0, begin(j))
          .slice(1, begin(j), begin(j) + columns(j))
          .copy_(panels_[static_cast<std::size_t>(j)]);
    return to_host(at::linalg_eigvalsh(full, "L").unsqueeze(1)).col(0);
  });
}

// Left-looking: a panel loses what those before it have of it, then its diagonal block is factored and what
// is below divided by it.
bool TorchMatrix::factor(Progress& progress) {
  return guarded("Cholesky factorisation", kFewerPoints, [&] {
    for (Index j = 0; j < count(); ++j) {
      const Index first = begin(j), end = first + columns(j);
      torch::Tensor panel = panels_[static_cast<std::size_t>(j)];
      for (Index k = 0; k < j; ++k) {
        const torch::Tensor left = below(k, first);
        panel.addmm_(left, left.slice(0, 0, columns(j)).t(), 1, -1);
        progress.check();
      }
      torch::Tensor block = diagonal_block(j);
      const auto [L, info] = at::linalg_cholesky_ex(block);
      if (info.item<std::int64_t>() != 0) return false;
      const torch::Tensor pivots = L.diagonal();
      if (!pivots.gt(0).logical_and(pivots.isfinite()).all().item<bool>()) return false;
      block.copy_(L.tril());
      if (end < n_) {
        torch::Tensor rest = below(j, end);
        rest.copy_(at::linalg_solve_triangular(L.t(), rest, /*upper=*/true, /*left=*/false));
      }
      progress.advance(real(rows(j)) * real(columns(j)) * real(first + columns(j) / 2));
    }
    return true;
  });
}

Matrix TorchMatrix::solve(const Matrix& V) {
  return guarded("kernel", kFewerPoints, [&] {
    torch::Tensor x = to_device(V);
    const auto rows_of = [&](Index j) { return x.slice(0, begin(j), begin(j) + columns(j)); };
    for (Index j = 0; j < count(); ++j) {
      const Index end = begin(j) + columns(j);
      torch::Tensor here = rows_of(j);
      here.copy_(at::linalg_solve_triangular(diagonal_block(j), here, /*upper=*/false));
      if (end < n_) x.slice(0, end).addmm_(below(j, end), here, 1, -1);
    }
    for (Index j = count(); j-- > 0;) {
      const Index end = begin(j) + columns(j);
      torch::Tensor here = rows_of(j);
      if (end < n_) here.addmm_(below(j, end).t(), x.slice(0, end), 1, -1);
      here.copy_(at::linalg_solve_triangular(diagonal_block(j).t(), here, /*upper=*/true));
    }
    return to_host(x);
  });
}

// Squares of the columns of L^-1, a panel of them at a time: they vanish above the panel's diagonal block.
Vector TorchMatrix::inverse_diagonal(Progress& progress) {
  return guarded("kernel", kFewerPoints, [&] {
    Vector squares(n_);
    for (Index j = 0; j < count(); ++j) {
      torch::Tensor strip = torch::zeros({rows(j), columns(j)}, doubles(device_));
      strip.diagonal().fill_(1);
      for (Index k = j; k < count(); ++k) {
        const Index from = begin(k) - begin(j), end = begin(k) + columns(k);
        torch::Tensor here = strip.slice(0, from, from + columns(k));
        here.copy_(at::linalg_solve_triangular(diagonal_block(k), here, /*upper=*/false));
        if (end < n_) strip.slice(0, end - begin(j)).addmm_(below(k, end), here, 1, -1);
        progress.check();
      }
      squares.segment(begin(j), columns(j)) = to_host(strip.square_().sum(0).unsqueeze(1)).col(0);
      progress.advance(real(rows(j)) * real(rows(j)) * real(columns(j)));
    }
    return squares;
  });
}

// A panel of L L^T at a time, by products whose depth is a panel's width. Squares are summed over a tile's
// rows, tiles, a panel's columns and panels: no more than n + width + n/width + 4 roundings in each.
double TorchMatrix::residual(const Kernel& kernel, double shift, Progress& progress) {
  return guarded("residual", kFewerPoints, [&] {
    const TorchEntries map(kernel, device_);
    ResidualSums sums;
    Tally tally;
    for (Index j = 0; j < count(); ++j) {
      const Index first = begin(j);
      torch::Tensor products = torch::zeros({rows(j), columns(j)}, doubles(device_));
      for (Index k = 0; k <= j; ++k) {
        const torch::Tensor left = below(k, first);
        probe(rows(j), columns(k), columns(j));
        products.addmm_(left, left.slice(0, 0, columns(j)).t());
        progress.check();
      }
      torch::Tensor of_residual = torch::zeros({columns(j)}, doubles(device_)),
                    of_A = torch::zeros_like(of_residual);
      for (Index i = first; i < n_; i += kRows * width_) {
        const Index height = std::min(kRows * width_, n_ - i);
        torch::Tensor A = torch::empty({height, columns(j)}, doubles(device_));
        entries(kernel, map, kernel(1) + shift, i, j, A, tally);
        const torch::Tensor difference = A - products.slice(0, i - first, i - first + height);
        const auto add = [&](torch::Tensor& sum, const torch::Tensor& of) {
          if (i > first) {
            sum.add_(of.square().sum(0), 2);
            return;
          }
          sum.add_(of.tril(-1).square_().sum(0), 2);
          sum.add_(of.diagonal().square());
        };
        add(of_residual, difference);
        add(of_A, A);
      }
      sums.of_residual += of_residual.sum().item<double>();
      sums.of_A += of_A.sum().item<double>();
      sums.of_L += panels_[static_cast<std::size_t>(j)].square().sum(0).sum().item<double>();
      progress.advance(real(rows(j)) * real(columns(j)) * real(first + columns(j)));
    }
    seen_.entry_error = error_of(kernel, tally);
    return sums.bound(real(n_));
  });
}

Matrix TorchMatrix::lower() const {
  Matrix result = Matrix::Zero(n_, n_);
  for (Index j = 0; j < count(); ++j)
    result.block(begin(j), begin(j), rows(j), columns(j)) = to_host(panels_[static_cast<std::size_t>(j)]);
  return result.triangularView<Eigen::Lower>();
}

void TorchMatrix::set(Index i, Index j, double value) {
  const Index panel = j / width_;
  panels_[static_cast<std::size_t>(panel)].index_put_({i - begin(panel), j - begin(panel)}, value);
}

}  // namespace zeroloss::internal
