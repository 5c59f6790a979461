#include "zeroloss/deep/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "deep/forward.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

Activation identity() {
  Activation a;
  a.name = "identity";
  a.phi = [](double z) { return z; };
  a.dphi = [](double) { return 1.0; };
  a.d2phi = [](double) { return 0.0; };
  a.B = 1;
  a.M = 0;
  a.tabulated = true;
  a.leak = 1;
  return a;
}

Activation leaky(double leak) {
  Activation a = activation("leaky_relu");
  a.phi = [leak](double z) { return z < 0 ? leak * z : z; };
  a.dphi = [leak](double z) { return z < 0 ? leak : 1.0; };
  a.leak = leak;
  return a;
}

bool finite(const Layer& layer) {
  return layer.W.allFinite() && layer.b.allFinite() && layer.U.allFinite() && layer.bU.allFinite() &&
         std::isfinite(layer.scale);
}

// Whether a type has this number.
bool has(const std::string& type, double x) {
  if (type == "float32") return static_cast<double>(static_cast<float>(x)) == x;
  const bool sign = type.starts_with("int");
  int bits = 1;  // of bool
  if (const std::size_t digits = type.find_first_of("123456789"); digits != std::string::npos)
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  const double least = sign ? -std::ldexp(1.0, bits - 1) : 0;
  const double beyond = std::ldexp(1.0, sign ? bits - 1 : bits);
  return std::trunc(x) == x && least <= x && x < beyond;
}

std::string units_of(const Layer& layer) {
  return fmt::format("{} {}{} units", layer.units(), layer.activation, layer.residual ? " residual" : "");
}

}  // namespace

Activation activation_of(const Layer& layer) {
  if (layer.activation == "identity") return identity();
  if (layer.activation == "leaky_relu") return leaky(layer.leak);
  const auto names = layer_activations();
  if (std::find(names.begin(), names.end(), layer.activation) == names.end())
    throw std::invalid_argument(fmt::format("layers: an activation must be one of {}; got \"{}\"",
                                            fmt::join(names, ", "), layer.activation));
  return activation(layer.activation);
}

std::vector<std::string> layer_activations() {
  auto names = activation_names();
  names.emplace_back("identity");
  return names;
}

void check(const DeepNetwork& network) {
  const auto require = [](bool met, const std::string& where, const std::string& what) {
    if (!met) throw std::invalid_argument(where + ": " + what);
  };
  require(!network.layers.empty(), "network", "there are no layers");
  const Index d = network.features();
  require(network.constant >= 0 && std::isfinite(network.constant), "network",
          "a constant that is not finite");
  require(d >= 1, "network", "there are no features");
  require(network.encoding.empty() || network.encoding.d() == d, "network",
          fmt::format("columns that make {} features; expected {}", network.encoding.d(), d));
  for (const Vector* input : {&network.shift, &network.factor})
    require((input->size() == 0 || input->size() == d) && input->allFinite(), "network",
            "shift and factor must be one finite number a feature");
  require(network.shift_low.size() == 0 ||
              (network.shift_low.size() == network.shift.size() && network.shift_low.allFinite() &&
               ((network.shift + network.shift_low).array() == network.shift.array()).all()),
          "network", "shift_low must be what shift lost when it was rounded");
  Index width = network.layers.front().inputs(), number = 0;
  for (const Layer& layer : network.layers) {
    const std::string where = fmt::format("layer {}", ++number);
    const Index m = layer.units();
    require(m >= 1 && layer.inputs() >= 1, where, "W is empty");
    require(layer.inputs() == width, where,
            fmt::format("W takes {} numbers, before it are {}", layer.inputs(), width));
    require(layer.b.size() == 0 || layer.b.size() == m, where,
            fmt::format("b has {} numbers, W has {} rows", layer.b.size(), m));
    require(layer.activation != "leaky_relu" || (layer.leak >= 0 && layer.leak < 1), where,
            fmt::format("leak must be in [0, 1); got {}", layer.leak));
    if (layer.residual) {
      const bool shape = layer.U.size() == 0 ? m == width : layer.U.rows() == width && layer.U.cols() == m;
      require(shape, where, fmt::format("a residual layer's U must be {} x {}", width, m));
      require(layer.bU.size() == 0 || layer.bU.size() == width, where,
              fmt::format("bU has {} numbers, the layer {}", layer.bU.size(), width));
    } else {
      require(layer.U.size() == 0 && layer.bU.size() == 0, where, "a plain layer has no U and no bU");
    }
    require(finite(layer), where, "a weight is not finite");
    activation_of(layer);
    width = layer.outputs();
  }
  require(network.outputs() >= 1 && network.V.cols() == width, "output layer",
          fmt::format("V takes {} numbers, before it are {}", network.V.cols(), width));
  require(network.c.size() == 0 || network.c.size() == network.outputs(), "output layer",
          fmt::format("c has {} numbers, V has {} rows", network.c.size(), network.outputs()));
  require(network.V.allFinite() && network.c.allFinite(), "output layer", "a weight is not finite");
}

bool all_finite(const DeepNetwork& network) {
  return std::all_of(network.layers.begin(), network.layers.end(), finite) && network.V.allFinite() &&
         network.c.allFinite();
}

Index parameters(const DeepNetwork& network) {
  Index count = network.V.size() + network.c.size();
  for (const Layer& layer : network.layers) count += layer.parameters();
  return count;
}

std::string describe(const DeepNetwork& network) {
  std::vector<std::string> parts;
  for (std::size_t l = 0; l < network.layers.size();) {
    const std::string units = units_of(network.layers[l]);
    const std::size_t first = l;
    while (l < network.layers.size() && units_of(network.layers[l]) == units) ++l;
    parts.push_back(l - first == 1 ? "a layer of " + units
                                   : fmt::format("{} layers of {}", l - first, units));
  }
  const Index K = network.outputs();
  return fmt::format("{}, {} output{}, {} weights", fmt::join(parts, ", "), K, K == 1 ? "" : "s",
                     parameters(network));
}

void internal::check_points(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X) {
  check(network);
  if (X.cols() != network.features())
    throw DataError(
        fmt::format("points have {} features, the network takes {}", X.cols(), network.features()));
  if (!X.allFinite()) throw DataError("a value of the points is not finite");
  for (const PointType& of : network.point_types)
    for (Index i = 0; i < X.rows(); ++i)
      for (Index k = 0; k < X.cols(); ++k)
        if (!has(of.type, X(i, k)))
          throw DataError(
              fmt::format("feature {} of point {} is {}, no number of {}: the network was read for "
                          "such numbers alone, since {}",
                          k, i, X(i, k), of.type, of.by));
  if (!network.unit) return;
  const Matrix h = inputs(network, X);
  for (Index i = 0; i < h.rows(); ++i)
    if (!h.row(i).allFinite())
      throw DataError(fmt::format("point {} has no length that it could be divided by", i));
}

Matrix predict(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X, const Progress& progress) {
  check_points(network, X);
  constexpr Index kRows = 1024;  // points at a time: the layers of so many are in memory together
  Matrix all(X.rows(), network.outputs());
  for (Index row = 0; row < X.rows(); row += kRows) {
    progress.check();
    const Index rows = std::min(kRows, X.rows() - row);
    all.middleRows(row, rows) = forward(network, X.middleRows(row, rows)).f;
  }
  return all;
}

}  // namespace zeroloss
