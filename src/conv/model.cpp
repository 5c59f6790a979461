#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/field_json.hpp"
#include "data/model_file.hpp"
#include "data/onnx_parts.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/storage/onnx.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr const char* kKind = "conv_resnet";
constexpr const char* kPreprocessing = "per_image_standardization";

/// What is wrong with a network's numbers; empty if nothing is.
std::string problem(const ConvNetwork& network) {
  const auto finite = [](float value) { return std::isfinite(value); };
  if (std::ssize(network.weights) != weights(network.architecture) ||
      std::ssize(network.projection) != network.features() * network.architecture.classes)
    return "numbers whose count does not fit the architecture";
  if (!std::ranges::all_of(network.weights, finite) || !std::ranges::all_of(network.projection, finite))
    return "weights that are not finite";
  if (network.class_names.empty()) return {};
  if (std::ssize(network.class_names) != network.architecture.classes)
    return fmt::format("{} class names for {} outputs", network.class_names.size(),
                       network.architecture.classes);
  return names_problem(Task::classification, network.class_names, 1);
}

void check(const char* who, const ConvNetwork& network) {
  if (const std::string what = problem(network); !what.empty())
    throw std::invalid_argument(fmt::format("{}: {}", who, what));
}

ConvArchitecture from_json(const ModelFile& file) {
  ConvArchitecture a;
  try {
    const Json json = Json::parse(file.text("architecture"));
    restore(json, a);
    constexpr Index kMost = 1 << 20;  // so that no product of a few of them overflows
    std::vector<Index> sizes{a.image_size, a.stem_channels, a.stem_kernel, a.stem_stride, a.classes};
    for (const ConvStage& s : a.stages) sizes.insert(sizes.end(), {s.blocks, s.channels, s.stride});
    if (std::ranges::any_of(sizes, [](Index size) { return size > kMost; }) || a.stages.size() > 64)
      throw std::invalid_argument("sizes beyond all reason");
    if (Index blocks = 0;
        std::ranges::any_of(a.stages, [&](const ConvStage& s) { return (blocks += s.blocks) > (1 << 16); }))
      throw std::invalid_argument("more blocks than all reason");
    layers(a);
  } catch (const JsonError&) {
    throw file.damaged("its architecture is not the JSON that save_model writes");
  } catch (const std::invalid_argument& error) {
    throw file.damaged(std::string("impossible architecture: ") + error.what());
  }
  return a;
}

/// Copies out x kernel x kernel x in to out x in x kernel x kernel, or back.
template <bool kToFile>
void reorder(const ConvLayer& layer, const float* from, float* to) {
  const Index pixels = layer.kernel * layer.kernel;
  for (Index o = 0; o < layer.out; ++o, from += layer.in * pixels, to += layer.in * pixels)
    for (Index p = 0; p < pixels; ++p)
      for (Index i = 0; i < layer.in; ++i)
        kToFile ? to[i * pixels + p] = from[p * layer.in + i] : to[p * layer.in + i] = from[i * pixels + p];
}

/// All weights in the order of the file.
std::vector<float> for_file(const ConvNetwork& network) {
  std::vector<float> all(network.weights.size());
  std::size_t at = 0;
  for (const ConvLayer& layer : layers(network.architecture)) {
    reorder<true>(layer, &network.weights[at], &all[at]);
    at += static_cast<std::size_t>(layer.weights());
  }
  return all;
}

Metadata metadata_of(const ConvNetwork& network, const Metadata& extra) {
  return model_metadata(
      kKind, "float32", Task::classification, network.class_names,
      {{"architecture", stored(network.architecture).dump()}, {"preprocessing", kPreprocessing}}, extra);
}

std::vector<Index> shape_of(const ConvLayer& layer) {
  return {layer.out, layer.in, layer.kernel, layer.kernel};
}

/// (x - mean) / max(deviation, 1/sqrt(count)) of every image; bytes [batch, s, s, 3] -> [batch, 3, s, s].
std::string standardized(OnnxModel& model, const std::string& images, Index size) {
  const std::string bytes = model.node("Cast", {images}, {{"to", Dtype::f32}});
  const std::string x =
      model.node("Transpose", {bytes}, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}}, "pixels");
  const std::vector<std::int64_t> all{1, 2, 3};
  const std::string centred = model.node("Sub", {x, model.node("ReduceMean", {x}, {{"axes", all}})});
  const std::string variance =
      model.node("ReduceMean", {model.node("Mul", {centred, centred})}, {{"axes", all}});
  const double least = 1 / std::sqrt(3.0 * static_cast<double>(size * size));
  const std::string deviation =
      model.node("Max", {model.node("Sqrt", {variance}), model.scalar(least, Dtype::f32)});
  return model.node("Div", {centred, deviation}, {}, "standardized");
}

