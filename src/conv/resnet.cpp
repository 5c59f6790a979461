#include "zeroloss/conv/resnet.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("conv: " + what); }

void check(const ConvArchitecture& a) {
  if (a.classes < 1) refuse(fmt::format("classes must be >= 1; got {}", a.classes));
  if (a.stem_channels < 1 || a.stem_kernel < 1 || a.stem_kernel % 2 == 0 || a.stem_stride < 1)
    refuse(fmt::format("the stem needs channels and stride >= 1 and an odd kernel; got {}, {} and {}",
                       a.stem_channels, a.stem_stride, a.stem_kernel));
  if (a.stages.empty()) refuse("a network needs a stage of residual blocks");
  Index channels = a.stem_channels, stride = a.stem_stride;
  for (const ConvStage& stage : a.stages) {
    if (stage.blocks < 1 || stage.stride < 1)
      refuse(fmt::format("a stage needs blocks and stride >= 1; got {} and {}", stage.blocks, stage.stride));
    if (stage.channels < channels)
      refuse(fmt::format("channels cannot decrease, zero ones are appended; got {} after {}", stage.channels,
                         channels));
    channels = stage.channels;
    stride *= stage.stride;
  }
  if (a.image_size < stride || a.image_size % stride != 0)
    refuse(fmt::format("image_size must be a multiple of {}, the product of all strides; got {}", stride,
                       a.image_size));
}

}  // namespace

ConvArchitecture cifar_architecture(Index classes, Index depth, Index width) {
  if (depth < 1) refuse(fmt::format("depth must be >= 1; got {}", depth));
  if (width < 4 || width % 4 != 0) refuse(fmt::format("width must be a multiple of 4; got {}", width));
  ConvArchitecture a;
  a.classes = classes;
  a.stem_channels = width / 4;
  a.stages = {{depth, width, 1}, {depth, 2 * width, 2}, {depth, 4 * width, 2}};
  check(a);
  return a;
}

ConvArchitecture small_architecture(Index classes, Index depth, Index width) {
  ConvArchitecture a = cifar_architecture(classes, depth, width);
  a.stem_channels = width / 2;
  a.stages.front().stride = 2;
  check(a);
  return a;
}

ConvArchitecture imagenet34_architecture(Index classes) {
  ConvArchitecture a;
  a.image_size = 224;
  a.stem_channels = 80;
  a.stem_kernel = 7;
  a.stem_stride = 2;
  a.stages = {{3, 80, 2}, {4, 168, 2}, {6, 336, 2}, {3, 664, 2}};
  a.classes = classes;
  check(a);
  return a;
}

std::vector<ConvLayer> layers(const ConvArchitecture& a, const std::string& start) {
  check(a);
  if (start != "paper" && start != "scaled" && start != "whitened")
    refuse(fmt::format("start must be paper, scaled or whitened; got '{}'", start));
  const bool paper = start == "paper";
  const auto root = [](Index count) { return std::sqrt(static_cast<double>(count)); };
  Index size = a.image_size / a.stem_stride, in = a.stem_channels, blocks = 0;
  for (const ConvStage& stage : a.stages) blocks += stage.blocks;
  const double stem_sigma = 1 / (static_cast<double>(a.stem_kernel) * root(paper ? a.stem_channels : 3));
  std::vector<ConvLayer> all{{"stem", 3, a.stem_channels, a.stem_kernel, a.stem_stride, size, stem_sigma}};
  for (std::size_t s = 0; s < a.stages.size(); ++s) {
    const ConvStage& stage = a.stages[s];
    const double next_to_0 = 1 / (9 * static_cast<double>(stage.channels));
    size /= stage.stride;
    for (Index b = 0; b < stage.blocks; ++b) {
      const std::string name = fmt::format("stage{}.block{}.", s + 1, b + 1);
      const Index stride = b == 0 ? stage.stride : 1;
      all.push_back({name + "conv1", in, stage.channels, 3, stride, size,
                     paper ? next_to_0 : std::numbers::sqrt2 / (3 * root(in))});
      all.push_back({name + "conv2", stage.channels, stage.channels, 3, 1, size,
                     paper ? next_to_0 : 1 / (3 * root(stage.channels * blocks))});
      in = stage.channels;
    }
  }
  return all;
}

Index weights(const ConvArchitecture& architecture) {
  Index count = 0;
  for (const ConvLayer& layer : layers(architecture)) count += layer.weights();
  return count;
}

double multiply_adds(const ConvArchitecture& architecture) {
  double count = 0;
  for (const ConvLayer& layer : layers(architecture))
    count += static_cast<double>(layer.weights()) * static_cast<double>(layer.size * layer.size);
  return count;
}

ConvNetwork draw_network(const ConvArchitecture& architecture, std::uint64_t seed, const std::string& start) {
  ConvNetwork network;
  network.architecture = architecture;
  network.weights.reserve(static_cast<std::size_t>(weights(architecture)));
  std::uint64_t index = 0;
  for (const ConvLayer& layer : layers(architecture, start)) {
    Random random(seed, Stream::weights, index++);
    for (Index i = 0; i < layer.weights(); ++i)
      network.weights.push_back(static_cast<float>(layer.sigma * random.normal()));
  }
  Random random(seed, Stream::projection);
  const double sigma = 1 / std::sqrt(static_cast<double>(network.features()));
  for (Index i = 0; i < network.features() * architecture.classes; ++i)
    network.projection.push_back(static_cast<float>(sigma * random.normal()));
  return network;
}

std::vector<double> block_norms(const ConvArchitecture& architecture, const std::vector<float>& numbers) {
  const std::vector<ConvLayer> all = layers(architecture);
  if (std::ssize(numbers) != weights(architecture))
    refuse(fmt::format("block_norms: {} weights; the architecture has {}", numbers.size(),
                       weights(architecture)));
  std::vector<double> norms;
  std::size_t at = static_cast<std::size_t>(all.front().weights());
  for (std::size_t j = 1; j < all.size(); j += 2) {
    double sum = 0;
    for (Index left = all[j].weights() + all[j + 1].weights(); left > 0; --left, ++at)
      sum += static_cast<double>(numbers[at]) * static_cast<double>(numbers[at]);
    norms.push_back(std::sqrt(sum));
  }
  return norms;
}

}  // namespace zeroloss
