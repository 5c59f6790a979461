#include "torch/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "base/as_double.hpp"
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

TorchPanels panels_for(const RowMatrix& X, const torch::Device& device, Index width) {
  if (X.rows() < 1 || X.cols() < 1)
    throw std::invalid_argument("kernel: X needs at least one row and one column");
  if (!X.allFinite()) throw std::invalid_argument("kernel: X has values that are not finite");
  require_bytes(TorchMatrix::bytes(device, X.rows(), X.cols(), 0, width), device,
                fmt::format("the kernel of {} points", X.rows()), kFewerPoints);
  return guarded("kernel", kFewerPoints, [&] { return TorchPanels(X.rows(), width, device); });
}

}  // namespace

TorchMatrix::TorchMatrix(const RowMatrix& X, const torch::Device& device, Index width)
    : X_(X), device_(device), panels_(panels_for(X, device, width)) {
  guarded("kernel", kFewerPoints, [&] {
    const Index side = std::min(width, n());
    // The largest shapes that proofs rest on: tiles of entries, and updates of a panel.
    check_products(device_, torch::kDouble, std::min(n(), kRows * width), X.cols(), side);
    check_products(device_, torch::kDouble, n(), side, side);
    points_ = torch::from_blob(const_cast<double*>(X.data()), {n(), X.cols()}, torch::kDouble).to(device_);
  });
}

double TorchMatrix::bytes(const torch::Device& device, Index n, Index d, Index columns, Index width) {
  const double rows = as_double(n), w = as_double(std::min(n, width)),
               tile = std::min(rows, as_double(kRows) * w) * w;
  const double points = device.is_cuda() ? rows * as_double(d) : 0;  // on a processor they are where they are
  // The lower triangle in panels, a panel of products beside one that replaces a panel or six of a probe, and
  // what forms a tile.
  return 8 * (rows * (rows + w) / 2 + points + 7 * rows * w + 12 * tile + 2 * rows * as_double(columns));
}