/// The block's input where its output is: average pooling, zero channels appended.
std::string shortcut(OnnxModel& model, std::string x, const ConvLayer& conv1) {
  if (conv1.stride > 1) {
    const std::vector<std::int64_t> window{conv1.stride, conv1.stride};
    x = model.node("AveragePool", {x}, {{"kernel_shape", window}, {"strides", window}});
  }
  if (conv1.out > conv1.in)
    x = model.node("Pad", {x, model.axes({0, 0, 0, 0, 0, conv1.out - conv1.in, 0, 0})});
  return x;
}

OnnxModel graph_of(const ConvNetwork& network) {
  const ConvArchitecture& a = network.architecture;
  const std::vector<ConvLayer> all = layers(a);
  const std::vector<float> numbers = for_file(network);
  OnnxModel model(kKind);
  const float* at = numbers.data();
  const auto convolve = [&](const std::string& x, const ConvLayer& layer) {
    const std::string weight = model.constant(view_of(layer.name + ".weight", shape_of(layer), at));
    at += layer.weights();
    const std::int64_t k = layer.kernel, p = k / 2, s = layer.stride;
    return model.node("Conv", {x, weight},
                      {{"kernel_shape", std::vector<std::int64_t>{k, k}},
                       {"pads", std::vector<std::int64_t>{p, p, p, p}},
                       {"strides", std::vector<std::int64_t>{s, s}}},
                      layer.name);
  };
  const std::string images = model.input("images", Dtype::u8, {-1, a.image_size, a.image_size, 3});
  std::string h = convolve(standardized(model, images, a.image_size), all.front());
  for (std::size_t j = 1; j < all.size(); j += 2) {
    const std::string inner = model.node("Relu", {convolve(h, all[j])});
    const std::string outer = convolve(inner, all[j + 1]);
    h = model.node("Add", {shortcut(model, h, all[j]), outer});
  }
  const std::string features =
      model.node("ReduceMean", {h}, {{"axes", std::vector<std::int64_t>{2, 3}}, {"keepdims", 0}}, "features");
  const std::string projection =
      model.constant(view_of("projection", {network.features(), a.classes}, network.projection.data()));
  const std::string logits = model.node("MatMul", {features, projection}, {}, "logits");
  model.output(logits, Dtype::f32, {-1, a.classes});
  add_largest(model, logits);
  return model;
}

}  // namespace

void save_model(const std::filesystem::path& path, const ConvNetwork& network, const Metadata& extra) {
  check("save_model", network);
  const std::vector<float> numbers = for_file(network);
  std::vector<TensorView> tensors;
  const float* at = numbers.data();
  for (const ConvLayer& layer : layers(network.architecture)) {
    tensors.push_back(view_of(layer.name + ".weight", shape_of(layer), at));
    at += layer.weights();
  }
  tensors.push_back(
      view_of("projection", {network.features(), network.architecture.classes}, network.projection.data()));
  write_tensors(path, tensors, metadata_of(network, extra));
}

ConvNetwork load_conv_network(const std::filesystem::path& path) {
  const ModelFile file(path, kKind);
  file.choice("preprocessing", {kPreprocessing});
  ConvNetwork network;
  network.architecture = from_json(file);
  network.class_names = file.class_names();
  const auto numbers = [&](const std::string& name, const std::vector<Index>& shape) {
    const Tensor& tensor = file.tensor(name.c_str(), Dtype::f32, shape.size());
    if (tensor.shape != shape)
      throw file.damaged(fmt::format("tensor '{}' has shape [{}]; expected [{}]", name,
                                     fmt::join(tensor.shape, ", "), fmt::join(shape, ", ")));
    return tensor.data<float>();
  };
  for (const ConvLayer& layer : layers(network.architecture)) {
    const float* from = numbers(layer.name + ".weight", shape_of(layer));
    const std::size_t at = network.weights.size();
    network.weights.resize(at + static_cast<std::size_t>(layer.weights()));
    reorder<false>(layer, from, &network.weights[at]);
  }
  const Index count = network.features() * network.architecture.classes;
  const float* from = numbers("projection", {network.features(), network.architecture.classes});
  network.projection.assign(from, from + count);
  if (const std::string what = problem(network); !what.empty()) throw file.damaged(what);
  return network;
}

void export_onnx(const std::filesystem::path& path, const ConvNetwork& network, const Metadata& extra) {
  write_file(path, onnx_bytes(network, extra));
}

std::string onnx_bytes(const ConvNetwork& network, const Metadata& extra) {
  check("export_onnx", network);
  OnnxModel model = graph_of(network);
  model.metadata(metadata_of(network, extra));
  return model.bytes();
}

}  // namespace zeroloss
