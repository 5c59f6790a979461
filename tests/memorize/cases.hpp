#pragma once
#include <cmath>
#include <string>

#include "memorize/blocks.hpp"
#include "support/bounds.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/memorize/memorizer.hpp"

/// Data to memorise, and the network as its formula says, number by number.
namespace zeroloss::test {
using namespace internal;

inline RowMatrix normal_points(Index n, Index d, std::uint64_t seed = 1) {
  Random random(seed, Stream::points);
  RowMatrix X(n, d);
  for (double& x : X.reshaped<Eigen::RowMajor>()) x = random.normal();
  return X;
}

/// What rounding may do to what a block leaves of a point, where no neuron wakes that should be silent: with
/// L the longest image, an activation is a sum of k terms of at most L^2 in all; V, its solve and its product
/// with them take k + 2 roundings each of ||V|| sqrt(k) L^2.
inline double hidden_error(const Memorizer& network) {
  const Index k = network.hidden();
  const auto terms = static_cast<double>(k);
  double V = 0;
  for (Index block = 0; block < network.blocks(); ++block)
    V = std::max(V, network.V.middleRows(block * k, k).norm());
  const double unit = network.precision == "float32" ? 0x1p-24 : kUnit;
  return 5 * gamma_of(terms + 2, unit) * V * std::sqrt(terms) * network.U.rowwise().squaredNorm().maxCoeff();
}

/// And to outputs: that, and k + 2 roundings of a code, which is no longer than an image.
inline double output_error(const Memorizer& network) {
  const double unit = network.precision == "float32" ? 0x1p-24 : kUnit;
  const double longest = network.U.rowwise().norm().maxCoeff();
  const double code = 3 * gamma_of(static_cast<double>(network.hidden()) + 2, unit) * longest;
  return network.V_out.cwiseAbs().maxCoeff() * network.U_out.rowwise().norm().maxCoeff() *
         (hidden_error(network) + code);
}

/// Points with random labels of r classes.
inline Dataset labelled(const RowMatrix& X, Index r, std::uint64_t seed = 1) {
  Dataset data;
  data.X = X;
  data.y.resize(X.rows());
  data.task = Task::classification;
  data.name = "points";
  Random random(seed, Stream::labels);
  for (double& y : data.y) y = static_cast<double>(random.below(static_cast<std::uint64_t>(r)));
  for (Index c = 0; c < r; ++c) data.class_names.push_back("c" + std::to_string(c));
  return data;
}

inline Matrix normal_targets(Index n, Index r, std::uint64_t seed = 1) {
  Matrix Y(n, r);
  Random(seed, Stream::targets).fill_normal(Y);
  return Y;
}

template <class T>
T multiply_add(T a, T b, T c, bool fused) {
  if (fused) return std::fma(a, b, c);
  const volatile T product = a * b;  // volatile: no compiler may fuse it
  return product + c;
}

/// <u, x> over panels, as blocks.hpp says.
template <class T>
T inner_product(const T* u, const T* x, Index count, Index stride, bool fused) {
  T total = 0;
  for (Index begin = 0; begin < count; begin += blocks::kPanel) {
    T sum = 0;
    for (Index j = begin; j < std::min(count, begin + blocks::kPanel); ++j)
      sum = multiply_add(u[j], x[j * stride], sum, fused);
    total += sum;
  }
  return total;
}

/// y <- y + V relu(U h + s)
template <class T>
void add_layer(const Rows<T>& U, const Eigen::Vector<T, Eigen::Dynamic>& s, const Rows<T>& V,
               const Eigen::Vector<T, Eigen::Dynamic>& h, Eigen::Vector<T, Eigen::Dynamic>& y, bool fused) {
  Eigen::Vector<T, Eigen::Dynamic> r(U.rows());
  for (Index a = 0; a < U.rows(); ++a)
    r(a) = std::max(T{0}, inner_product<T>(U.row(a).data(), h.data(), h.size(), 1, fused) + s(a));
  for (Index o = 0; o < V.rows(); ++o)
    for (Index a = 0; a < U.rows(); ++a) y(o) = multiply_add(V(o, a), r(a), y(o), fused);
}

/// h after `blocks` blocks for one point.
template <class T>
Eigen::Vector<T, Eigen::Dynamic> hidden(const Memorizer& network, const RowMatrix& X, Index point,
                                        Index blocks, bool fused = true) {
  using V = Eigen::Vector<T, Eigen::Dynamic>;
  const Index k = network.hidden();
  const Rows<T> A_0 = network.A_0.cast<T>();
  const V x = X.row(point).transpose().cast<T>();
  V h(k);
  for (Index a = 0; a < k; ++a)
    h(a) = inner_product<T>(A_0.row(a).data(), x.data(), x.size(), 1, fused) +
           (network.b_0.size() > 0 ? static_cast<T>(network.b_0(a)) : T{0});
  for (Index j = 0; j < blocks; ++j) {
    const V before = h;
    add_layer<T>(network.U.middleRows(j * k, k).cast<T>(), network.s.segment(j * k, k).cast<T>(),
                 network.V.middleRows(j * k, k).cast<T>(), before, h, fused);
  }
  return h;
}

/// Outputs n x r.
template <class T>
Matrix reference_outputs(const Memorizer& network, const RowMatrix& X, bool fused = true) {
  using V = Eigen::Vector<T, Eigen::Dynamic>;
  Matrix Y(X.rows(), network.outputs());
  for (Index i = 0; i < X.rows(); ++i) {
    V y = V::Zero(network.outputs());
    add_layer<T>(network.U_out.cast<T>(), network.s_out.cast<T>(), network.V_out.cast<T>(),
                 hidden<T>(network, X, i, network.blocks(), fused), y, fused);
    Y.row(i) = y.transpose().template cast<double>();
  }
  return Y;
}

inline Matrix reference_outputs(const Memorizer& network, const RowMatrix& X, bool fused = true) {
  return network.precision == "float32" ? reference_outputs<float>(network, X, fused)
                                        : reference_outputs<double>(network, X, fused);
}

}  // namespace zeroloss::test
