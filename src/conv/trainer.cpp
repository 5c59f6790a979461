#include "conv/trainer.hpp"

#include <ATen/Parallel.h>
#include <omp.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "conv/backward.hpp"
#include "conv/evaluation.hpp"
#include "conv/standardize.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kEvaluationBatch = 250;
constexpr Index kLane = 32;  // images of a lane at least: below, convolutions gain more from all threads

/// What a lane finds: gradient by the kernels of each layer, sum of losses, count of errors.
struct LaneResult {
  std::vector<torch::Tensor> gradient;
  torch::Tensor loss, wrong;
};

/// Calls use(i, g_i) for all i in parallel. Returns the sum of g_i^2, whose bits depend on the number of
/// threads alone.
template <class T, class Use>
double for_each(const T* g, std::int64_t count, Use use) {
  constexpr std::int64_t kBlock = 4096;
  std::vector<double> sums(static_cast<std::size_t>(omp_get_max_threads()));
#pragma omp parallel
  {
    double sum = 0;
#pragma omp for schedule(static) nowait
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, count);
      double part = 0;
#pragma omp simd reduction(+ : part)
      for (std::int64_t i = begin; i < end; ++i) {
        const auto x = static_cast<float>(g[i]);
        part += static_cast<double>(x) * static_cast<double>(x);
        use(i, x);
      }
      sum += part;
    }
    sums[static_cast<std::size_t>(omp_get_thread_num())] = sum;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template <class Use>
double for_each(const torch::Tensor& g, Use use) {
  return g.scalar_type() == torch::kBFloat16 ? for_each(g.data_ptr<at::BFloat16>(), g.numel(), use)
                                             : for_each(g.data_ptr<float>(), g.numel(), use);
}

/// How many lanes compute a batch of so many images.
int lanes_of(Index images, const torch::Device& device) {
  const int threads = device.is_cpu() ? at::get_num_threads() : 1;
  if (threads == 1 || images < threads * kLane) return 1;
  bool seen = false;  // by LibTorch, which a second OpenMP beside its own would hide lanes from
#pragma omp parallel num_threads(2)
#pragma omp master
  seen = at::in_parallel_region();
  return seen ? threads : 1;
}

/// Calls use(0), .., use(lanes - 1), each on a thread of its own, which LibTorch then leaves alone.
template <class Use>
void in_lanes(int lanes, Use use) {
  if (lanes == 1) return use(0);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(lanes));
#pragma omp parallel for schedule(static, 1) num_threads(lanes)
  for (int lane = 0; lane < lanes; ++lane) {
    try {
      at::get_num_threads();  // lets LibTorch set this thread's number now, rather than later
      omp_set_num_threads(1);
      use(lane);
    } catch (...) {
      failures[static_cast<std::size_t>(lane)] = std::current_exception();
    }
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// batch x side x side x 3 images, of this side.
torch::Tensor shrunk(const torch::Tensor& images, Index side) {
  return at::_upsample_bilinear2d_aa(images.permute({0, 3, 1, 2}), {side, side}, /*align_corners=*/false)
      .permute({0, 2, 3, 1});
}

}  // namespace

ConvTrainer::ConvTrainer(const ConvNetwork& network, const ConvOptions& options, const Compute& compute,
                         Group* group)
    : layers_(layers(network.architecture)),
      momentum_(options.momentum),
      weight_decay_(options.weight_decay),
      label_smoothing_(options.label_smoothing),
      clip_norm_(options.clip_norm),
      average_(options.average),
      nesterov_(options.nesterov),
      standardize_(options.weight_standardization),
      compute_(compute),
      group_(group),
      world_(options.process.world),
      rank_(options.process.rank) {
  const auto& device = compute.device;
  projection_ = to_device(network.projection, device).view({network.features(), -1});
  weights_ = to_device(network.weights, device);
  if (standardize_) weights_ = with_gains(weights_, layers_);
  velocity_ = torch::zeros_like(weights_);
  if (average_ > 0) mean_ = weights_.clone();
  rounded_ = compute.type == torch::kFloat32 || standardize_ ? weights_ : weights_.to(compute.type);
  // A whitened stem stays as it is. Its kernels are the first, and gains, which do not decay, are the last.
  if (options.start == "whitened") fixed_ = 1;
  skipped_ = fixed_ * layers_.front().weights();
  decaying_ = std::accumulate(layers_.begin(), layers_.end(), -skipped_,
                              [](Index sum, const ConvLayer& layer) { return sum + layer.weights(); });
  if (device.is_cuda()) gradient_ = torch::zeros_like(trained(rounded_));
  parts_ = standardize_ ? parts(rounded_, layers_) : views(rounded_, layers_);
  const Index share = options.batch / world_, size = network.architecture.image_size;
  lanes_ = lanes_of(share, device);
  images_ = torch::empty({share, size, size, 3}, device);
  labels_ = torch::empty({share}, torch::TensorOptions(device).dtype(torch::kInt64));
  sums_ = torch::zeros({3}, torch::TensorOptions(device).dtype(torch::kFloat64));
}

