#include "train/deep/engine.hpp"

#include <algorithm>

#include "kernel/activations/list.hpp"
#include "linalg/parallel.hpp"
#include "train/engine/passes.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

template <class T>
using NumbersOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

// A B^T, B by rows.
template <class T, class Part>
NumbersOf<T> times_transposed(const NumbersOf<T>& A, const Part& B) {
  NumbersOf<T> C(A.rows(), B.rows());
  parallel::gemm('N', 'N', A.rows(), B.rows(), B.cols(), T(1), A.data(), A.rows(), B.data(), B.cols(), T(0),
                 C.data(), C.rows());
  return C;
}

// A B, B by rows.
template <class T, class Part>
NumbersOf<T> times_rows(const NumbersOf<T>& A, const Part& B) {
  NumbersOf<T> C(A.rows(), B.cols());
  parallel::gemm('N', 'T', A.rows(), B.cols(), B.rows(), T(1), A.data(), A.rows(), B.data(), B.cols(), T(0),
                 C.data(), C.rows());
  return C;
}

// A^T B to `rows`, by rows.
template <class T>
void product_to(const NumbersOf<T>& A, const NumbersOf<T>& B, T* rows) {
  parallel::gemm('T', 'N', B.cols(), A.cols(), A.rows(), T(1), B.data(), B.rows(), A.data(), A.rows(), T(0),
                 rows, B.cols());
}

// phi or phi' of every number, a column a thread.
template <class T>
void map_to(const Layer& layer, bool derivative, NumbersOf<T>& values) {
  if (layer.activation == "identity") {
    if (derivative) values.setOnes();
    return;
  }
  const Phi phi = phi_of(activation(layer.activation));
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < values.cols(); ++j) passes::map(phi, derivative, values.col(j).data(), values.rows());
}

template <class T>
Vector squared_rows(const NumbersOf<T>& A) {
  return A.rowwise().squaredNorm().template cast<double>();
}

}  // namespace

template <class T>
DeepEngine<T>::DeepEngine(const DeepNetwork& network, const RowMatrix& X, Moving moving)
    : network_(network), moving_(std::move(moving)), h0_(inputs(network, X).cast<T>()) {
  Index count = 0;
  const auto next = [&](Index rows, Index columns) {
    const Place place{count, rows, columns};
    count += place.size();
    return place;
  };
  for (const Layer& layer : network.layers)
    places_.push_back({next(layer.W.rows(), layer.W.cols()), next(layer.b.size(), 1),
                       next(layer.U.rows(), layer.U.cols()), next(layer.bU.size(), 1)});
  V_ = next(network.V.rows(), network.V.cols());
  c_ = next(network.c.size(), 1);
  weights.resize(count);
  const auto fill = [&](const Place& place, const auto& numbers) {
    Eigen::Map<Rows<T>>(weights.data() + place.at, place.rows, place.columns) = numbers.template cast<T>();
  };
  for (std::size_t l = 0; l < places_.size(); ++l) {
    const Layer& layer = network.layers[l];
    fill(places_[l].W, layer.W), fill(places_[l].b, layer.b);
    fill(places_[l].U, layer.U), fill(places_[l].bU, layer.bU);
  }
  fill(V_, network.V), fill(c_, network.c);
}

template <class T>
DeepNetwork DeepEngine<T>::network() const {
  DeepNetwork result = network_;
  const auto take = [&](const Place& place, auto& numbers) {
    numbers = part(weights, place).template cast<double>();
  };
  for (std::size_t l = 0; l < places_.size(); ++l) {
    Layer& layer = result.layers[l];
    take(places_[l].W, layer.W), take(places_[l].b, layer.b);
    take(places_[l].U, layer.U), take(places_[l].bU, layer.bU);
  }
  take(V_, result.V), take(c_, result.c);
  return result;
}

template <class T>
auto DeepEngine<T>::forward() -> const Numbers& {
  seen_ = h0_;
  return pass();
}

template <class T>
auto DeepEngine<T>::forward(const std::vector<Index>& rows) -> const Numbers& {
  seen_ = h0_(rows, Eigen::all);
  return pass();
}

template <class T>
auto DeepEngine<T>::pass() -> const Numbers& {
  const Threads threads(static_cast<double>(seen_.rows()) * static_cast<double>(weights.size()));
  values_.resize(places_.size());
  const auto affine = [&](const Numbers& h, const Place& W, const Place& b) {
    Numbers z = times_transposed<T>(h, part(weights, W));
    if (b.size() > 0) z.rowwise() += part(weights, b).col(0).transpose();
    return z;
  };
  for (std::size_t l = 0; l < places_.size(); ++l) {
    const Layer& layer = network_.layers[l];
    const auto scale = static_cast<T>(layer.scale);
    const Numbers& h = input(l);
    Values& now = values_[l];
    now.z = affine(h, places_[l].W, places_[l].b);
    now.a = now.z;
    map_to<T>(layer, false, now.a);
    if (!layer.residual)
      now.h = scale * now.a;
    else if (places_[l].U.size() > 0)
      now.h = h + scale * affine(now.a, places_[l].U, places_[l].bU);
    else
      now.h = h + scale * now.a;
  }
  f_ = affine(input(places_.size()), V_, c_);
  return f_;
}

