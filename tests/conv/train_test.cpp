#include "zeroloss/conv/train.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <atomic>
#include <cmath>

#include "conv/trainer.hpp"
#include "support/bounds.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

const Compute kFloat32{torch::kCPU, torch::kFloat32}, kBfloat16{torch::kCPU, torch::kBFloat16};

const ConvDevice kPlain{.device = "cpu", .precision = "float32"};

/// n images of noise, class i mod c.
ImageSet noise_images(Index n, Index classes, Index size = 32, std::uint64_t seed = 0) {
  ImageSet images;
  images.name = "noise";
  images.digest = std::to_string(seed);
  images.height = images.width = size;
  Random random(seed, Stream::points);
  for (Index i = 0; i < n; ++i) {
    images.labels.push_back(i % classes);
    images.records.push_back(i);
  }
  for (Index k = 0; k < classes; ++k) images.class_names.push_back(std::to_string(k));
  for (Index i = 0; i < n * size * size * 3; ++i)
    images.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  return images;
}

ConvOptions small_options() {
  ConvOptions o;
  o.depth = 1;
  o.width = 4;
  o.batch = 8;
  o.steps = 12;
  o.evaluate_every = 4;
  o.learning_rate = 0.02;
  o.device = kPlain;
  return o;
}

// ---- against PyTorch ----

/// What make_steps.py computed in double precision.
class Steps : public ::testing::Test {
 protected:
  Steps() : file(read_tensors(ZEROLOSS_TEST_DIR "/conv/data/steps.safetensors")) {
    network.architecture.image_size = 8;
    network.architecture.stem_channels = 3;
    network.architecture.stages = {{2, 4, 1}, {2, 8, 2}, {1, 12, 2}};
    network.architecture.classes = 5;
    for (const ConvLayer& layer : layers(network.architecture)) {
      const std::vector<double> numbers = ours(layer, "start.");
      network.weights.insert(network.weights.end(), numbers.begin(), numbers.end());
    }
    const Tensor& projection = tensor("projection");
    network.projection.assign(projection.data<float>(), projection.data<float>() + projection.size());
    options.batch = 4;
    options.momentum = 0.9;
    options.weight_decay = 0.01;
  }

  const Tensor& tensor(const std::string& name) const {
    const Tensor* found = file.find(name);
    if (found == nullptr) throw std::runtime_error("no tensor " + name);
    return *found;
  }

  /// A layer's tensor in our order, channels last.
  std::vector<double> ours(const ConvLayer& layer, const std::string& prefix) const {
    const Tensor& t = tensor(prefix + layer.name);
    const Index pixels = layer.kernel * layer.kernel;
    std::vector<double> numbers;
    for (Index o = 0; o < layer.out; ++o)
      for (Index p = 0; p < pixels; ++p)
        for (Index i = 0; i < layer.in; ++i) {
          const Index at = (o * layer.in + i) * pixels + p;
          numbers.push_back(t.dtype == Dtype::f32 ? static_cast<double>(t.data<float>()[at])
                                                  : t.data<double>()[at]);
        }
    return numbers;
  }

  /// The four images of a step, as often as `repeats` says.
  Batch batch(Index step) const {
    Batch b;
    const Index share = 4 * 8 * 8 * 3;
    b.x = std::shared_ptr<float>(new float[static_cast<std::size_t>(repeats * share)],
                                 std::default_delete<float[]>());
    const std::int64_t* const labels = tensor("labels").data<std::int64_t>() + step * 4;
    for (Index r = 0; r < repeats; ++r) {
      std::copy_n(tensor("x").data<float>() + step * share, share, b.x.get() + r * share);
      b.labels.insert(b.labels.end(), labels, labels + 4);
    }
    return b;
  }

  /// ||found - expected|| / ||expected|| of each layer; the largest.
  double largest_error(const std::vector<float>& found, const std::string& prefix) const {
    double largest = 0;
    std::size_t at = 0;
    for (const ConvLayer& layer : layers(network.architecture)) {
      double difference = 0, norm = 0;
      for (const double expected : ours(layer, prefix)) {
        const double d = static_cast<double>(found[at++]) - expected;
        difference += d * d;
        norm += expected * expected;
      }
      largest = std::max(largest, std::sqrt(difference / norm));
    }
    return largest;
  }

