#include "conv/options.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/temp_folder.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// 60,000 steps, divided by 10 at 30,000 and 50,000.
TEST(LearningRate, IsThePapers) {
  const ConvOptions paper = conv_recipe("paper");
  const Index steps = total_steps(paper, 50'000);
  EXPECT_EQ(steps, 60'000);
  const auto rate = [&](Index t) { return learning_rate(paper, steps, 50'000, t); };
  EXPECT_DOUBLE_EQ(rate(0), 0.05);
  EXPECT_DOUBLE_EQ(rate(29'999), 0.05);
  EXPECT_DOUBLE_EQ(rate(30'000), 0.005);
  EXPECT_DOUBLE_EQ(rate(49'999), 0.005);
  EXPECT_DOUBLE_EQ(rate(50'000), 0.0005);
  EXPECT_DOUBLE_EQ(rate(59'999), 0.0005);
}

TEST(LearningRate, WarmsUpAndFalls) {
  ConvOptions o;
  o.learning_rate = 2;
  o.warm_up = 0.1;
  for (const std::string schedule : {"cosine", "linear"}) {
    o.schedule = schedule;
    double before = 0;
    for (Index t = 0; t < 100; ++t) {
      const double rate = learning_rate(o, 1000, 50'000, t);
      EXPECT_GT(rate, before);
      before = rate;
    }
    EXPECT_DOUBLE_EQ(learning_rate(o, 1000, 50'000, 100), 2);
    EXPECT_DOUBLE_EQ(learning_rate(o, 1000, 50'000, 550), 1) << "halfway through the rest";
    const double left = 1.0 / 900;  // of the rest, of which 2 are reached: 1 + cos(pi - x) < x^2/2
    EXPECT_LT(learning_rate(o, 1000, 50'000, 999),
              schedule == "cosine" ? 1.01 * std::pow(3.1416 * left, 2) / 2 : 2.01 * left);
    EXPECT_GT(learning_rate(o, 1000, 50'000, 999), 0);
  }
}

// Times 0.94 every two epochs of 1,281,167 images in batches of 256.
TEST(LearningRate, DecaysAsForImagenet) {
  const ConvOptions o = conv_recipe("imagenet");
  const auto rate = [&](Index t) { return learning_rate(o, o.steps, 1'281'167, t); };
  const Index two_epochs = 2 * 1'281'167 / 256;  // the last step that begins within them
  EXPECT_DOUBLE_EQ(rate(two_epochs), 0.1);
  EXPECT_DOUBLE_EQ(rate(two_epochs + 1), 0.094);
  EXPECT_DOUBLE_EQ(rate(10 * two_epochs), 0.1 * std::pow(0.94, 9));
}

TEST(ConvOptions, EarlyImagesAreSmaller) {
  ConvOptions o;
  EXPECT_EQ(early_size(o, 10, 0), 0);
  o.early_size = 24;
  o.early_part = 0.6;
  for (Index t = 0; t < 10; ++t) EXPECT_EQ(early_size(o, 10, t), t < 6 ? 24 : 0) << t;
}

TEST(ConvOptions, CountEpochs) {
  ConvOptions o;
  o.steps = 0;
  o.epochs = 1.5;
  o.batch = 100;
  EXPECT_EQ(total_steps(o, 1000), 15);
  EXPECT_EQ(total_steps(o, 1001), 16);
}

TEST(ConvOptions, NameWhatIsOutOfRange) {
  using Change = std::function<void(ConvOptions&)>;
  const std::vector<std::pair<Change, std::string>> cases{
      {[](ConvOptions& o) { o.architecture = "vgg"; },
       "architecture must be one of cifar, small, imagenet34; got \"vgg\""},
      {[](ConvOptions& o) { o.depth = 0; }, "depth must be >= 1; got 0"},
      {[](ConvOptions& o) { o.width = 10; }, "width must be a positive multiple of 4; got 10"},
      {[](ConvOptions& o) { o.batch = 0; }, "batch must be >= 1"},
      {[](ConvOptions& o) { o.process.world = 3, o.batch = 128; },
       "batch must be a multiple of the 3 processes"},
      {[](ConvOptions& o) { o.process.rank = 1; }, "rank must be in [0, world)"},
      {[](ConvOptions& o) { o.steps = -1; }, "steps must be >= 0"},
      {[](ConvOptions& o) { o.steps = 0; }, "epochs must be > 0 where steps is 0"},
      {[](ConvOptions& o) { o.learning_rate = 0; }, "learning_rate must be > 0"},
      {[](ConvOptions& o) { o.learning_rate = std::nan(""); }, "learning_rate must be > 0; got nan"},
      {[](ConvOptions& o) { o.schedule = "sine"; }, "schedule must be one of"},
      {[](ConvOptions& o) {
         o.drops = {0.8, 0.5};
       },
       "drops must be fractions in (0, 1), ascending; got 0.8, 0.5"},
      {[](ConvOptions& o) { o.drops = {1}; }, "drops must be"},
      {[](ConvOptions& o) { o.drop_factor = 1; }, "drop_factor must be > 1"},
      {[](ConvOptions& o) { o.decay = 1; }, "decay must be in (0, 1)"},
      {[](ConvOptions& o) { o.warm_up = 1; }, "warm_up must be in [0, 1)"},
      {[](ConvOptions& o) { o.momentum = 1; }, "momentum must be in [0, 1)"},
      {[](ConvOptions& o) { o.weight_decay = -1; }, "weight_decay must be >= 0"},
      {[](ConvOptions& o) { o.label_smoothing = 1; }, "label_smoothing must be in [0, 1)"},
      {[](ConvOptions& o) { o.clip_norm = -1; }, "clip_norm must be >= 0"},
      {[](ConvOptions& o) { o.average = 1; }, "average must be in [0, 1)"},
      {[](ConvOptions& o) { o.crop = "all"; }, "crop must be one of pad, resized, none"},
      {[](ConvOptions& o) { o.cutout = -1; }, "cutout must be >= 0"},
      {[](ConvOptions& o) { o.start = "zero"; }, "start must be one of paper, scaled, whitened"},
      {[](ConvOptions& o) { o.early_size = -1; }, "early_size must be >= 0"},
      {[](ConvOptions& o) { o.early_part = 1.5; }, "early_part must be in [0, 1]; got 1.5"},
      {[](ConvOptions& o) { o.stop = "now"; }, "stop must be one of schedule, memorized"},
      {[](ConvOptions& o) { o.seed = std::uint64_t{1} << 53; }, "seed must be below 2^53"},
      {[](ConvOptions& o) { o.resume = true; }, "resume must be off without a checkpoint"}};
  for (const auto& [change, message] : cases) {
    ConvOptions o;
    change(o);
    EXPECT_MESSAGE(std::invalid_argument, check(o), message);
  }
  for (const char* name : {"paper", "modern", "small", "imagenet"}) check(conv_recipe(name));
  EXPECT_MESSAGE(std::invalid_argument, conv_recipe("mine"), "paper, modern, small, imagenet; got mine");
}

}  // namespace
}  // namespace zeroloss