void ConvTrainer::load(const Batch& batch) {
  const auto copy = [&](torch::Tensor& to, const void* from) {
    if (compute_.device.is_cpu()) {
      std::memcpy(to.data_ptr(), from, to.nbytes());
      return;
    }
    // Pinned memory comes from a cache that knows when the copy is done: the batch may be overwritten now.
    const torch::Tensor pinned =
        torch::empty_like(to, torch::TensorOptions(torch::kCPU).dtype(to.scalar_type()).pinned_memory(true));
    std::memcpy(pinned.data_ptr(), from, pinned.nbytes());
    to.copy_(pinned, /*non_blocking=*/true);
  };
  copy(images_, batch.x.get());
  copy(labels_, batch.labels.data());
}

void ConvTrainer::forward_and_backward() {
  if (!rounded_.is_same(weights_)) rounded_.copy_(weights_);
  const torch::Tensor images = size_ == 0 ? images_ : shrunk(images_, size_);
  StandardizedKernels kernels;
  if (standardize_) kernels = standardized(parts_, layers_, compute_.type);
  const std::vector<torch::Tensor>& weights = standardize_ ? kernels.w : parts_;
  const Index count = labels_.size(0);
  std::vector<LaneResult> results(static_cast<std::size_t>(lanes_));
  in_lanes(lanes_, [&](int lane) {
    const Index begin = lane * count / lanes_, end = (lane + 1) * count / lanes_;
    const torch::Tensor labels = labels_.slice(0, begin, end);
    std::vector<torch::Tensor> inputs;
    const torch::Tensor logits = forward(layers_, weights, projection_, images.slice(0, begin, end), &inputs);
    const CrossEntropy sum = cross_entropy(logits, labels, label_smoothing_);
    const torch::Tensor gradient = sum.gradient / static_cast<double>(count);
    results[static_cast<std::size_t>(lane)] = {
        backward(layers_, weights, std::move(inputs), projection_, gradient, fixed_ == 0), sum.loss,
        logits.argmax(1).ne(labels).sum()};
  });
  for (const LaneResult& result : results) {
    sums_.select(0, 0).add_(result.loss);
    sums_.select(0, 1).add_(result.wrong);
  }
  pieces_ = std::move(results.front().gradient);
  for (std::size_t lane = 1; lane < results.size(); ++lane)
    for (std::size_t j = 0; j < pieces_.size(); ++j)
      pieces_[j] = pieces_[j].to(torch::kFloat32).add_(results[lane].gradient[j]);
  if (standardize_) pieces_ = gradient_by_parts(kernels, parts_, pieces_);
  for (torch::Tensor& g : pieces_) g = g.view(-1);
  if (gradient_.defined()) {
    torch::cat_out(gradient_, pieces_);
    pieces_.clear();
  }
}

void ConvTrainer::compute(const Batch& batch, Index size) {
  load(batch);
  if (size != size_) graph_.reset();
  size_ = size;
  if (compute_.device.is_cpu()) return forward_and_backward();
  if (!graph_) {
    const torch::Tensor sums = sums_.clone();
    graph_ = std::make_unique<cuda::Graph>([&] { forward_and_backward(); });
    sums_.copy_(sums);
  }
  graph_->replay();
}

torch::Tensor ConvTrainer::joined() {
  torch::Tensor mean = (gradient_.defined() ? gradient_ : torch::cat(pieces_)).to(torch::kFloat32);
  if (group_ != nullptr) {
    group_->sum(mean);
    mean.div_(world_);
  }
  return mean;
}

torch::Tensor ConvTrainer::gradient(const Batch& batch, Index size) {
  compute(batch, size);
  return joined();
}

void ConvTrainer::step(const Batch& batch, double learning_rate, Index size) {
  compute(batch, size);
  if (compute_.device.is_cpu()) {
    if (group_ != nullptr) {
      const torch::Tensor all = joined();
      pieces_ = {all.slice(0, 0, decaying_), all.slice(0, decaying_)};
    }
    sums_.select(0, 2).add_(update_on_cpu(pieces_, learning_rate));
  } else {
    const torch::Tensor g = joined();
    const torch::Tensor norm = g.norm();
    sums_.select(0, 2).add_(norm);
    update(g, norm, learning_rate);
  }
  ++steps_;
  // Early on, when everything is new, the mean forgets faster.
  if (mean_.defined()) {
    const double t = static_cast<double>(steps_), keep = std::min(average_, (1 + t) / (10 + t));
    mean_.lerp_(weights_, 1 - keep);
  }
  images_seen_ += static_cast<double>(labels_.size(0));
  steps_seen_ += 1;
}

