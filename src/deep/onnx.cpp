#include "zeroloss/deep/onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "deep/layers_of_graph.hpp"
#include "storage/onnx_graph.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/graph/network.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// The numbers of a tensor as the file is to store them, and what they are after that.
template <class Tensor>
void put(const Tensor& tensor, const OnnxPlace& place, std::vector<OnnxChange>& changes, Tensor& rounded) {
  rounded = tensor;
  if (tensor.size() == 0) return;
  if (place.single)
    rounded = tensor.unaryExpr([](double x) { return static_cast<double>(static_cast<float>(x)); });
  const RowMatrix stored = place.transposed ? RowMatrix(rounded.transpose()) : RowMatrix(rounded);
  OnnxChange& change =
      changes.emplace_back(OnnxChange{.node = place.node,
                                      .input = place.input,
                                      .shape = place.shape,
                                      .type = place.single ? OnnxType::float32 : OnnxType::float64,
                                      .values = {stored.data(), stored.data() + stored.size()}});
  if (place.node.empty()) change.constant = place.name;
}

template <class Tensor>
bool same_shape(const Tensor& a, const Tensor& b) {
  return a.rows() == b.rows() && a.cols() == b.cols();
}

bool differ_in_weights_alone(const Layer& a, const Layer& b) {
  return same_shape(a.W, b.W) && same_shape(a.b, b.b) && same_shape(a.U, b.U) && same_shape(a.bU, b.bU) &&
         a.activation == b.activation && (a.activation != "leaky_relu" || a.leak == b.leak) &&
         a.residual == b.residual && a.scale == b.scale;
}

bool differ_in_weights_alone(const DeepNetwork& a, const DeepNetwork& b) {
  const auto same = [](const Vector& x, const Vector& y) { return x.size() == y.size() && x == y; };
  return same(a.shift, b.shift) && same(a.shift_low, b.shift_low) && same(a.factor, b.factor) &&
         a.constant == b.constant && a.unit == b.unit && same_shape(a.V, b.V) && same_shape(a.c, b.c) &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const Layer& x, const Layer& y) { return differ_in_weights_alone(x, y); });
}

bool equal(const DeepNetwork& a, const DeepNetwork& b) {
  const auto same = [](const Layer& x, const Layer& y) {
    return x.W == y.W && x.b == y.b && x.U == y.U && x.bU == y.bU;
  };
  return differ_in_weights_alone(a, b) && a.V == b.V && a.c == b.c && a.class_names == b.class_names &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), same);
}

// What was written, as it is found there.
DeepNetwork written(const std::filesystem::path& source, const std::filesystem::path& path,
                    const DeepNetwork& meant) {
  std::string why = "it holds another network";
  try {
    DeepNetwork found = read_onnx(path).network;
    if (equal(found, meant)) return found;
  } catch (const DataError& error) {
    why = error.what();
  }
  throw DataError(
      fmt::format("{}: other weights cannot be put into this graph: {} was written, read again and {}",
                  source.string(), path.string(), why));
}

}  // namespace

OnnxNetwork read_onnx(const std::filesystem::path& path) {
  const GraphNetwork graph = read_graph(path);
  try {
    return layers_of_graph(graph);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

DeepNetwork write_like(const std::filesystem::path& source, const OnnxNetwork& like,
                       const DeepNetwork& network, const std::filesystem::path& path) {
  check(network);
  if (!differ_in_weights_alone(network, like.network))
    throw std::invalid_argument("write_like: the network has other layers than the file");
  if (like.folded) {
    export_onnx(path, network);
    return network;
  }
  std::vector<OnnxChange> changes;
  DeepNetwork rounded = network;
  for (std::size_t l = 0; l < like.layers.size(); ++l) {
    const Layer& from = network.layers[l];
    const OnnxLayer& place = like.layers[l];
    Layer& to = rounded.layers[l];
    put(from.W, place.W, changes, to.W);
    put(from.b, place.b, changes, to.b);
    put(from.U, place.U, changes, to.U);
    put(from.bU, place.bU, changes, to.bU);
  }
  put(network.V, like.output.W, changes, rounded.V);
  put(network.c, like.output.b, changes, rounded.c);
  rounded.class_names = like.network.class_names;  // no others are written
  check(rounded);
  write_onnx_like(source, changes, path);
  return written(source, path, rounded);
}

}  // namespace zeroloss