  /// The relative rounding of float32: sums of k^2 products for each channel of the input, forward and back.
  double rounding() const {
    Index products = 0;
    for (const ConvLayer& layer : layers(network.architecture))
      products += layer.in * layer.kernel * layer.kernel;
    return test::gamma_of(2 * static_cast<double>(products), 0x1p-24);
  }

  void expect_steps(const std::string& kind, const Compute& compute = kFloat32) {
    ConvTrainer trainer(network, options, compute, nullptr);
    for (Index step = 0; step < 3; ++step) {
      trainer.step(batch(step), 0.05);
      bool flag = false;
      const StepSums sums = trainer.take_sums(flag);
      const double expected = tensor(kind + ".losses").data<double>()[step];
      EXPECT_NEAR(sums.loss / sums.images, expected, rounding() * expected);
      EXPECT_EQ(sums.images, 4 * repeats);
      EXPECT_EQ(sums.steps, 1);
      EXPECT_FALSE(flag);
    }
    EXPECT_LT(largest_error(trainer.weights(), kind + "."), rounding());
  }

  void use_standardized() {
    options.nesterov = true;
    options.label_smoothing = 0.1;
    options.clip_norm = 2;
    options.weight_standardization = true;
  }

  TensorFile file;
  ConvNetwork network;
  ConvOptions options;
  Index repeats = 1;
};

TEST_F(Steps, LogitsAreThoseOfPyTorch) {
  const std::vector<ConvLayer> all = layers(network.architecture);
  const torch::Tensor x = torch::from_blob(batch(0).x.get(), {4, 8, 8, 3}).clone();
  const torch::Tensor projection = to_device(network.projection, torch::kCPU).view({12, 5});
  const torch::Tensor logits =
      forward(all, views(to_device(network.weights, torch::kCPU), all), projection, x);
  const double* expected = tensor("logits").data<double>();
  double difference = 0, norm = 0;
  for (Index k = 0; k < 20; ++k) {
    const double d = static_cast<double>(logits.contiguous().data_ptr<float>()[k]) - expected[k];
    difference += d * d;
    norm += expected[k] * expected[k];
  }
  EXPECT_LT(std::sqrt(difference / norm), rounding());
}

TEST_F(Steps, GradientsAreThoseOfPyTorch) {
  ConvTrainer trainer(network, options, kFloat32, nullptr);
  EXPECT_LT(largest_error(to_host(trainer.gradient(batch(0))), "gradient."), rounding());
}

TEST_F(Steps, WeightsAreThoseOfPyTorch) { expect_steps("plain"); }

TEST_F(Steps, NesterovSmoothingAndClippingAreThoseOfPyTorch) {
  options.nesterov = true;
  options.label_smoothing = 0.1;
  options.clip_norm = 2;
  expect_steps("nesterov");
}

TEST_F(Steps, StandardizedKernelsAreThoseOfPyTorch) {
  use_standardized();
  expect_steps("standardized");
  options.start = "whitened";
  expect_steps("fixed");
}

/// Images as LibTorch's threads compute them; afterwards it has as many as before.
class Lanes : public Steps {
 protected:
  Lanes() {
    repeats = 17;
    options.batch = 4 * repeats;
  }
  ~Lanes() override { at::set_num_threads(threads); }

  /// By `n` threads, of images [begin, end) of the batch.
  torch::Tensor gradient(int n, const Compute& compute, Index begin, Index end) const {
    at::set_num_threads(n);
    const Batch all = batch(0);
    Batch some = all;
    some.x = std::shared_ptr<float>(all.x, all.x.get() + begin * 8 * 8 * 3);
    some.labels.assign(all.labels.begin() + begin, all.labels.begin() + end);
    ConvOptions o = options;
    o.batch = end - begin;
    return ConvTrainer(network, o, compute, nullptr).gradient(some);
  }

  const int threads = at::get_num_threads();
};

// Two lanes of 34, which begin with different ones of the four images; their mean is that of the four.
TEST_F(Lanes, StepsAreThoseOfPyTorch) {
  at::set_num_threads(2);
  expect_steps("plain");
  use_standardized();
  expect_steps("standardized");
  options.start = "whitened";
  expect_steps("fixed");
}

