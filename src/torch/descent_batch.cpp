#include "torch/descent_batch.hpp"

#include <torch/utils.h>

#include <cmath>
#include <limits>

namespace zeroloss::internal {
namespace {

torch::Tensor to_tensor(const RowMatrix& M) {
  return torch::from_blob(const_cast<double*>(M.data()), {M.rows(), M.cols()}, torch::kDouble);
}

torch::Tensor to_tensor(const Vector& v) {
  return torch::from_blob(const_cast<double*>(v.data()), {v.size()}, torch::kDouble);
}

/// The part of a filled up matrix that is the network's.
torch::Tensor corner(const torch::Tensor& filled, const RowMatrix& M) {
  return filled.slice(0, 0, M.rows()).slice(1, 0, M.cols());
}

RowMatrix to_matrix(const torch::Tensor& t) {
  const torch::Tensor host = t.to(torch::kCPU, torch::kDouble).contiguous();
  return Eigen::Map<const RowMatrix>(host.data_ptr<double>(), host.size(0), host.size(1));
}

}  // namespace

DescentBatch::DescentBatch(const std::vector<Descent>& list, std::vector<std::size_t> places,
                           const DescentRules& rules, const torch::Device& device)
    : list_(list),
      device_(device),
      type_(rules.precision == "float32" ? torch::kFloat : torch::kDouble),
      places_(std::move(places)),
      taken_(places_.size(), 0),
      going_(size()) {
  const torch::NoGradGuard no_gradients;
  const auto [n, d, m] = shape_of(list);
  const Index b = size();
  const auto numbers = torch::TensorOptions().dtype(type_);
  // Here first, where it is known how they are rounded.
  torch::Tensor X = torch::zeros({b, n, d}, numbers), y = torch::zeros({b, n}, numbers),
                v = torch::zeros({b, m, 1}, numbers), W = torch::zeros({b, m, d}, numbers),
                step = torch::empty({b, 1, 1}, numbers), low = torch::empty({b}, torch::kDouble),
                most = torch::empty({b}, torch::kLong);
  for (Index k = 0; k < b; ++k) {
    const Descent& one = list[places_[static_cast<std::size_t>(k)]];
    corner(X[k], *one.X).copy_(to_tensor(*one.X));
    y[k].slice(0, 0, one.y.size()).copy_(to_tensor(one.y));
    v[k].slice(0, 0, one.start.v.size()).copy_(to_tensor(one.start.v).unsqueeze(1));
    corner(W[k], one.start.W).copy_(to_tensor(one.start.W));
    step[k].fill_(one.step);
    low[k].fill_(one.residual * one.residual);
    most[k].fill_(one.max_steps);
  }
  X_ = X.to(device);
  y_ = y.to(device);
  v_ = v.to(device);
  pull_ = v.mul(step.neg()).to(device);
  W_ = W.to(device);
  low_ = low.to(device);
  most_ = most.to(device);
  high_ = torch::full({b}, std::numeric_limits<double>::infinity(), low_.options());
  squares_ = torch::zeros({b}, low_.options());
  steps_ = torch::zeros({b}, most_.options());
  ended_ = torch::zeros({b}, low_.options().dtype(torch::kBool));
  r_ = torch::empty({b, n}, X_.options());
  make_room();
  look();
  high_.copy_(squares_).mul_(rules.growth * rules.growth);
}

DescentShape DescentBatch::shape_of(const std::vector<Descent>& list) {
  DescentShape shape;
  for (const Descent& one : list) shape = shape.with({one.X->rows(), one.X->cols(), one.start.W.rows()});
  return shape;
}

double DescentBatch::bytes(const DescentShape& shape, const DescentRules& rules) {
  const auto n = static_cast<double>(shape.n), m = static_cast<double>(shape.m);
  const double number = rules.precision == "float32" ? 4 : 8;
  return number * (shape.numbers() + 3 * n + 2 * m) + 8 * n + 64;
}

void DescentBatch::make_room() {
  const Index b = size(), n = X_.size(1), d = X_.size(2), m = W_.size(1);
  slopes_ = torch::empty({b, n, m}, X_.options());
  Z_ = torch::empty({b, n, m}, X_.options());
  f_ = torch::empty({b, n, 1}, X_.options());
  moved_ = torch::empty({b, m, d}, X_.options());
  r64_ = torch::empty({b, n}, squares_.options());
  sums_ = torch::empty({b}, squares_.options());
}

// W <- W - step diag(v) phi'(Z)^T diag(r) X
void DescentBatch::move() {
  slopes_.mul_(r_.unsqueeze(2));
  at::bmm_out(moved_, slopes_.transpose(1, 2), X_);
  W_.addcmul_(moved_, pull_);
}

// phi'(Z), r and ||r||^2 of the weights as they are, and who ends with them. What has ended keeps its
// numbers: with r = 0 it does not move, whatever its weights are.
void DescentBatch::look() {
  at::bmm_out(Z_, X_, W_.transpose(1, 2));
  slopes_.copy_(Z_).ge_(0);
  Z_.clamp_min_(0);
  at::bmm_out(f_, Z_, v_);
  at::sub_out(r_, f_.squeeze(2), y_);
  r64_.copy_(r_);
  r64_.mul_(r64_);
  at::sum_out(sums_, r64_, {1});
  squares_.copy_(at::where(ended_, squares_, sums_));
  ended_.logical_or_(squares_.isfinite().logical_not());
  ended_.logical_or_(squares_.gt(high_));
  ended_.logical_or_(squares_.le(low_));
  ended_.logical_or_(steps_.ge(most_));
  r_.masked_fill_(ended_.unsqueeze(1), 0);
}

void DescentBatch::step() {
  move();
  steps_.add_(ended_.logical_not());
  look();
}

void DescentBatch::advance(Index steps) {
  const torch::NoGradGuard no_gradients;
  if (device_.is_cpu()) {
    for (Index k = 0; k < steps; ++k) step();
    return;
  }
  // To record it takes steps as well, and those count.
  if (!graph_) graph_ = std::make_unique<cuda::Graph>([&] { step(); });
  for (Index k = 0; k < steps; ++k) graph_->replay();
  cuda::synchronize();
}

std::vector<std::pair<std::size_t, Descended>> DescentBatch::take_ended() {
  const torch::NoGradGuard no_gradients;
  const torch::Tensor ended = ended_.to(torch::kCPU);
  std::vector<std::int64_t> fresh;
  for (Index k = 0; k < size(); ++k)
    if (ended.data_ptr<bool>()[k] && taken_[static_cast<std::size_t>(k)] == 0) fresh.push_back(k);
  std::vector<std::pair<std::size_t, Descended>> result;
  if (fresh.empty()) return result;
  const torch::Tensor which =
      torch::from_blob(fresh.data(), {static_cast<Index>(fresh.size())}, torch::kLong).to(device_);
  const auto of = [&](const torch::Tensor& t) { return t.index_select(0, which).to(torch::kCPU); };
  const torch::Tensor W = of(W_), steps = of(steps_), squares = of(squares_), low = of(low_),
                      high = of(high_);
  for (std::size_t k = 0; k < fresh.size(); ++k) {
    const auto place = static_cast<std::size_t>(fresh[k]);
    const double now = squares.data_ptr<double>()[k];
    const bool diverged = !std::isfinite(now) || now > high.data_ptr<double>()[k];
    result.emplace_back(places_[place],
                        Descended{to_matrix(corner(W[static_cast<Index>(k)], list_[places_[place]].start.W)),
                                  steps.data_ptr<std::int64_t>()[k],
                                  !diverged && now <= low.data_ptr<double>()[k], diverged});
    taken_[place] = 1;
  }
  going_ -= static_cast<Index>(fresh.size());
  return result;
}

void DescentBatch::keep_going_ones() {
  const torch::NoGradGuard no_gradients;
  graph_.reset();
  for (torch::Tensor* work : {&slopes_, &Z_, &f_, &moved_, &r64_, &sums_}) work->reset();
  const torch::Tensor which = ended_.logical_not().nonzero().squeeze(1);
  for (torch::Tensor* part :
       {&X_, &y_, &v_, &pull_, &low_, &high_, &most_, &W_, &r_, &squares_, &steps_, &ended_})
    *part = part->index_select(0, which);
  std::vector<std::size_t> left;
  for (std::size_t k = 0; k < places_.size(); ++k)
    if (taken_[k] == 0) left.push_back(places_[k]);
  places_ = std::move(left);
  taken_.assign(places_.size(), 0);
  make_room();
  look();  // the slopes
}

}  // namespace zeroloss::internal
