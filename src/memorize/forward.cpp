#include "memorize/forward.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "memorize/blocks.hpp"
#include "memorize/tasks.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

template <class T>
using Array = Eigen::Vector<T, Eigen::Dynamic>;

/// The network's numbers as T's.
template <class T>
struct Weights {
  explicit Weights(const Memorizer& network)
      : A_0(network.A_0.cast<T>()),
        U(network.U.cast<T>()),
        V(network.V.cast<T>()),
        U_out(network.U_out.cast<T>()),
        V_out(network.V_out.cast<T>()),
        b_0(network.b_0.cast<T>()),
        s(network.s.cast<T>()),
        s_out(network.s_out.cast<T>()) {}

  Index hidden() const { return A_0.rows(); }
  Rows<T> A_0, U, V, U_out, V_out;
  Array<T> b_0, s, s_out;
};

/// Points of a tile: their numbers fill half of a first-level cache, so that all blocks find them there.
template <class T>
Index tile_size(Index hidden) {
  constexpr Index kNumbers = 16384 / sizeof(T);
  return std::clamp(kNumbers / hidden / blocks::kPoints * blocks::kPoints, blocks::kPoints, Index{1024});
}

/// work(first, count) for tiles of points, several at a time.
template <class Work>
void each_tile(Index n, Index size, const char* stage, Progress& progress, const Work& work) {
  progress.stage(stage, static_cast<double>(n));
  in_batches((n + size - 1) / size, static_cast<double>(size), progress,
             [&](Index t) { work(t * size, std::min(size, n - t * size)); },
             [](Index, Index) { return true; });
}

/// h_0 of `count` points from `first` on, component by component, for `places` >= count of them; the places
/// that are left hold b_0.
template <class T>
void begin_tile(const Weights<T>& weights, const Eigen::Ref<const RowMatrix>& X, Index first, Index count,
                Index places, Rows<T>& h) {
  constexpr Index kPoints = blocks::kPoints;
  const Index d = X.cols(), k = weights.hidden();
  Rows<T> x(d, kPoints), z(k, kPoints);
  h.resize(k, places);
  for (Index at = 0; at < places; at += kPoints) {
    x.setZero();
    for (Index i = 0; i < std::min(kPoints, count - at); ++i)
      x.col(i) = X.row(first + at + i).transpose().template cast<T>();
    blocks::affine(weights.A_0.data(), weights.b_0.size() > 0 ? weights.b_0.data() : nullptr, k, d, x.data(),
                   kPoints, z.data());
    h.middleCols(at, kPoints) = z;
  }
}

Index padded(Index count) { return (count + blocks::kPoints - 1) / blocks::kPoints * blocks::kPoints; }

template <class T>
RowMatrix first_layer_of(const Memorizer& network, const RowMatrix& X, Progress& progress) {
  const Weights<T> weights(network);
  RowMatrix Z(X.rows(), network.hidden());
  each_tile(X.rows(), 4 * blocks::kPoints, "first layer", progress, [&](Index first, Index count) {
    Rows<T> h;
    begin_tile(weights, X, first, count, padded(count), h);
    Z.middleRows(first, count) = h.leftCols(count).transpose().template cast<double>();
  });
  return Z;
}

template <class T>
void outputs_of(const Memorizer& network, const Eigen::Ref<const RowMatrix>& X, Progress& progress,
                const UseOutputs& use) {
  const Weights<T> weights(network);
  const Index k = network.hidden(), r = network.outputs(), p = network.U_out.rows();
  const blocks::Layer<T> first{k, k, k, weights.U.data(), weights.s.data(), weights.V.data()};
  const blocks::Layer<T> last{p, k, r, weights.U_out.data(), weights.s_out.data(), weights.V_out.data()};
  each_tile(X.rows(), tile_size<T>(k), "forward pass", progress, [&](Index begin, Index count) {
    const Index places = padded(count);
    Rows<T> h, y(r, places);
    Array<T> scratch(std::max(k, p) * blocks::kPoints);
    begin_tile(weights, X, begin, count, places, h);
    blocks::residual(first, network.blocks(), places, h.data(), scratch.data());
    blocks::output(last, h.data(), places, y.data(), scratch.data());
    use(begin, y.leftCols(count).transpose().template cast<double>());
  });
}

}  // namespace

RowMatrix internal::first_layer(const Memorizer& network, const RowMatrix& X, Progress& progress) {
  return network.precision == "float32" ? first_layer_of<float>(network, X, progress)
                                        : first_layer_of<double>(network, X, progress);
}

void internal::each_output(const Memorizer& network, const Eigen::Ref<const RowMatrix>& X, Progress& progress,
                           const UseOutputs& use) {
  network.precision == "float32" ? outputs_of<float>(network, X, progress, use)
                                 : outputs_of<double>(network, X, progress, use);
}

Index Memorizer::parameters() const {
  return A_0.size() + b_0.size() + U.size() + V.size() + s.size() + U_out.size() + s_out.size() +
         V_out.size();
}

Matrix predict(const Memorizer& network, const Eigen::Ref<const RowMatrix>& X, const Progress& progress) {
  if (X.cols() != network.d())
    throw DataError(
        fmt::format("predict: points have {} features; the network was built for {}", X.cols(), network.d()));
  if (!X.allFinite()) throw DataError("predict: a feature is not finite");
  Matrix Y(X.rows(), network.outputs());
  Progress silent = progress.silent();
  each_output(network, X, silent, [&](Index first, const Eigen::Ref<const Matrix>& part) {
    Y.middleRows(first, part.rows()) = part;
  });
  return Y;
}

std::vector<Index> largest_outputs(const Matrix& outputs) {
  std::vector<Index> classes(static_cast<std::size_t>(outputs.rows()));
  for (Index i = 0; i < outputs.rows(); ++i) outputs.row(i).maxCoeff(&classes[static_cast<std::size_t>(i)]);
  return classes;
}

}  // namespace zeroloss