// To the bit, which all threads at one convolution are not: halves are scaled by powers of two and added
// once.
TEST_F(Lanes, ALaneComputesWhatOneThreadDoes) {
  for (const Compute& compute : {kFloat32, kBfloat16}) {
    const torch::Tensor both = gradient(2, compute, 0, 68), first = gradient(1, compute, 0, 34),
                        second = gradient(1, compute, 34, 68);
    EXPECT_TRUE(both.equal((first + second) / 2));
    EXPECT_FALSE(first.equal(second));
    EXPECT_FALSE(both.equal(gradient(1, compute, 0, 68)));
  }
}

/// A row of `from` numbers, `stride` apart, as `to` of them: means with weights that fall linearly from the
/// middle of a number to that of its neighbour, on the coarser of the two grids.
void shrink_row(const float* x, Index from, Index to, Index stride, std::vector<double>& row) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  row.assign(static_cast<std::size_t>(to), 0);
  for (Index i = 0; i < to; ++i) {
    double sum = 0;
    for (Index j = 0; j < from; ++j) {
      const double distance = (static_cast<double>(j) + 0.5) / scale - (static_cast<double>(i) + 0.5);
      const double weight = std::max(0.0, 1 - std::abs(distance));
      row[static_cast<std::size_t>(i)] += weight * static_cast<double>(x[j * stride]);
      sum += weight;
    }
    row[static_cast<std::size_t>(i)] /= sum;
  }
}

TEST_F(Steps, EarlyImagesAreShrunk) {
  constexpr Index kFrom = 8, kTo = 4;
  const Batch whole = batch(0);
  Batch small = whole;
  small.x = std::shared_ptr<float>(new float[4 * kTo * kTo * 3], std::default_delete<float[]>());
  std::vector<double> row;
  for (Index plane = 0; plane < 4 * 3; ++plane) {
    const Index image = plane / 3, channel = plane % 3;
    std::vector<float> across(kFrom * kTo);
    for (Index i = 0; i < kFrom; ++i) {
      shrink_row(whole.x.get() + 3 * kFrom * (kFrom * image + i) + channel, kFrom, kTo, 3, row);
      for (Index j = 0; j < kTo; ++j)
        across[static_cast<std::size_t>(i * kTo + j)] = static_cast<float>(row[j]);
    }
    for (Index j = 0; j < kTo; ++j) {
      shrink_row(&across[static_cast<std::size_t>(j)], kFrom, kTo, kTo, row);
      for (Index i = 0; i < kTo; ++i)
        small.x.get()[3 * (kTo * (kTo * image + i) + j) + channel] = static_cast<float>(row[i]);
    }
  }
  ConvTrainer shrinking(network, options, kFloat32, nullptr);
  ConvNetwork smaller = network;
  smaller.architecture.image_size = kTo;
  ConvTrainer plain(smaller, options, kFloat32, nullptr);
  const torch::Tensor expected = plain.gradient(small);
  EXPECT_LT((shrinking.gradient(whole, kTo) - expected).norm().item<double>(),
            rounding() * expected.norm().item<double>());
  // And then whole ones again.
  EXPECT_LT(largest_error(to_host(shrinking.gradient(whole)), "gradient."), rounding());
}

// Rounding in other places, but as often, is off by as much: at most twice what PyTorch's autocast is off.
TEST_F(Steps, Bfloat16IsAsCloseAsPyTorchs) {
  ConvTrainer trainer(network, options, kBfloat16, nullptr);
  const double error = largest_error(to_host(trainer.gradient(batch(0))), "gradient.");
  EXPECT_LT(error, 2 * *tensor("bfloat16.error").data<double>());
  EXPECT_GT(error, rounding()) << "is it float32 after all?";
}

