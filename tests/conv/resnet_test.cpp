#include "zeroloss/conv/resnet.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/temp_folder.hpp"

namespace zeroloss {
namespace {

// The paper's Table 1 and its numbers.
TEST(Resnet, IsTheOneOfThePaper) {
  const ConvArchitecture paper = cifar_architecture();
  const std::vector<ConvLayer> all = layers(paper);
  EXPECT_EQ(all.size(), 55U);
  EXPECT_EQ(weights(paper), 13'538'736);
  EXPECT_NEAR(multiply_adds(paper), 1.97e9, 0.005e9);
  EXPECT_EQ(weights(cifar_architecture(100)), weights(paper)) << "the head is not trained";

  EXPECT_EQ(all[0].name, "stem");
  EXPECT_EQ(all[0].weights(), 3 * 3 * 3 * 16);
  EXPECT_EQ(all[1].name, "stage1.block1.conv1");
  EXPECT_EQ(all[1].in, 16);
  EXPECT_EQ(all[1].out, 64);
  EXPECT_EQ(all[54].name, "stage3.block9.conv2");
  Index size = 32;
  for (std::size_t stage = 0; stage < 3; ++stage, size /= 2)
    for (std::size_t j = 0; j < 18; ++j) {
      const ConvLayer& layer = all[1 + 18 * stage + j];
      EXPECT_EQ(layer.size, size) << layer.name;
      EXPECT_EQ(layer.out, Index{64} << stage);
      EXPECT_EQ(layer.stride, j == 0 && stage > 0 ? 2 : 1);
      EXPECT_DOUBLE_EQ(layer.sigma, 1 / (9.0 * static_cast<double>(layer.out)));
    }
  EXPECT_DOUBLE_EQ(all[0].sigma, 1 / (3 * 4.0));
}

TEST(Resnet, HasTheImagenetVariantOfThePapersSize) {
  const ConvArchitecture a = imagenet34_architecture();
  EXPECT_EQ(layers(a).size() + 1, 34U) << "33 convolutions and the projection";
  EXPECT_EQ(weights(a), 35'789'424);
  EXPECT_NEAR(static_cast<double>(weights(a)), 35.7e6, 0.357e6);
  EXPECT_EQ(layers(a).back().size, 7);
}

TEST(Resnet, TakesDepthAndWidth) {
  const ConvArchitecture a = cifar_architecture(10, 2, 8);
  EXPECT_EQ(layers(a).size(), 13U);
  EXPECT_EQ(a.stem_channels, 2);
  EXPECT_EQ(weights(a), 3 * 2 * 9 + 9 * (2 * 8 + 3 * 8 * 8 + 8 * 16 + 3 * 16 * 16 + 16 * 32 + 3 * 32 * 32));
}

TEST(Resnet, SmallHalvesTheImageInEveryStage) {
  const ConvArchitecture a = small_architecture();
  const std::vector<ConvLayer> all = layers(a);
  EXPECT_EQ(all.size(), 13U);
  EXPECT_EQ(weights(a), 2'710'368);
  EXPECT_EQ(all[0].out, 32);
  EXPECT_EQ(all[0].size, 32);
  Index size = 32;
  for (std::size_t j = 1; j < all.size(); ++j) {
    const Index stage = static_cast<Index>(j - 1) / 4;
    EXPECT_EQ(all[j].stride, (j - 1) % 4 == 0 ? 2 : 1) << all[j].name;
    size /= all[j].stride;
    EXPECT_EQ(all[j].size, size) << all[j].name;
    EXPECT_EQ(all[j].out, Index{64} << stage) << all[j].name;
  }
  EXPECT_EQ(size, 4);
  EXPECT_MESSAGE(std::invalid_argument, small_architecture(10, 2, 6), "width must be a multiple of 4");
}

// What the deviations are for, on noise: every channel of the stem has variance 1, and a block's branch adds
// 1/blocks of what it finds, in the mean over channels.
TEST(Resnet, ScaledStartsKeepTheVariance) {
  const ConvArchitecture a = small_architecture(10, 3, 16);
  const std::vector<ConvLayer> all = layers(a, "scaled");
  EXPECT_DOUBLE_EQ(all[0].sigma * all[0].sigma * 9 * 3, 1);
  for (std::size_t j = 1; j < all.size(); j += 2) {
    const double inner = all[j].sigma * all[j].sigma * 9 * static_cast<double>(all[j].in) / 2;  // after relu
    const double outer = all[j + 1].sigma * all[j + 1].sigma * 9 * static_cast<double>(all[j + 1].in);
    EXPECT_DOUBLE_EQ(inner, 1) << all[j].name;
    EXPECT_DOUBLE_EQ(outer, 1.0 / 9) << "nine blocks";
  }
  EXPECT_MESSAGE(std::invalid_argument, layers(a, "zero"),
                 "start must be paper, scaled or whitened; got 'zero'");
}

// Mean 0, deviation sigma: both sample statistics of N normals within five standard errors (5.7e-7 a check).
TEST(Resnet, StartsAsStated) {
  const ConvArchitecture a = cifar_architecture(10, 3, 32);
  const auto check = [](const std::string& name, const float* from, Index count, double sigma) {
    const auto n = static_cast<double>(count);
    double mean = 0, square = 0;
    for (Index i = 0; i < count; ++i) {
      mean += static_cast<double>(from[i]) / n;
      square += static_cast<double>(from[i]) * static_cast<double>(from[i]) / n;
    }
    EXPECT_LT(std::abs(mean), 5 * sigma / std::sqrt(n)) << name;
    EXPECT_LT(std::abs(square / (sigma * sigma) - 1), 5 * std::sqrt(2 / n)) << name;
  };
  for (const char* start : {"paper", "scaled"}) {
    const ConvNetwork network = draw_network(a, 3, start);
    ASSERT_EQ(std::ssize(network.weights), weights(a));
    const float* at = network.weights.data();
    for (const ConvLayer& layer : layers(a, start)) {
      check(layer.name, at, layer.weights(), layer.sigma);
      at += layer.weights();
    }
    check("projection", network.projection.data(), 128 * 10, 1 / std::sqrt(128.0));
    EXPECT_EQ(draw_network(a, 3, start).weights, network.weights);
    EXPECT_NE(draw_network(a, 4, start).weights, network.weights);
  }
}

TEST(Resnet, MeasuresBlocks) {
  const ConvArchitecture a = cifar_architecture(2, 1, 4);
  const std::vector<ConvLayer> all = layers(a);
  std::vector<float> numbers(static_cast<std::size_t>(weights(a)), 0.0F);
  std::fill_n(numbers.begin() + all[0].weights(), all[1].weights() + all[2].weights(), 2.0F);
  const std::vector<double> norms = block_norms(a, numbers);
  ASSERT_EQ(norms.size(), 3U);
  EXPECT_DOUBLE_EQ(norms[0], 2 * std::sqrt(static_cast<double>(all[1].weights() + all[2].weights())));
  EXPECT_EQ(norms[1], 0);
  EXPECT_EQ(norms[2], 0);
}

TEST(Resnet, RefusesWhatCannotBe) {
  EXPECT_MESSAGE(std::invalid_argument, cifar_architecture(0), "classes must be >= 1");
  EXPECT_MESSAGE(std::invalid_argument, cifar_architecture(10, 0), "depth must be >= 1");
  EXPECT_MESSAGE(std::invalid_argument, cifar_architecture(10, 9, 6), "width must be a multiple of 4");
  ConvArchitecture a;
  a.stages[1].channels = 32;
  EXPECT_MESSAGE(std::invalid_argument, layers(a), "cannot decrease", "32 after 64");
  a = {};
  a.image_size = 30;
  EXPECT_MESSAGE(std::invalid_argument, layers(a), "multiple of 4", "30");
  a = {};
  a.stem_kernel = 4;
  EXPECT_MESSAGE(std::invalid_argument, layers(a), "odd kernel");
  a = {};
  a.stages.clear();
  EXPECT_MESSAGE(std::invalid_argument, layers(a), "a stage");
}

}  // namespace
}  // namespace zeroloss
