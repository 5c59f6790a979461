#include "train/engine/small_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

namespace zeroloss::internal {
namespace {

Index up_to(Index count, Index multiple) { return (count + multiple - 1) / multiple; }

}  // namespace

template <class T>
SmallTrainer<T>::SmallTrainer(const RowMatrix& X, const Vector& y, const TwoLayer& start,
                              const Activation& activation, double step)
    : phi_(phi_of(activation)), blocks_(small::blocks<T>()) {
  small::Network<T>& s = network_;
  s.n = X.rows();
  s.d = X.cols();
  s.m = start.W.rows();
  const Index lanes = blocks_.lanes(), vectors = up_to(s.n, lanes);
  const Index rows = up_to(s.m, blocks_.neurons);
  const std::pair<T**, Index> parts[] = {{&s.X, vectors * s.d},
                                         {&s.y, vectors},
                                         {&s.inside, vectors},
                                         {&s.W, rows * up_to(s.d, blocks_.inputs)},
                                         {&s.pull, rows},
                                         {&s.v, up_to(s.m, lanes)},
                                         {&s.Z, vectors * s.m + small::kSlack},
                                         {&s.values, small::kMostVectors * s.m + small::kSlack},
                                         {&s.scaled, vectors * blocks_.neurons},
                                         {&s.r, vectors}};
  Index total = 0;
  for (const auto& part : parts) total += part.second;
  memory_ = hwy::AllocateAligned<T>(static_cast<std::size_t>(total * lanes));
  if (!memory_) throw std::bad_alloc();
  std::fill_n(memory_.get(), total * lanes, T{0});
  T* next = memory_.get();
  for (const auto& [place, size] : parts) {
    *place = next;
    next += size * lanes;
  }

  for (Index p = 0; p < s.n; ++p)
    for (Index i = 0; i < s.d; ++i) s.X[(p / lanes * s.d + i) * lanes + p % lanes] = static_cast<T>(X(p, i));
  for (Index p = 0; p < s.n; ++p) s.y[p] = static_cast<T>(y(p));
  std::memset(s.inside, 0xff, static_cast<std::size_t>(s.n) * sizeof(T));
  for (Index j = 0; j < s.m; ++j) {
    s.v[j] = static_cast<T>(start.v(j));
    T* pull = s.pull + j / blocks_.neurons * lanes + j % blocks_.neurons * blocks_.inputs;
    std::fill_n(pull, blocks_.inputs, -static_cast<T>(step) * s.v[j]);
  }
  place(start.W);
}

template <class T>
Index SmallTrainer<T>::place_of(Index j, Index i) const {
  const Index block = j / blocks_.neurons * up_to(network_.d, blocks_.inputs) + i / blocks_.inputs;
  return block * blocks_.lanes() + j % blocks_.neurons * blocks_.inputs + i % blocks_.inputs;
}

template <class T>
void SmallTrainer<T>::place(const RowMatrix& W) {
  for (Index j = 0; j < network_.m; ++j)
    for (Index i = 0; i < network_.d; ++i) network_.W[place_of(j, i)] = static_cast<T>(W(j, i));
  squares_ = small::forward(phi_, network_);
}

template <class T>
RowMatrix SmallTrainer<T>::weights() const {
  RowMatrix W(network_.m, network_.d);
  for (Index j = 0; j < W.rows(); ++j)
    for (Index i = 0; i < W.cols(); ++i) W(j, i) = network_.W[place_of(j, i)];
  return W;
}

template <class T>
Index SmallTrainer<T>::descend(Index most, double low, double high) {
  return small::descend(phi_, network_, most, low * low, high * high, squares_);
}

template <class T>
Vector SmallTrainer<T>::residual() const {
  return Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>(network_.r, network_.n)
      .template cast<double>();
}

template class SmallTrainer<double>;
template class SmallTrainer<float>;

}  // namespace zeroloss::internal