TEST_F(Steps, TheMeanOfWeightsFollowsThem) {
  options.average = 0.5;
  ConvTrainer trainer(network, options, kFloat32, nullptr);
  std::vector<float> expected = trainer.weights();
  EXPECT_EQ(trainer.kept(), expected);
  for (Index step = 0; step < 3; ++step) {
    trainer.step(batch(step), 0.05);
    const auto t = static_cast<double>(step + 1);
    const double keep = std::min(0.5, (1 + t) / (10 + t));
    const std::vector<float> now = trainer.weights(), kept = trainer.kept();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double mean = keep * static_cast<double>(expected[i]) + (1 - keep) * static_cast<double>(now[i]);
      ASSERT_NEAR(kept[i], mean,
                  4 * std::ldexp(1, -24) * (std::abs(mean) + std::abs(static_cast<double>(now[i]))));
      expected[i] = kept[i];
    }
  }
}

// ---- on a GPU, through a CUDA graph ----

class StepsOnGpu : public Steps {
 protected:
  void SetUp() override {
    if (cuda::devices() == 0) GTEST_SKIP() << "no GPU";
  }
  static Compute compute(const std::string& precision) {
    return compute_of({.device = "cuda", .precision = precision}, 0, /*deterministic=*/true);
  }
};

// The graph is recorded with the first batch and has to compute the second.
TEST_F(StepsOnGpu, GradientsAreThoseOfPyTorch) {
  ConvTrainer trainer(network, options, compute("float32"), nullptr);
  trainer.gradient(batch(1));
  EXPECT_LT(largest_error(to_host(trainer.gradient(batch(0))), "gradient."), rounding());
}

TEST_F(StepsOnGpu, WeightsAreThoseOfPyTorch) { expect_steps("plain", compute("float32")); }

TEST_F(StepsOnGpu, NesterovSmoothingAndClippingAreThoseOfPyTorch) {
  options.nesterov = true;
  options.label_smoothing = 0.1;
  options.clip_norm = 2;
  expect_steps("nesterov", compute("float32"));
}

TEST_F(StepsOnGpu, StandardizedKernelsAreThoseOfPyTorch) {
  use_standardized();
  expect_steps("standardized", compute("float32"));
  options.start = "whitened";
  expect_steps("fixed", compute("float32"));
}

TEST_F(StepsOnGpu, Bfloat16IsAsCloseAsPyTorchs) {
  ConvTrainer trainer(network, options, compute("bfloat16"), nullptr);
  EXPECT_LT(largest_error(to_host(trainer.gradient(batch(0))), "gradient."),
            2 * *tensor("bfloat16.error").data<double>());
}

TEST_F(StepsOnGpu, DeterministicRunsAreEqualAndAgreeWithTheProcessor) {
  const ImageSet images = noise_images(20, 4);
  ConvOptions o = small_options();
  Progress silent;
  const ConvResult here = train(images, images, o, silent);
  o.device = {.device = "cuda", .precision = "float32"};
  o.deterministic = true;
  const ConvResult one = train(images, images, o, silent), two = train(images, images, o, silent);
  EXPECT_EQ(one.network.weights, two.network.weights);
  EXPECT_NEAR(one.history[0].train_loss, here.history[0].train_loss, rounding() * here.history[0].train_loss);
  EXPECT_EQ(one.test->confusion,
            evaluate(predict(one.network, images, o.device, silent), images.labels).confusion);
}

// ---- runs ----

class ConvTrain : public test::TempFolder {};

TEST_F(ConvTrain, RecordsWhatItDoes) {
  const ImageSet images = noise_images(20, 4), test = noise_images(10, 4, 32, 1);
  Progress silent;
  std::vector<Index> seen;
  const ConvResult r =
      train(images, test, small_options(), silent,
            [&](const std::vector<ConvRecord>& history) { seen.push_back(history.back().step); });
  EXPECT_EQ(r.status, ConvStatus::finished);
  EXPECT_EQ(r.steps, 12);
  EXPECT_EQ(seen, (std::vector<Index>{4, 8, 12}));
  ASSERT_EQ(r.history.size(), 3U);
  EXPECT_DOUBLE_EQ(r.history[1].epoch, 3.2);
  EXPECT_DOUBLE_EQ(r.history[0].learning_rate, 0.02);
  EXPECT_DOUBLE_EQ(r.history[2].learning_rate, 0.0002);
  EXPECT_NEAR(r.history[0].train_loss, std::log(4), 0.5);
  EXPECT_GT(r.history[0].images_per_s, 0);
  EXPECT_EQ(r.history[2].block_norms, block_norms(r.network.architecture, r.network.weights));
  EXPECT_EQ(r.device, "cpu");
  EXPECT_EQ(r.precision, "float32");
  ASSERT_TRUE(r.test && r.train);
  EXPECT_EQ(r.test->top1_error, *r.history[2].test_error);
  EXPECT_EQ(r.test->confusion, evaluate(predict(r.network, test, kPlain, silent, 3), test.labels).confusion);
  EXPECT_EQ(r.network.class_names, images.class_names);
}

