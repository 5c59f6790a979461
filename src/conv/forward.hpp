#pragma once
#include <torch/types.h>
#include <torch/utils.h>

#include <functional>
#include <vector>

#include "zeroloss/conv/evaluate.hpp"
#include "zeroloss/conv/resnet.hpp"

/// The network as LibTorch computes it.
namespace zeroloss::internal {

/// Where tensors live, and the type in which convolutions are computed.
struct Compute {
  torch::Device device;
  torch::ScalarType type;
  bool mirror = false;  ///< as ConvDevice says
};

/// Sets up the device for this process, its threads included. Throws as predict() does. `local_rank`: the GPU
/// of a process where "auto" or "cuda" name none; `deterministic`: as ConvOptions says.
Compute compute_of(const ConvDevice& device, int local_rank = 0, bool deterministic = false);

std::string device_name(const Compute& compute);     ///< "cpu", "cuda:0 (NVIDIA H100)"
std::string precision_name(const Compute& compute);  ///< float32 | bfloat16

/// Numbers of the host as a float32 tensor of the device.
torch::Tensor to_device(const std::vector<float>& numbers, const torch::Device& device);
std::vector<float> to_host(const torch::Tensor& numbers);

/// Pieces of one vector, laid out as ConvNetwork::weights, as a tensor for each layer: out x in x kernel x
/// kernel, channels last in memory, sharing its numbers.
std::vector<torch::Tensor> views(const torch::Tensor& flat, const std::vector<ConvLayer>& layers);

/// Outputs, batch x classes, float32. `images`: batch x size x size x 3, float32, standardised; `weights` in
/// the type in which to convolve; `projection`: features x classes, float32. `inputs`, where it is asked for,
/// becomes what each convolution took.
torch::Tensor forward(const std::vector<ConvLayer>& layers, const std::vector<torch::Tensor>& weights,
                      const torch::Tensor& projection, const torch::Tensor& images,
                      std::vector<torch::Tensor>* inputs = nullptr);

/// Takes outputs, one row an image, of the images from `first` on.
using UseRows = std::function<void(Index first, const Logits& rows)>;

/// The outputs for a share of the images, [first, last), in order, `batch` images at a time.
void predict_rows(const std::vector<ConvLayer>& layers, const std::vector<torch::Tensor>& weights,
                  const torch::Tensor& projection, const ImageSet& images, Index first, Index last,
                  const Compute& compute, Progress& progress, Index batch, const UseRows& use);

}  // namespace zeroloss::internal