template <class T>
template <class Visit>
void DeepEngine<T>::sweep(const Numbers& R, const Visit& visit) const {
  Numbers u = times_rows<T>(R, part(weights, V_));
  const std::size_t first = first_moving(moving_);
  for (std::size_t l = places_.size(); l-- > first;) {
    const Layer& layer = network_.layers[l];
    Numbers g = values_[l].z;
    map_to<T>(layer, true, g);
    const auto scale = static_cast<T>(layer.scale);
    if (places_[l].U.size() > 0)
      g.array() *= scale * times_rows<T>(u, part(weights, places_[l].U)).array();
    else
      g.array() *= scale * u.array();
    visit(l, u, g);
    if (l == first) return;
    Numbers below = times_rows<T>(g, part(weights, places_[l].W));
    if (layer.residual) below += u;
    u = std::move(below);
  }
}

template <class T>
auto DeepEngine<T>::gradient(const Numbers& R) const -> Flat {
  const Threads threads(static_cast<double>(seen_.rows()) * static_cast<double>(weights.size()));
  Flat all = Flat::Zero(weights.size());
  const auto sums = [&](const Numbers& g, const Place& place) {
    if (place.size() > 0) all.segment(place.at, place.size()) = g.colwise().sum().transpose();
  };
  sweep(R, [&](std::size_t l, const Numbers& u, const Numbers& g) {
    if (!moving_[l]) return;
    product_to<T>(g, input(l), all.data() + places_[l].W.at);
    sums(g, places_[l].b);
    if (places_[l].U.size() == 0) return;
    const Numbers scaled = static_cast<T>(network_.layers[l].scale) * u;
    product_to<T>(scaled, values_[l].a, all.data() + places_[l].U.at);
    sums(scaled, places_[l].bU);
  });
  if (!moving_.back()) return all;
  product_to<T>(R, input(places_.size()), all.data() + V_.at);
  sums(R, c_);
  return all;
}

template <class T>
auto DeepEngine<T>::derivative(const Flat& direction) const -> Numbers {
  const Threads threads(static_cast<double>(seen_.rows()) * static_cast<double>(weights.size()));
  Numbers dh = Numbers::Zero(seen_.rows(), seen_.cols());
  const auto affine = [&](const Numbers& h, const Numbers& moved, const Place& W, const Place& b) {
    Numbers z = times_transposed<T>(moved, part(weights, W)) + times_transposed<T>(h, part(direction, W));
    if (b.size() > 0) z.rowwise() += part(direction, b).col(0).transpose();
    return z;
  };
  for (std::size_t l = 0; l < places_.size(); ++l) {
    const Layer& layer = network_.layers[l];
    Numbers da = values_[l].z;
    map_to<T>(layer, true, da);
    da.array() *= affine(input(l), dh, places_[l].W, places_[l].b).array();
    if (places_[l].U.size() > 0) da = affine(values_[l].a, da, places_[l].U, places_[l].bU);
    da *= static_cast<T>(layer.scale);
    if (layer.residual)
      dh += da;
    else
      dh = std::move(da);
  }
  return affine(input(places_.size()), dh, V_, c_);
}

template <class T>
Vector DeepEngine<T>::row_squares() const {
  Vector squares = Vector::Zero(seen_.rows());
  for (Index k = 0; k < outputs(); ++k) {
    Numbers R = Numbers::Zero(seen_.rows(), outputs());
    R.col(k).setOnes();
    sweep(R, [&](std::size_t l, const Numbers& u, const Numbers& g) {
      if (!moving_[l]) return;
      const double bias = places_[l].b.size() > 0 ? 1 : 0;
      squares.array() += squared_rows<T>(g).array() * (squared_rows<T>(input(l)).array() + bias);
      if (places_[l].U.size() == 0) return;
      const double s = network_.layers[l].scale, second = places_[l].bU.size() > 0 ? 1 : 0;
      squares.array() +=
          s * s * squared_rows<T>(u).array() * (squared_rows<T>(values_[l].a).array() + second);
    });
    if (moving_.back())
      squares.array() += squared_rows<T>(input(places_.size())).array() + (c_.size() > 0 ? 1.0 : 0.0);
  }
  return squares;
}

template <class T>
std::vector<bool> DeepEngine<T>::signs() const {
  std::vector<bool> all;
  for (const Values& layer : values_)
    for (Index i = 0; i < layer.z.size(); ++i) all.push_back(layer.z.data()[i] >= 0);
  return all;
}

template class DeepEngine<double>;
template class DeepEngine<float>;

}  // namespace zeroloss::internal
