#include "torch/tail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel/tail_error.hpp"
#include "torch/device.hpp"
#include "torch/guarded.hpp"
#include "torch/pairs.hpp"
#include "torch/probe.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.
//
// Of a product of rows float_product_error says what it is off by, summed in any order. Powers are made as
// add_powers makes them: each a product of two before it, at least 2^-60, one rounding each; g in at most ten
// operations. Sums are products of such a tile with weights, float32 and in any order over stretches of kTile
// = 512 entries and no more, which is what sum_slack() and first_sum_error() allow for; stretches are added
// in float64 (theory 3).

namespace zeroloss::internal {
namespace {

torch::TensorOptions floats(const torch::Device& device) {
  return torch::TensorOptions().dtype(torch::kFloat).device(device);
}

double double_of(Index value) { return static_cast<double>(value); }

}  // namespace

TorchTail::TorchTail(const RowBlocks& X, const PowerGrid& grid, const torch::Device& device)
    : X_(X),
      grid_(grid),
      device_(device),
      measure_(X.d(), float_product_error(X.d())),
      most_(device.is_cuda() ? 32 : 1) {
  require_bytes(bytes(device, X.n(), X.d(), X.rows_of_a_block(), grid.size()), device,
                fmt::format("the tail bound of {} points", X.n()), kFewerPoints);
  guarded("tail", kFewerPoints, [&] { probe(most_); });
}

void TorchTail::probe(Index tiles) {
  if (!probed_.insert(tiles).second) return;
  check_products(device_, torch::kFloat, tiles * kTile, X_.d(), kTile);
  check_products(device_, torch::kFloat, tiles * kTile, kTile, 1);
  check_column_sums(device_, torch::kFloat, tiles, kTile, kTile);
}

double TorchTail::bytes(const torch::Device& device, Index n, Index d, Index rows, Index sums) {
  const double blocks = std::min(2.0, std::ceil(double_of(n) / double_of(rows))),
               some = double_of(std::min(n, rows));
  const double tile = double_of(kTile) * double_of(kTile) * (device.is_cuda() ? 32 : 1);
  return blocks * some * (4 * double_of(d) + 8 * double_of(sums)) + 4 * double_of(n) + 80 * tile;
}

TorchTail::Block TorchTail::block(const RowBlocks::Block& loaded) const {
  const RowMatrix& X = loaded.X();
  const Index rows = (X.rows() + kTile - 1) / kTile * kTile;
  Block block{X, loaded.begin, torch::zeros({rows, X.cols()}, floats(device_)),
              torch::zeros({grid_.size(), rows}, floats(device_).dtype(torch::kDouble))};
  // Rounded here, where it is known how: a part at a time.
  for (Index begin = 0; begin < X.rows(); begin += kTile * most_) {
    const Rows<float> some = X.middleRows(begin, std::min(kTile * most_, X.rows() - begin)).cast<float>();
    block.F.slice(0, begin, begin + some.rows())
        .copy_(torch::from_blob(const_cast<float*>(some.data()), {some.rows(), some.cols()}, torch::kFloat));
  }
  return block;
}

PowerSums TorchTail::run(const Floats& weights, Progress& progress) {
  return guarded("tail", kFewerPoints, [&] {
    PowerSums result{Matrix::Zero(X_.n(), grid_.size()), {}};
    weights_ = torch::from_blob(const_cast<float*>(weights.data()), {std::ssize(weights)}, torch::kFloat)
                   .to(device_, torch::kFloat, /*non_blocking=*/false, /*copy=*/true);
    closest_ = {};
    const auto collect = [&](const Block& of) {
      const torch::Tensor sums = of.sums.to(torch::kCPU).contiguous();
      for (Index k = 0; k < grid_.size(); ++k)
        result.of_rows.col(k).segment(of.begin, of.X.rows()) +=
            Eigen::Map<const Vector>(sums.data_ptr<double>() + k * of.sums.size(1), of.X.rows());
    };
    const double side = std::ceil(double_of(X_.n()) / double_of(kTile));
    progress.stage("tails of the kernel", side * (side + 1) / 2);
    for (Index a = 0; a < X_.count(); ++a) {
      const RowBlocks::Block loaded = X_.load(a);
      Block rows = block(loaded);
      for (Index b = 0; b < a; ++b) {
        const RowBlocks::Block before = X_.load(b);
        Block columns = block(before);
        add(rows, columns, progress);
        collect(columns);
      }
      add(rows, rows, progress);
      collect(rows);
    }
    progress.finish();
    result.closest = std::move(closest_);
    closest_ = {};
    return result;
  });
}

void TorchTail::add(Block& rows, Block& columns, Progress& progress) {
  const bool same = rows.begin == columns.begin;
  for (Index b = 0; b < columns.tiles(); ++b)
    for (Index a = same ? b : 0; a < rows.tiles(); a += most_) {
      const Index count = std::min(most_, rows.tiles() - a);
      add_tile(rows, a, count, columns, b);
      progress.advance(double_of(count));
    }
}

// Measured pairs are put back; returns what no |rho| is above.
double TorchTail::refine(torch::Tensor& rho, const Block& rows, Index a, const Block& columns, Index b) {
  const torch::Tensor size = rho.abs();
  const auto largest = size.max().item().toDouble();
  if (largest < measure_.least(closest_)) return largest;
  std::vector<std::int64_t> places;
  std::vector<float> values;
  const torch::Tensor flat = rho.view({-1});
  const std::vector<Found> found = largest_pairs(size, closest_.bar() - error(), error(), measure_.refined());
  for (const Found& pair : found) places.push_back(pair.place);
  const auto all = static_cast<std::int64_t>(places.size());
  const torch::Tensor at_places = torch::from_blob(places.data(), {all}, torch::kLong).to(device_);
  const torch::Tensor signed_values = flat.index_select(0, at_places).to(torch::kCPU);
  values.assign(signed_values.data_ptr<float>(), signed_values.data_ptr<float>() + all);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Index i = a * kTile + places[k] / kTile, j = b * kTile + places[k] % kTile;  // within the blocks
    if (i >= rows.X.rows() || j >= columns.X.rows() || rows.begin + i <= columns.begin + j) continue;
    measure_.measure(values[k], rows.X.row(i).data(), columns.X.row(j).data(), rows.begin + i,
                     columns.begin + j, closest_);
  }
  flat.index_copy_(0, at_places, torch::from_blob(values.data(), {all}, torch::kFloat).to(device_));
  return largest;
}

