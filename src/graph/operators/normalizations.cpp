#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/reduction.hpp"

// Normalisation by constants that were learnt, and by what the numbers of a sample are themselves.
namespace zeroloss::internal::graph {
namespace {

const Value& constant(const Call& call, std::size_t k, Index size) {
  const Value& value = call.numbers(k);
  if (value.varies || value.size() != size)
    call.refuse(fmt::format("its input {} is not a constant of {} numbers", k + 1, size));
  return value;
}

// (x - mean) scale/sqrt(variance + epsilon) + B, a number of each for a channel. A runtime may fold the
// factor and what is added into one of each.
std::vector<Value> batch_normalization(const Call& call) {
  const Value& x = call.numbers(0);
  if (x.shape.size() < 2 || x.shape[0] != 1) call.refuse("its input has no channels");
  // Before set 14 it trains where it has more outputs.
  const bool more = std::ranges::any_of(call.node.outputs.begin() + 1, call.node.outputs.end(),
                                        [](const std::string& name) { return !name.empty(); });
  if (call.node.integer("training_mode", 0) != 0 || more) call.refuse("normalisation as in training");
  if (call.node.integer("spatial", 1) != 1) call.refuse("spatial must be 1");
  const Index channels = x.shape[1], size = x.size() / channels;
  const double epsilon = call.node.number("epsilon", static_cast<double>(1e-5F));
  const Value &scale = constant(call, 1, channels), &B = constant(call, 2, channels),
              &mean = constant(call, 3, channels), &variance = constant(call, 4, channels);
  Value made = blank(x.type, x.shape, x.varies, x.h.rows());
  const Rounding r = call.rounding(made);
  double largest = 0;
  RowMatrix rounding(x.h.rows(), x.h.cols());  // of what is rounded here
  for (Index c = 0; c < channels; ++c) {
    const Ball below = add(variance.at(0, c), {epsilon, 0}, r);
    if (!(below.h - below.e > 0))
      call.refuse(fmt::format("the variance of channel {} and epsilon are not above 0", c));
    const Ball factor = divide(scale.at(0, c), root(below, r), r);
    const Ball shift = subtract(B.at(0, c), multiply(mean.at(0, c), factor, r), r);
    largest = std::max(largest, factor.size());
    for (Index i = 0; i < x.h.rows(); ++i)
      for (Index k = c * size; k < (c + 1) * size; ++k) {
        const Ball z = x.at(i, k);
        const auto by = [&](Ball number) { return add(multiply(number, factor, r), shift, r); };
        Ball ball = by(z);
        // Whoever subtracts the mean first, or folds into the weights before: differences of this size.
        if (!r.exact()) {
          const double parts = (z.size() + mean.at(0, c).size()) * factor.size() + B.at(0, c).size();
          ball = rounded(ball.h, ball.e, parts, r.of_sums(), 4 + static_cast<double>(x.terms));
        }
        made.h(i, k) = ball.h;
        made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
        rounding(i, k) = std::max(0.0, ball.e - factor.size() * z.e * kDown);
      }
  }
  Vector known(x.h.rows());
  for (Index i = 0; i < known.size(); ++i)
    known(i) =
        (largest * (x.exact() ? 0 : x.eps(i)) + length_above(rounding.row(i).data(), x.size())) * kUp + kTiny;
  made.terms = x.terms;
  settle(made, known);
  return {std::move(made)};
}

// (x - mean)/sqrt(variance + epsilon) of each group of a sample. `factors_most`: of each sample the largest
// factor 1/sqrt(..), rounded up.
Value standardized(const Value& x, const Reduction& groups, double epsilon, const Rounding& r,
                   Vector* factors_most = nullptr) {
  Value made = blank(x.type, x.shape, x.varies, x.h.rows());
  const auto each = static_cast<double>(groups.each);
  std::vector<Sum> sums, squares;
  std::vector<Ball> means, factors;
  for (Index i = 0; i < x.h.rows(); ++i) {
    const auto count = static_cast<std::size_t>(groups.count);
    const auto at = [&](Index k) {
      return static_cast<std::size_t>(groups.group[static_cast<std::size_t>(k)]);
    };
    sums.assign(count, Sum());
    squares.assign(count, Sum());
    means.resize(count);
    factors.resize(count);
    Vector size = Vector::Zero(groups.count), off = size;  // of the numbers of a group
    for (Index k = 0; k < x.size(); ++k) {
      sums[at(k)] += x.at(i, k);
      size(static_cast<Index>(at(k))) = std::max(size(static_cast<Index>(at(k))), x.at(i, k).size());
    }
    for (std::size_t g = 0; g < count; ++g) means[g] = mean_of(sums[g], each, r);
    for (Index k = 0; k < x.size(); ++k) {
      const Ball centered = subtract(x.at(i, k), means[at(k)], r);
      squares[at(k)] += multiply(centered, centered, r);
    }
    for (std::size_t g = 0; g < count; ++g) {
      Ball variance = mean_of(squares[g], each, r);
      // A runtime may take the mean of squares less the square of the mean.
      const double top = size(static_cast<Index>(g));
      if (!r.exact()) variance.e = (variance.e + (each + 6) * r.v * 2 * top * top) * kUp;
      if (!(each * top * top < r.largest)) variance.e = kInfinite;
      factors[g] = divide({1, 0}, root(add(variance, {epsilon, 0}, r), r), r);
      if (factors_most != nullptr) (*factors_most)(i) = std::max((*factors_most)(i), factors[g].size());
    }
    for (Index k = 0; k < x.size(); ++k) {
      Ball ball = multiply(subtract(x.at(i, k), means[at(k)], r), factors[at(k)], r);
      if (!r.exact())
        ball =
            rounded(ball.h, ball.e, (x.at(i, k).size() + means[at(k)].size()) * factors[at(k)].size(), r, 4);
      made.h(i, k) = ball.h;
      made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
    }
  }
  return made;  // not settled
}

// number(k) of scale and bias for each of `made`.
template <class Place>
void scale_and_shift(const Call& call, Value& made, const Value& scale, const Value* bias,
                     const Place& place) {
  const Rounding r = call.rounding(made);
  for (Index i = 0; i < made.h.rows(); ++i)
    for (Index k = 0; k < made.h.cols(); ++k) {
      Ball ball = multiply({made.h(i, k), made.e(i, k)}, scale.at(0, place(k)), r);
      if (bias != nullptr) ball = add(ball, bias->at(0, place(k)), r);
      if (!r.exact())
        ball = rounded(ball.h, ball.e, ball.size() + (bias == nullptr ? 0 : 2 * bias->at(0, place(k)).size()),
                       r, 2);
      made.h(i, k) = ball.h;
      made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
    }
}

// What the outputs of a sample are off by in the 2-norm, in real arithmetic. s = sqrt(variance + epsilon) of
// n numbers changes by ||dx||/sqrt(n) at most, and x/s has a derivative of norm 1/s at most; at the numbers h
// themselves there is rounding alone.
template <class Scale>
Vector normalized_lengths(const Value& x, const Reduction& groups, double epsilon, const Rounding& r,
                          const Scale& scale_it, double largest_scale) {
  Vector known = Vector::Constant(x.h.rows(), kInfinite);
  if (!r.exact() || x.exact()) return known;
  Vector most = Vector::Zero(x.h.rows());
  Value center = standardized(x.center(), groups, epsilon, r, &most);
  scale_it(center);
  for (Index i = 0; i < known.size(); ++i) {
    const double s = 1 / most(i) * kDown - x.eps(i) / std::sqrt(static_cast<double>(groups.each)) * kUp;
    if (s > 0 && center.e.row(i).allFinite())
      known(i) = (x.eps(i) * largest_scale / s + length_above(center.e.row(i).data(), x.size())) * kUp;
  }
  return known;
}

std::vector<Value> layer_normalization(const Call& call) {
  const Value& x = call.numbers(0);
  if (call.node.outputs.size() > 1 && !call.node.outputs[1].empty()) call.refuse("its mean is not read");
  const std::size_t rank = x.shape.size(), first = call.axis(call.node.integer("axis", -1), rank);
  std::set<std::size_t> axes;
  Index each = 1;
  for (std::size_t a = first; a < rank; ++a) axes.insert(a), each *= x.shape[a];
  // The standard says that means are taken in the type `stash_type`, float32 unless it is given.
  const std::int64_t stash = call.node.integer("stash_type", 1);
  const bool single = x.type == OnnxType::float64 && static_cast<OnnxType>(stash) != OnnxType::float64;
  if (single && stash != 1) call.refuse(fmt::format("its stash_type {} is not read", stash));
  const Rounding r = rounding_of(call.execution, single ? OnnxType::float32 : x.type);
  const Reduction groups(call, x, axes, true);
  const double epsilon = call.node.number("epsilon", static_cast<double>(1e-5F));
  const Value& scale = constant(call, 1, each);
  const auto scale_it = [&](Value& made) {
    scale_and_shift(call, made, scale, call.has(2) ? &constant(call, 2, each) : nullptr,
                    [each](Index k) { return k % each; });
  };
  Value made = standardized(x, groups, epsilon, r);
  scale_it(made);
  double largest = 0;
  for (Index k = 0; k < scale.size(); ++k) largest = std::max(largest, scale.at(0, k).size());
  settle(made, normalized_lengths(x, groups, epsilon, r, scale_it, largest));
  return {std::move(made)};
}

std::vector<Value> instance_normalization(const Call& call) {
  const Value& x = call.numbers(0);
  if (x.shape.size() < 3 || x.shape[0] != 1) call.refuse("its input has no channels with axes behind them");
  std::set<std::size_t> axes;
  for (std::size_t a = 2; a < x.shape.size(); ++a) axes.insert(a);
  const Index channels = x.shape[1], size = x.size() / channels;
  Value made = standardized(x, Reduction(call, x, axes, true),
                            call.node.number("epsilon", static_cast<double>(1e-5F)), call.rounding(x));
  scale_and_shift(call, made, constant(call, 1, channels), &constant(call, 2, channels),
                  [size](Index k) { return k / size; });
  settle(made);
  return {std::move(made)};
}

constexpr Operator kNormalizationsRows[] = {{"BatchNormalization", batch_normalization},
                                            {"InstanceNormalization", instance_normalization},
                                            {"LayerNormalization", layer_normalization}};

}  // namespace

const std::span<const Operator> kNormalizations = kNormalizationsRows;

}  // namespace zeroloss::internal::graph
