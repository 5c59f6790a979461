/// conv_bench DEVICE THREADS RECIPE: reads one measurement a line from stdin, runs it once, answers with one
/// JSON line on stdout. bench/conv.py asks it and PyTorch in turn. The network is that of the recipe, paper
/// (13,538,736 weights) or small (2,710,368), from the paper's start; images are standard normal numbers,
/// labels uniform. Steps train what the recipe trains: of small gains and directions, and not the stem.
///
// clang-format off
///     step PRECISION BATCH COUNT     seconds of COUNT steps of training (momentum 0.9, weight decay 1e-4, learning
///                                    rate 0.001), each with a batch that is copied to the device; loss at their end
///     write FILE BATCH               weights, projection, images and labels of a batch, and what float32 makes of
///                                    them: logits, loss, gradient of every layer; a safetensors file
///     info                           LibTorch, device, threads, weights, multiply-adds of an image
// clang-format on
#include <ATen/Parallel.h>

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "conv/trainer.hpp"
#include "torch/cuda.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace {

using namespace zeroloss;
using namespace zeroloss::internal;
using Json = nlohmann::json;

Batch random_batch(const ConvArchitecture& a, Index count) {
  Batch batch;
  batch.size = a.image_size;
  const auto numbers = static_cast<std::size_t>(3 * count * a.image_size * a.image_size);
  batch.x = std::shared_ptr<float>(new float[numbers], std::default_delete<float[]>());
  Random random(0, Stream::points);
  for (std::size_t i = 0; i < numbers; ++i) batch.x.get()[i] = static_cast<float>(random.normal());
  for (Index i = 0; i < count; ++i)
    batch.labels.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(a.classes))));
  return batch;
}

class Bench {
 public:
  Bench(std::string device, int threads, const std::string& recipe)
      : device_{.device = std::move(device), .threads = threads},
        recipe_(conv_recipe(recipe)),
        network_(draw_network(architecture_of(recipe_, 10))) {}

  Json step(const std::string& precision, Index batch, int count) {
    Training& training = running(precision, batch);
    const Compute how = compute(precision);
    const auto finish = [&] {
      if (how.device.is_cuda()) cuda::synchronize();
    };
    finish();
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) training.trainer.step(training.batch, 1e-3);
    finish();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    bool flag = false;
    const StepSums sums = training.trainer.take_sums(flag);
    return {{"seconds", seconds}, {"steps", count}, {"loss", sums.loss / sums.images}};
  }

  Json write(const std::string& file, Index count) {
    const Compute how = compute("float32");
    const ConvArchitecture& a = network_.architecture;
    const std::vector<ConvLayer> all = layers(a);
    const Batch batch = random_batch(a, count);
    ConvTrainer trainer(network_, options(count), how, nullptr);
    const std::vector<float> gradient = to_host(trainer.gradient(batch));
    bool flag = false;
    const float loss = static_cast<float>(trainer.take_sums(flag).loss / static_cast<double>(count));
    const torch::NoGradGuard no_gradients;
    const torch::Tensor x = torch::from_blob(batch.x.get(), {count, a.image_size, a.image_size, 3});
    const torch::Tensor projection =
        to_device(network_.projection, how.device).view({network_.features(), -1});
    const std::vector<float> logits = to_host(
        forward(all, views(to_device(network_.weights, how.device), all), projection, x.to(how.device)));
    std::vector<TensorView> tensors{
        view_of("images", {count, a.image_size, a.image_size, 3}, batch.x.get()),
        view_of("labels", {count}, batch.labels.data()),
        view_of("projection", {network_.features(), a.classes}, network_.projection.data()),
        view_of("logits", {count, a.classes}, logits.data()), view_of("loss", {1}, &loss)};
    Index at = 0;
    for (const ConvLayer& layer : all) {
      const std::vector<Index> shape{layer.out, layer.kernel, layer.kernel, layer.in};
      tensors.push_back(
          view_of(layer.name + ".weight", shape, &network_.weights[static_cast<std::size_t>(at)]));
      tensors.push_back(view_of(layer.name + ".gradient", shape, &gradient[static_cast<std::size_t>(at)]));
      at += layer.weights();
    }
    write_tensors(file, tensors, {});
    return {{"layers", all.size()}, {"loss", loss}};
  }

  Json info() const {
    const Compute how = compute("float32");
    return {{"libtorch", libtorch()},
            {"device", device_name(how)},
            {"threads", at::get_num_threads()},
            {"weights", weights(network_.architecture)},
            {"multiply_adds", multiply_adds(network_.architecture)}};
  }

 private:
  struct Training {
    Batch batch;
    ConvTrainer trainer;
  };

  Compute compute(const std::string& precision) const {
    ConvDevice device = device_;
    device.precision = precision;
    return compute_of(device);
  }
  static ConvOptions options(Index batch) {
    ConvOptions o;
    o.batch = batch;
    return o;
  }
  Training& running(const std::string& precision, Index batch) {
    auto& found = running_[{precision, batch}];
    if (!found) {
      ConvOptions o = options(batch);
      o.start = recipe_.start;
      o.weight_standardization = recipe_.weight_standardization;
      found.reset(new Training{random_batch(network_.architecture, batch),
                               ConvTrainer(network_, o, compute(precision), nullptr)});
    }
    return *found;
  }

  ConvDevice device_;
  ConvOptions recipe_;
  ConvNetwork network_;
  std::map<std::pair<std::string, Index>, std::unique_ptr<Training>> running_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: conv_bench cpu|cuda THREADS RECIPE\n";
    return 2;
  }
  Bench bench(argv[1], std::stoi(argv[2]), argv[3]);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, name;
    Index batch = 0;
    int count = 0;
    words >> what;
    if (what == "step" && words >> name >> batch >> count)
      std::cout << bench.step(name, batch, count) << std::endl;
    else if (what == "write" && words >> name >> batch)
      std::cout << bench.write(name, batch) << std::endl;
    else if (what == "info")
      std::cout << bench.info() << std::endl;
    else
      throw std::invalid_argument("conv_bench: not a measurement: " + line);
  }
}