void TorchTail::add_tile(Block& rows, Index a, Index count, Block& columns, Index b) {
  const Index height = count * kTile, from = a * kTile, first = b * kTile;
  probe(count);
  torch::Tensor rho =
      at::mm(rows.F.slice(0, from, from + height), columns.F.slice(0, first, first + kTile).t()).contiguous();
  if (rows.begin + from == columns.begin + first) rho.slice(0, 0, kTile).tril_(-1);
  const double largest = refine(rho, rows, a, columns, b);
  const float error = measure_.error();
  const double most = std::min(1.0, (largest + static_cast<double>(error)) * (1 + 0x1p-20));

  const torch::Tensor
      w_rows = weights_.slice(0, rows.begin + from, rows.begin + from + height).view({count, kTile, 1}),
      w_columns = weights_.slice(0, columns.begin + first, columns.begin + first + kTile).unsqueeze(1);
  const auto add_plain = [&](int k, const torch::Tensor& p) {
    rows.sums.select(0, k).slice(0, from, from + height).add_(at::mm(p, w_columns).view({-1}));
    const torch::Tensor of_columns = at::bmm(p.view({count, kTile, kTile}).transpose(1, 2), w_rows);
    columns.sums.select(0, k)
        .slice(0, first, first + kTile)
        .add_(of_columns.to(torch::kDouble).sum(0).view({-1}));
  };
  const torch::Tensor size = rho.abs();
  const torch::Tensor x = (size + error).clamp_max_(1);
  const auto add = [&](int k, const torch::Tensor& p) { add_plain(k, grid_.odd ? p * x : p); };
  const auto multiply = [](const torch::Tensor& p, const torch::Tensor& q) {
    return (p * q).clamp_min_(0x1p-60F);
  };
  if (grid_.odd) {
    add_plain(0, x);
  } else {
    const torch::Tensor square = size * size, up = size * grid_.c1;
    const torch::Tensor twice =
        (square * (2 * grid_.low6)).add_(2 * grid_.low4).mul_(square).add_(2 * grid_.low2).mul_(square);
    const torch::Tensor down = at::maximum(up - twice, size * -grid_.c1);
    add_plain(0, at::where(rho.lt(0), down, up));
  }
  const torch::Tensor p2 = multiply(x, x), p4 = multiply(p2, p2), p6 = multiply(p4, p2);
  add(1, p2);
  add(2, p4);
  add(3, p6);
  if (grid_.octaves == 0) return;
  for (int chain = 0; chain < 4; ++chain) {  // x^8, x^10, x^12, x^14, and the squares of each
    torch::Tensor p = multiply(chain < 2 ? p4 : p6, chain == 0 ? p4 : p6);
    if (chain == 3) p = multiply(p, p2);
    double power = 8 + 2 * chain;
    // Powers that are all below 2^-50 are left out: computed ones have no more than 2^-10 of themselves on
    // top.
    for (int octave = 0; octave < grid_.octaves && std::pow(most, power) * (1 + 0x1p-10) >= kLeftOut;
         ++octave) {
      add(4 + 4 * octave + chain, p);
      p = multiply(p, p);
      power *= 2;
    }
  }
}

}  // namespace zeroloss::internal
