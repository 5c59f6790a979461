#pragma once
#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conv/forward.hpp"
#include "conv/group.hpp"
#include "torch/cuda.hpp"
#include "zeroloss/conv/batches.hpp"
#include "zeroloss/conv/train.hpp"

/// One step of training after another, on one device.
namespace zeroloss::internal {

/// Sums over the steps since they were last taken, of this process or of all.
struct StepSums {
  double loss = 0, wrong = 0, images = 0, gradient_norm = 0, steps = 0;
};

/// All that is trained lies in one vector, and so do the velocity and the mean, and the gradient on a GPU or
/// between processes: an update is one pass over them, and one reduction joins the processes.
class ConvTrainer {
 public:
  /// Starts from the network's weights at rest. `group` may be null; it has to outlive this.
  ConvTrainer(const ConvNetwork& network, const ConvOptions& options, const Compute& compute, Group* group);

  /// The gradient of one batch (this process's share of it), then an update with this learning rate. `size`:
  /// the side to which images are shrunk before, bilinearly with a filter; 0 = as they are.
  void step(const Batch& batch, double learning_rate, Index size = 0);

  /// The gradient alone, of all processes: flat, float32. What step() does first; for tests.
  torch::Tensor gradient(const Batch& batch, Index size = 0);

  /// The sums of all processes, which start again from 0; waits for the device. `flag` becomes whether any
  /// process raised its own.
  StepSums take_sums(bool& flag);

  /// How often the network that is kept (mean weights if they are) is right; each process computes a share.
  ConvEvaluation evaluate(const ImageSet& images, Progress& progress);

  /// As in ConvNetwork: of the network as it is, and of the one that is kept.
  std::vector<float> weights() const { return to_host(kernels(weights_)); }
  std::vector<float> kept() const { return to_host(kernels(mean_.defined() ? mean_ : weights_)); }
  Index steps() const { return steps_; }

  /// All that steps change and sums do not say, by name.
  std::vector<std::pair<std::string, std::vector<float>>> state() const;
  /// Goes on after `steps` steps, from what state() said then.
  void restore(const std::vector<std::pair<std::string, std::vector<float>>>& state, Index steps);

 private:
  void load(const Batch& batch);
  void forward_and_backward();
  void compute(const Batch& batch, Index size);
  torch::Tensor joined();
  /// What of such a vector steps change.
  torch::Tensor trained(const torch::Tensor& flat) const { return flat.slice(0, skipped_); }
  /// The network's weights, of the vector that is trained or its mean.
  torch::Tensor kernels(const torch::Tensor& flat) const;
  void update(const torch::Tensor& gradient, const torch::Tensor& norm, double learning_rate);
  double update_on_cpu(const std::vector<torch::Tensor>& pieces, double learning_rate);

  std::vector<ConvLayer> layers_;
  double momentum_, weight_decay_, label_smoothing_, clip_norm_, average_;
  bool nesterov_, standardize_;
  Compute compute_;
  Group* group_;
  int world_, rank_;
  int lanes_ = 1;                     // shares of a batch that are computed at once, a thread each
  Index fixed_ = 0;                   // layers that are not trained: the stem or none
  Index skipped_ = 0, decaying_ = 0;  // their numbers; those after them that decay

  torch::Tensor projection_;
  torch::Tensor weights_, velocity_, mean_;  // float32, with gains if there are; mean_ may be undefined
  torch::Tensor rounded_;                    // of the type of convolutions; weights_ if that is float32, or
                                             // where kernels are made of them
  std::vector<torch::Tensor> parts_;         // rounded_, layer by layer, and gains
  std::vector<torch::Tensor> pieces_;        // their gradients
  torch::Tensor gradient_;                   // of a GPU: the pieces as one vector, which stays where it is
  torch::Tensor images_, labels_;            // of the batch at hand
  torch::Tensor sums_;                       // loss, wrong, gradient norm; float64
  Index size_ = 0;                           // to which they are shrunk
  std::unique_ptr<cuda::Graph> graph_;       // of forward_and_backward()
  Index steps_ = 0;
  double images_seen_ = 0, steps_seen_ = 0;  // since the sums were taken
};

}  // namespace zeroloss::internal