void TorchMatrix::entries(const Kernel& kernel, const TorchEntries& map, double at_one, Index i, Index j,
                          torch::Tensor& tile, Tally& tally) {
  const Index first = panels_.begin(j), height = tile.size(0);
  panels_.probe(height, X_.cols(), panels_.columns(j));
  const bool diagonal = i == first;  // the first tile of a panel holds all of its diagonal block
  at::mm_out(tile, points_.slice(0, i, i + height), points_.slice(0, first, first + panels_.columns(j)).t());
  torch::Tensor size = tile.abs();
  if (diagonal)  // what is no pair i > j is of size -1
    size.masked_fill_(torch::ones_like(size, torch::kBool).triu_(), -1);
  std::vector<std::int64_t> recomputed;
  std::vector<double> values;
  const double largest = size.max().item<double>();
  const double least = std::max(0.0, std::min(1 - kNear, tally.closest.bar()));
  if (largest >= least)
    for (const Found& pair : largest_pairs(size, least, 0, 1 - kNear)) {
      const Index row = i + pair.place / panels_.columns(j), column = first + pair.place % panels_.columns(j);
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
  return entry_error(kernel, as_double(n()), as_double(X_.cols()), as_double(tally.closest.near_pairs()),
                     tally.singular_sum);
}

void TorchMatrix::form(const Kernel& kernel, double shift, Progress& progress) {
  progress.stage("kernel " + kernel.name, as_double(panels_.count()));
  guarded("kernel", kFewerPoints, [&] {
    const TorchEntries map(kernel, device_);
    Tally tally;
    for (Index j = 0; j < panels_.count(); ++j) {
      for (Index i = panels_.begin(j); i < n(); i += kRows * panels_.width()) {
        torch::Tensor tile = panels_.below(j, i).slice(0, 0, std::min(kRows * panels_.width(), n() - i));
        entries(kernel, map, kernel(1) + shift, i, j, tile, tally);
      }
      progress.advance(1);
    }
    seen_.near_pairs = tally.closest.near_pairs();
    seen_.closest = tally.closest.pairs(X_);
    seen_.separation = separation_bound(seen_.closest, seen_.near_pairs, as_double(X_.cols()));
    seen_.entry_error = error_of(kernel, tally);
  });
  progress.finish();
}

Matrix TorchMatrix::product(const Matrix& V) {
  return guarded("kernel", kFewerPoints, [&] { return panels_.product(V); });
}

Vector TorchMatrix::eigenvalues() {
  require_bytes(8 * 3 * as_double(n()) * as_double(n()), device_, "the full spectrum",
                "leave it out, or use fewer points");
  return guarded("spectrum", kFewerPoints, [&]() -> Vector {
    torch::Tensor full = torch::zeros({n(), n()}, doubles(device_));
    for (Index j = 0; j < panels_.count(); ++j)
      full.slice(0, panels_.begin(j))
          .slice(1, panels_.begin(j), panels_.begin(j) + panels_.columns(j))
          .copy_(panels_.panel(j));
    return TorchPanels::to_host(at::linalg_eigvalsh(full, "L").unsqueeze(1)).col(0);
  });
}

bool TorchMatrix::factor(Progress& progress) {
  return guarded("Cholesky factorisation", kFewerPoints, [&] { return panels_.factor(progress); });
}

Matrix TorchMatrix::solve(const Matrix& V) {
  return guarded("kernel", kFewerPoints, [&] { return panels_.solve(V); });
}

// Squares of the columns of L^-1, a panel of them at a time: they vanish above the panel's diagonal block.
Vector TorchMatrix::inverse_diagonal(Progress& progress) {
  return guarded("kernel", kFewerPoints, [&] {
    Vector squares(n());
    for (Index j = 0; j < panels_.count(); ++j) {
      torch::Tensor strip = torch::zeros({panels_.rows(j), panels_.columns(j)}, doubles(device_));
      strip.diagonal().fill_(1);
      for (Index k = j; k < panels_.count(); ++k) {
        const Index from = panels_.begin(k) - panels_.begin(j), end = panels_.begin(k) + panels_.columns(k);
        torch::Tensor here = strip.slice(0, from, from + panels_.columns(k));
        here.copy_(at::linalg_solve_triangular(panels_.diagonal_block(k), here, /*upper=*/false));
        if (end < n()) strip.slice(0, end - panels_.begin(j)).addmm_(panels_.below(k, end), here, 1, -1);
        progress.check();
      }
      squares.segment(panels_.begin(j), panels_.columns(j)) =
          TorchPanels::to_host(strip.square_().sum(0).unsqueeze(1)).col(0);
      progress.advance(as_double(panels_.rows(j)) * as_double(panels_.rows(j)) *
                       as_double(panels_.columns(j)));
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
    for (Index j = 0; j < panels_.count(); ++j) {
      const Index first = panels_.begin(j);
      const torch::Tensor products = panels_.product_panel(j, progress);
      torch::Tensor of_residual = torch::zeros({panels_.columns(j)}, doubles(device_)),
                    of_A = torch::zeros_like(of_residual);
      for (Index i = first; i < n(); i += kRows * panels_.width()) {
        const Index height = std::min(kRows * panels_.width(), n() - i);
        torch::Tensor A = torch::empty({height, panels_.columns(j)}, doubles(device_));
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
      sums.of_L += panels_.panel(j).square().sum(0).sum().item<double>();
      progress.advance(as_double(panels_.rows(j)) * as_double(panels_.columns(j)) *
                       as_double(first + panels_.columns(j)));
    }
    seen_.entry_error = error_of(kernel, tally);
    return sums.bound(as_double(n()));
  });
}

Matrix TorchMatrix::lower() const {
  Matrix result = Matrix::Zero(n(), n());
  for (Index j = 0; j < panels_.count(); ++j)
    result.block(panels_.begin(j), panels_.begin(j), panels_.rows(j), panels_.columns(j)) =
        TorchPanels::to_host(panels_.panel(j));
  return result.triangularView<Eigen::Lower>();
}

void TorchMatrix::set(Index i, Index j, double value) {
  const Index panel = j / panels_.width();
  torch::Tensor values = panels_.panel(panel);
  values.index_put_({i - panels_.begin(panel), j - panels_.begin(panel)}, value);
}

}  // namespace zeroloss::internal