void ConvTrainer::update(const torch::Tensor& gradient, const torch::Tensor& norm, double learning_rate) {
  const std::int64_t all = gradient.numel();
  for (const auto& [from, to] : {std::pair{std::int64_t{0}, decaying_}, std::pair{decaying_, all}}) {
    if (from == to) continue;
    torch::Tensor g = gradient.slice(0, from, to), v = trained(velocity_).slice(0, from, to),
                  w = trained(weights_).slice(0, from, to);
    const double decay = from == 0 ? weight_decay_ : 0;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    std::optional<torch::Tensor> divisor;  // of the gradient
    if (clip_norm_ > 0) divisor = (norm / clip_norm_).clamp_min(1);
    at::_fused_sgd_({w}, {g}, {v}, decay, momentum_, learning_rate, /*dampening=*/0, nesterov_,
                    /*maximize=*/false, /*is_first_step=*/false, divisor);
#else
    if (clip_norm_ > 0) g.mul_((clip_norm_ / norm).clamp_max(1));
    if (decay > 0) g.add_(w, decay);
    v.mul_(momentum_).add_(g);
    w.sub_(nesterov_ ? g.add_(v, momentum_) : v, learning_rate);
#endif
  }
}

// The same in one pass over the layers' gradients as they are, since memory is what an update takes.
double ConvTrainer::update_on_cpu(const std::vector<torch::Tensor>& pieces, double learning_rate) {
  double squares = 0;
  if (clip_norm_ > 0)
    for (const torch::Tensor& g : pieces) squares += for_each(g, [](std::int64_t, float) {});
  const double norm = std::sqrt(squares);
  const auto scale = static_cast<float>(norm > clip_norm_ ? clip_norm_ / norm : 1.0);
  const auto keep = static_cast<float>(momentum_), rate = static_cast<float>(learning_rate);
  const bool nesterov = nesterov_;
  float *w = trained(weights_).data_ptr<float>(), *v = trained(velocity_).data_ptr<float>();
  const float* const gains = w + decaying_;
  squares = 0;
  for (const torch::Tensor& g : pieces) {
    const auto decay = static_cast<float>(w < gains ? weight_decay_ : 0.0);
    squares += for_each(g, [=](std::int64_t i, float gradient) {
      const float full = scale * gradient + decay * w[i];
      v[i] = keep * v[i] + full;
      w[i] -= rate * (nesterov ? full + keep * v[i] : v[i]);
    });
    w += g.numel();
    v += g.numel();
  }
  return std::sqrt(squares);
}

torch::Tensor ConvTrainer::kernels(const torch::Tensor& flat) const {
  if (!standardize_) return flat;
  std::vector<torch::Tensor> all = standardized(parts(flat, layers_), layers_, torch::kFloat32).w;
  for (torch::Tensor& kernel : all) kernel = kernel.permute({0, 2, 3, 1}).reshape(-1);
  return torch::cat(all);
}

StepSums ConvTrainer::take_sums(bool& flag) {
  torch::Tensor all =
      torch::cat({sums_, torch::tensor({images_seen_, steps_seen_, flag ? 1.0 : 0.0}, sums_.options())});
  if (group_ != nullptr) group_->sum(all);
  all = all.to(torch::kCPU);
  const double* found = all.data_ptr<double>();
  flag = found[5] > 0;
  sums_.zero_();
  images_seen_ = steps_seen_ = 0;
  return {found[0], found[1], found[3], found[2] / world_, found[4] / world_};
}

ConvEvaluation ConvTrainer::evaluate(const ImageSet& images, Progress& progress) {
  const std::vector<torch::Tensor> weights =
      views(kernels(mean_.defined() ? mean_ : weights_).to(compute_.type), layers_);
  const Index n = images.n(), first = n * rank_ / world_, last = n * (rank_ + 1) / world_;
  EvaluationSums sums(projection_.size(1));
  predict_rows(
      layers_, weights, projection_, images, first, last, compute_, progress, kEvaluationBatch,
      [&](Index from, const Logits& rows) {
        sums.add(rows, std::span(images.labels)
                           .subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(rows.rows())));
      });
  if (group_ == nullptr) return sums.evaluation();
  std::vector<double>& numbers = sums.numbers();
  torch::Tensor all = torch::tensor(numbers, torch::kFloat64).to(compute_.device);
  group_->sum(all);
  all = all.to(torch::kCPU);
  std::copy_n(all.data_ptr<double>(), numbers.size(), numbers.begin());
  return sums.evaluation();
}

std::vector<std::pair<std::string, std::vector<float>>> ConvTrainer::state() const {
  std::vector<std::pair<std::string, std::vector<float>>> all{{"weights", to_host(weights_)},
                                                              {"velocity", to_host(velocity_)}};
  if (mean_.defined()) all.emplace_back("mean", to_host(mean_));
  return all;
}

void ConvTrainer::restore(const std::vector<std::pair<std::string, std::vector<float>>>& state, Index steps) {
  for (const auto& [name, numbers] : state)
    (name == "weights"    ? weights_
     : name == "velocity" ? velocity_
                          : mean_)
        .copy_(to_device(numbers, compute_.device));
  steps_ = steps;
}

}  // namespace zeroloss::internal