// As files are: for networks of another size than that of the images in memory.
TEST_F(ConvTrain, ImagesOfAnotherSizeAreResized) {
  Progress silent;
  const ImageSet large = noise_images(3, 2, 48);
  ImageSet small = noise_images(3, 2);
  small.pixels.clear();
  for (Index i = 0; i < 3; ++i) {  // 37 = round(32 256 / 224), of which the middle is seen
    const Image image = resize(large.image(i), 37, 37);
    for (Index row = 2; row < 34; ++row)
      for (Index k = 3 * 2; k < 3 * 34; ++k)
        small.pixels.push_back(image.pixels[static_cast<std::size_t>(row * 3 * 37 + k)]);
  }
  const ConvNetwork network = draw_network(cifar_architecture(2, 1, 4));
  EXPECT_EQ(predict(network, large, kPlain, silent), predict(network, small, kPlain, silent));
}

TEST_F(ConvTrain, JudgesMirrorImagesToo) {
  Progress silent;
  const ImageSet images = noise_images(5, 2);
  ImageSet mirrored = images;
  for (Index row = 0; row < 5 * 32; ++row)
    for (Index j = 0; j < 32; ++j)
      for (Index c = 0; c < 3; ++c)
        mirrored.pixels[static_cast<std::size_t>(3 * (32 * row + 31 - j) + c)] =
            images.pixels[static_cast<std::size_t>(3 * (32 * row + j) + c)];
  const ConvNetwork network = draw_network(cifar_architecture(2, 1, 4), 0, "scaled");
  ConvDevice both = kPlain;
  both.mirror = true;
  const Logits mean =
      (predict(network, images, kPlain, silent) + predict(network, mirrored, kPlain, silent)) / 2;
  EXPECT_EQ(predict(network, images, both, silent), mean);
  ConvOptions options = small_options();
  options.device = both;
  const ConvResult r = train(noise_images(8, 2), images, options, silent);
  EXPECT_EQ(r.test->loss, evaluate(predict(r.network, images, both, silent), images.labels).loss);
}

TEST_F(ConvTrain, ResumesToTheLastBit) {
  const ImageSet images = noise_images(20, 4);
  ConvOptions options = small_options();
  options.average = 0.9;
  options.flip = true;
  options.cutout = 8;
  options.early_size = 16;
  options.early_part = 0.4;  // five of twelve steps
  options.start = "whitened";
  options.weight_standardization = true;
  Progress silent;
  const ConvResult whole = train(images, {}, options, silent);
  options.checkpoint = path("checkpoint");
  for (const Index stop : {1, 4, 7}) {  // 4: as a record is made
    options.resume = false;
    std::atomic<bool> cancel{false};
    Index steps = 0;
    Progress stopping(
        [&](const ProgressReport& report) {
          if (report.stage == "training") cancel = static_cast<Index>(report.done) >= stop;
          steps = static_cast<Index>(report.done);
        },
        &cancel, 0);
    const ConvResult part = train(images, {}, options, stopping);
    ASSERT_EQ(part.status, ConvStatus::interrupted);
    EXPECT_LT(part.steps, 12);
    EXPECT_GE(part.steps, stop);
    options.resume = true;
    const ConvResult rest = train(images, {}, options, silent);
    EXPECT_EQ(rest.status, whole.status);
    EXPECT_EQ(rest.network.weights, whole.network.weights) << "stopped after " << part.steps;
    ASSERT_EQ(rest.history.size(), whole.history.size());
    for (std::size_t k = 0; k < rest.history.size(); ++k) {
      EXPECT_EQ(rest.history[k].step, whole.history[k].step);
      EXPECT_DOUBLE_EQ(rest.history[k].train_loss, whole.history[k].train_loss);
      EXPECT_EQ(rest.history[k].train_error, whole.history[k].train_error);
      EXPECT_EQ(rest.history[k].block_norms, whole.history[k].block_norms);
    }
  }
  ImageSet others = images;
  std::swap(others.labels[0], others.labels[1]);
  EXPECT_MESSAGE(DataError, train(others, {}, options, silent), "of another run", "selection is ");
  options.learning_rate = 0.5;
  EXPECT_MESSAGE(DataError, train(images, {}, options, silent), "of another run",
                 "learning_rate is 0.02, not 0.5");
  write("checkpoint", "not one");
  EXPECT_MESSAGE(DataError, train(images, {}, options, silent), "checkpoint");
}

