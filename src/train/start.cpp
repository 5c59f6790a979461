#include "train/start.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>

#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/network/model.hpp"
#include "zeroloss/network/pairs.hpp"
#include "zeroloss/sources/arrays.hpp"

namespace zeroloss {
using namespace internal;
namespace fs = std::filesystem;
namespace {

constexpr const char* kExpected =
    "W of shape [m, d] and v of [m], or W of [K, m, d] and v of [K, m], or no v";

/// W or v as it stands in a file.
struct Numbers {
  std::vector<Index> shape;
  std::vector<double> values;
};

/// What is wrong with weights; empty if nothing is.
std::string problem(const std::vector<TwoLayer>& outputs) {
  if (outputs.empty() || outputs.front().W.size() == 0) return "no weights";
  const auto& first = outputs.front();
  for (const auto& [W, v] : outputs) {
    if (W.rows() != first.W.rows() || W.cols() != first.W.cols() || v.size() != first.v.size() ||
        (v.size() != 0 && v.size() != W.rows()))
      return fmt::format("outputs of different sizes; expected {}", kExpected);
    if (!W.allFinite() || !v.allFinite()) return "weights that are not finite";
  }
  return {};
}

std::string digest_of(const std::vector<TwoLayer>& outputs) {
  Sha256 digest;
  const std::string sizes = fmt::format("{} {} {} {} ", outputs.size(), outputs.front().W.rows(),
                                        outputs.front().W.cols(), outputs.front().v.size());
  digest.update(sizes.data(), sizes.size());
  for (const auto& [W, v] : outputs) {
    digest.update(W.data(), static_cast<std::size_t>(W.size()) * sizeof(double));
    digest.update(v.data(), static_cast<std::size_t>(v.size()) * sizeof(double));
  }
  return digest.hex();
}

/// `found`: what the file holds, for messages.
std::vector<TwoLayer> outputs_of(const std::string& file, const std::string& found,
                                 const std::optional<Numbers>& W, const std::optional<Numbers>& v) {
  const std::vector<Index> shape = W ? W->shape : std::vector<Index>{};
  if (!W || (shape.size() != 2 && shape.size() != 3) ||
      (v && !std::ranges::equal(v->shape, std::span(shape).first(shape.size() - 1))))
    throw DataError(fmt::format("{}: found {}; expected {}", file, found, kExpected));
  const Index d = shape.back(), m = shape[shape.size() - 2], K = shape.size() == 3 ? shape.front() : 1;
  std::vector<TwoLayer> outputs(static_cast<std::size_t>(K));
  for (Index k = 0; k < K; ++k) {
    TwoLayer& output = outputs[static_cast<std::size_t>(k)];
    output.W = Eigen::Map<const RowMatrix>(W->values.data() + k * m * d, m, d);
    if (v) output.v = Eigen::Map<const Vector>(v->values.data() + k * m, m);
  }
  return outputs;
}

Numbers numbers_of(const std::string& file, const Tensor& tensor) {
  Numbers numbers{tensor.shape, std::vector<double>(static_cast<std::size_t>(tensor.size()))};
  if (tensor.dtype == Dtype::f64)
    std::copy_n(tensor.data<double>(), tensor.size(), numbers.values.begin());
  else if (tensor.dtype == Dtype::f32)
    std::copy_n(tensor.data<float>(), tensor.size(), numbers.values.begin());
  else
    throw DataError(
        fmt::format("{}: tensor {} is {}; expected F64 or F32", file, tensor.name, dtype_name(tensor.dtype)));
  return numbers;
}

std::vector<TwoLayer> of_tensors(const std::string& file) {
  const TensorFile tensors = read_tensors(file);
  std::vector<std::string> found;
  found.reserve(tensors.tensors.size());
  for (const Tensor& tensor : tensors.tensors)
    found.push_back(fmt::format("{} of [{}]", tensor.name, fmt::join(tensor.shape, ", ")));
  const auto part = [&](const char* name) {
    const Tensor* tensor = tensors.find(name);
    return tensor == nullptr ? std::nullopt : std::optional(numbers_of(file, *tensor));
  };
  return outputs_of(file, found.empty() ? "no tensors" : excerpt(found), part("W"), part("v"));
}

std::vector<TwoLayer> of_arrays(const std::string& file) {
  const auto arrays = arrays_in(file);
  const bool single = arrays.size() == 1 && arrays.front().name.empty();  // an npy: W
  std::vector<std::string> found;
  found.reserve(arrays.size());
  for (const auto& [name, shape] : arrays)
    found.push_back(fmt::format("{} of [{}]", single ? "an array" : name, fmt::join(shape, ", ")));
  const auto part = [&](const std::string& name) -> std::optional<Numbers> {
    const auto array = std::ranges::find(arrays, single && name == "W" ? "" : name, &ArrayShape::name);
    if (array == arrays.end() || array->shape.empty()) return {};
    const RowMatrix values = read_array(file, array->name);
    return Numbers{array->shape, {values.data(), values.data() + values.size()}};
  };
  return outputs_of(file, found.empty() ? "no arrays" : excerpt(found), part("W"), part("v"));
}

Start given(std::vector<TwoLayer> outputs, std::string source, std::string digest) {
  auto network = std::make_shared<Network>();
  network->outputs = std::move(outputs);
  return {std::move(source), std::move(digest), std::move(network)};
}

/// What a model does to points otherwise than this run; empty if nothing.
std::string other_points(const Network& model, const TrainingSet& set, const Dataset& data) {
  const auto same = [](const Vector& a, const Vector& b) { return a.size() == b.size() && a == b; };
  const Standardization& standard = set.standardization;
  if (encoding_text(model.encoding) != encoding_text(data.encoding)) return "made of other columns";
  if (!same(model.standardization.scale, standard.scale)) return "whose columns have another scale";
  if (model.standardization.bias != standard.bias)
    return fmt::format("with the constant {:.3g} appended, not {:.3g}", model.standardization.bias,
                       standard.bias);
  if (!same(model.center.high, set.center.high) || !same(model.center.low, set.center.low))
    return model.center.empty() ? "that are not centred"
           : set.center.empty() ? "that are centred"
                                : "that are centred at another point";
  return model.normalize ? "" : "that are not divided by their lengths";
}

void check_model(const std::string& source, const Network& model, const CheckedOptions& options,
                 const Dataset& data, const TrainingSet& set) {
  const auto differs = [&](const char* name, const std::string& was, const std::string& is) {
    if (was != is)
      throw std::invalid_argument(fmt::format("fit: `start` {} was trained with {} {}, not {}: say `{}={}`",
                                              source, name, was, is, name, was));
  };
  differs("activation", model.activation, options.activation);
  differs("scaling", model.scaling, options.scaling);
  std::vector<std::string> classes;
  std::ranges::transform(data.class_names, std::back_inserter(classes), utf8);
  if (model.task != Task::none && (model.task != data.task || model.class_names != classes))
    throw DataError(
        fmt::format("fit: `start` {} was trained for {}{}; {} is for {}{}", source, name(model.task),
                    model.class_names.empty() ? "" : " of " + excerpt(model.class_names), data.name,
                    name(data.task), classes.empty() ? "" : " of " + excerpt(classes)));
  if (const std::string what = other_points(model, set, data); !what.empty())
    throw DataError(
        fmt::format("fit: `start` {} was trained on points {}: its weights mean nothing on those of {}",
                    source, what, data.name));
}

}  // namespace

std::string text_of(const Start& start) { return start.drawn() ? start.source : start.digest; }

Start start_of(std::vector<TwoLayer> outputs, std::string source) {
  if (const std::string what = problem(outputs); !what.empty())
    throw std::invalid_argument(source + ": " + what);
  std::string digest = digest_of(outputs);
  return given(std::move(outputs), std::move(source), std::move(digest));
}

Start read_start(const fs::path& path) {
  if (path == "gaussian" || path == "pairs") return {path.string()};
  const std::string file = (fs::is_directory(path) ? path / "model.safetensors" : path).string();
  if (!fs::exists(file))
    throw DataError(
        fmt::format("fit: `start` {}: no such file; expected gaussian, pairs, a safetensors, npz or npy "
                    "file, or a run folder with a model",
                    file));
  std::string digest = sha256_file(file);
  if (!is_numpy(file) && read_metadata(file).contains("kind"))
    return {path.string(), std::move(digest), std::make_shared<const Network>(load_model(file)), true};
  auto outputs = is_numpy(file) ? of_arrays(file) : of_tensors(file);
  if (const std::string what = problem(outputs); !what.empty()) throw DataError(file + ": " + what);
  return given(std::move(outputs), path.string(), std::move(digest));
}

void internal::check_start(const CheckedOptions& options, const Dataset& data, const TrainingSet& set) {
  const Start& start = options.start;
  if (start.drawn()) return;
  const Network& network = *start.network;
  if (start.model) check_model(start.source, network, options, data, set);
  const Index d = set.points.d();
  if (network.d() != d)
    throw DataError(fmt::format("fit: `start` {} has W of {} columns; the points of {} have {} numbers{}",
                                start.source, network.d(), data.name, d,
                                set.standardization.bias != 0 ? ", the constant included" : ""));
  if (std::ssize(network.outputs) != set.Y.cols())
    throw DataError(fmt::format("fit: `start` {} has weights of {} outputs; {} needs {}{}", start.source,
                                network.outputs.size(), data.name, set.Y.cols(),
                                set.Y.cols() > 1 ? ", one for each class" : ""));
}

TwoLayer internal::first_weights(const CheckedOptions& options, const RowMatrix& X, const Vector& y,
                                 Index index) {
  const Draw fresh{options.width,
                   X.cols(),
                   options.scaling,
                   options.precision,
                   X.rows(),
                   y.norm(),
                   options.seed,
                   static_cast<std::uint64_t>(index),
                   options.output_scale};
  const auto drawn = [&] {
    if (!options.start.paired()) return draw(fresh);
    Draw same = fresh;  // for every output: what is proved of one holds for all
    same.index = 0;
    return draw_pairs(same, activation(options.activation), X);
  };
  if (options.start.drawn()) return drawn();
  TwoLayer first = options.start.network->outputs[static_cast<std::size_t>(index)];
  if (first.v.size() == 0) first.v = drawn().v;
  first = rounded(std::move(first), options.precision);
  if (!first.W.allFinite() || !first.v.allFinite())
    throw std::invalid_argument(
        fmt::format("fit: `start` {} has weights beyond the range of float32: leave `precision` out",
                    options.start.source));
  return first;
}

}  // namespace zeroloss
