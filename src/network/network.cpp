#include "zeroloss/network/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/parallel_for.hpp"
#include "network/prepare.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace {

void check(const Draw& start) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument(what);
  };
  require(start.scaling == "ntk" || start.scaling == "balanced",
          fmt::format("scaling must be ntk or balanced; got \"{}\"", start.scaling));
  require(start.precision == "float64" || start.precision == "float32",
          fmt::format("precision must be float64 or float32; got \"{}\"", start.precision));
  require(start.width >= 1, fmt::format("width must be >= 1; got {}", start.width));
  require(start.d >= 1, fmt::format("d must be >= 1; got {}", start.d));
  require(start.n >= 1, fmt::format("n must be >= 1; got {}", start.n));
  require(start.scaling != "balanced" || (start.norm_y > 0 && std::isfinite(start.norm_y)),
          fmt::format("scaling balanced needs targets that are not all 0: ||y|| = {}", start.norm_y));
  require(start.output_scale > 0 && std::isfinite(start.output_scale),
          fmt::format("output_scale must be > 0; got {}", start.output_scale));
}

double to_float(double x) { return static_cast<float>(x); }

}  // namespace

TwoLayer draw(const Draw& start) {
  check(start);
  const Index m = start.width;
  TwoLayer network{RowMatrix(m, start.d), Vector(m)};
  Random weights(start.seed, Stream::weights, start.index);
  for (double& w : network.W.reshaped<Eigen::RowMajor>()) w = weights.normal();
  if (start.scaling == "ntk") {
    Random signs(start.seed, Stream::signs, start.index);
    const double size = 1 / std::sqrt(static_cast<double>(m));
    for (double& v : network.v) v = signs.below(2) == 0 ? size : -size;
  } else {
    const double size = start.norm_y / std::sqrt(static_cast<double>(m) * static_cast<double>(start.n));
    network.v.setZero();
    network.v.head(m / 2).setConstant(size);
    network.v.tail(m / 2).setConstant(-size);
  }
  network.v *= start.output_scale;
  return rounded(std::move(network), start.precision);
}

TwoLayer rounded(TwoLayer network, const std::string& precision) {
  if (precision == "float32") {
    network.W = network.W.unaryExpr(&to_float);
    network.v = network.v.unaryExpr(&to_float);
  }
  return network;
}

void internal::prepare(Dataset& points, const Network& network) {
  prepare(points, network.center, network.standardization, network.normalize);
}

void internal::prepare(Dataset& points, const Center& center, const Standardization& standardization,
                       bool normalize) {
  check_dataset(points);
  if (!standardization.empty()) points.X = scaled(points.X, standardization);
  if (normalize)
    normalize_rows(points, center);
  else
    subtract(points, center);
}

Vector outputs(const TwoLayer& network, const Activation& activation, const RowMatrix& X,
               const Progress& progress) {
  constexpr Index kTile = 256;  // neurons
  const SerialBlas serial;
  const RowMatrix& W = network.W;
  const Vector& v = network.v;
  const Index tiles = (W.rows() + kTile - 1) / kTile;
  const Threads threads(static_cast<double>(X.rows()) * static_cast<double>(W.size()));
  Matrix partial(X.rows(), tiles);
  parallel_for(tiles, [&](Index t) {
    if (progress.cancelled()) return;
    const Index first = t * kTile, count = std::min(kTile, W.rows() - first);
    Matrix Z = X * W.middleRows(first, count).transpose();
    for (double& z : Z.reshaped()) z = activation.phi(z);
    partial.col(t) = Z * v.segment(first, count);
  });
  progress.check();
  return partial.rowwise().sum();
}

Matrix predict(const Network& network, const Eigen::Ref<const RowMatrix>& X, const Progress& progress) {
  Dataset points;
  points.X = X;
  points.name = "predict";
  if (X.cols() != network.features())
    throw DataError(fmt::format("predict: points have {} features; the network was trained on {}", X.cols(),
                                network.features()));
  internal::prepare(points, network);
  Matrix all(X.rows(), static_cast<Index>(network.outputs.size()));
  for (Index c = 0; c < all.cols(); ++c)
    all.col(c) = outputs(network.outputs[static_cast<std::size_t>(c)], activation(network.activation),
                         points.X, progress);
  return all;
}

std::vector<Index> predicted_classes(const Matrix& outputs) {
  std::vector<Index> classes(static_cast<std::size_t>(outputs.rows()));
  for (Index i = 0; i < outputs.rows(); ++i) {
    Index& best = classes[static_cast<std::size_t>(i)];
    if (outputs.cols() == 1)
      best = outputs(i, 0) >= 0 ? 1 : 0;
    else
      outputs.row(i).maxCoeff(&best);
  }
  return classes;
}

}  // namespace zeroloss