// A bit that changed on the disk: in a weight, in the sums of the state, in the digest itself.
TEST_F(ConvTrain, NeverGoesOnWithADamagedCheckpoint) {
  const ImageSet images = noise_images(20, 4);
  ConvOptions options = small_options();
  options.checkpoint = path("checkpoint");
  std::atomic<bool> cancel{false};
  Progress stopping([&](const ProgressReport& report) { cancel = report.done >= 3; }, &cancel, 0);
  ASSERT_EQ(train(images, {}, options, stopping).status, ConvStatus::interrupted);
  const std::string whole = content(path("checkpoint"));
  options.resume = true;
  Progress silent;
  for (const std::size_t at : {whole.size() - 1, whole.size() / 2, whole.find("totals") + 10,
                               whole.find("\"digest\":") + 12, whole.find("digest")}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write("checkpoint", damaged);
    EXPECT_MESSAGE(DataError, train(images, {}, options, silent), "checkpoint");
  }
  write("checkpoint", whole);
  EXPECT_EQ(train(images, {}, options, silent).steps, 12);
}

TEST_F(ConvTrain, SaysWhenItDiverges) {
  ConvOptions options = small_options();
  options.learning_rate = 1e6;
  Progress silent;
  const ConvResult r = train(noise_images(20, 4), {}, options, silent);
  EXPECT_EQ(r.status, ConvStatus::diverged);
  EXPECT_NE(r.conclusion.find("diverged"), std::string::npos);
  EXPECT_FALSE(r.train);
}

TEST_F(ConvTrain, NamesWhatIsWrong) {
  Progress silent;
  const ImageSet images = noise_images(20, 4);
  const auto with = [&](const ConvDevice& device) {
    ConvOptions options = small_options();
    options.device = device;
    return train(images, {}, options, silent);
  };
  EXPECT_MESSAGE(std::invalid_argument, with({"tpu", "auto", 0}),
                 "device must be cpu, cuda, cuda:N or auto; got 'tpu'");
  EXPECT_MESSAGE(std::invalid_argument, with({"cuda:x", "auto", 0}), "N a number");
  EXPECT_MESSAGE(std::invalid_argument, with({"cpu", "float16", 0}), "precision must be");
  EXPECT_MESSAGE(std::invalid_argument, with({"cpu", "auto", -1}), "threads must be >= 0");
  if (cuda::devices() == 0)
    EXPECT_MESSAGE(BackendError, with({"cuda", "auto", 0}), "device cuda asked for", "0 CUDA devices");
  EXPECT_MESSAGE(DataError, train({}, {}, small_options(), silent), "no images");
  EXPECT_MESSAGE(DataError, train(images, noise_images(4, 2), small_options(), silent),
                 "its classes are others");
  EXPECT_MESSAGE(std::invalid_argument, train(noise_images(8, 2, 30), {}, small_options(), silent),
                 "needs images of 32 x 32; got 30 x 30");
  ConvOptions odd = small_options();
  odd.early_size = 18;
  EXPECT_MESSAGE(std::invalid_argument, train(images, {}, odd, silent), "multiple of 4", "18");
  EXPECT_MESSAGE(std::invalid_argument,
                 predict(draw_network(cifar_architecture(2, 1, 4)), images, {}, silent, 0),
                 "batch must be >= 1");
}

}  // namespace
}  // namespace zeroloss
