#include <algorithm>
#include <cmath>
#include <set>

#include "graph/reduction.hpp"

// Sums, means and largest numbers along axes, and softmax.
namespace zeroloss::internal::graph {

Reduction::Reduction(const Call& call, const Value& x, const std::set<std::size_t>& axes, bool keep) {
  const std::size_t rank = x.shape.size();
  for (std::size_t a = 0; a < rank; ++a) {
    if (axes.contains(a)) {
      if (keep) shape.push_back(1);
      each *= x.shape[a];
    } else {
      shape.push_back(x.shape[a]);
      count *= x.shape[a];
    }
  }
  if (each == 0) call.refuse("it takes nothing together");
  group.resize(static_cast<std::size_t>(x.size()));
  for (std::size_t k = 0; k < group.size(); ++k) {
    auto rest = static_cast<Index>(k);
    Index place = 0, step = 1;
    for (std::size_t a = rank; a-- > 0;) {
      const Index at = rest % x.shape[a];
      rest /= x.shape[a];
      if (axes.contains(a)) continue;
      place += at * step;
      step *= x.shape[a];
    }
    group[k] = place;
  }
}

Ball mean_of(const Sum& sum, double count, const Rounding& r) {
  const Ball mean = divide(sum.result(r), {count, 0}, r);
  return r.exact() ? mean : rounded(mean.h, mean.e, sum.size() / count, r, 2);
}

Reduction reduction_of(const Call& call, const Value& x) {
  const bool input = call.version >= (call.node.op == "ReduceSum" ? 13 : 18);
  if (input ? call.node.attributes.contains("axes") : call.has(1))
    call.refuse("its axes are given as in another operator set");
  const auto list =
      input ? (call.has(1) ? call.integers(1) : std::vector<std::int64_t>{}) : call.listed("axes", 99);
  std::set<std::size_t> axes;
  for (const std::int64_t axis : list) axes.insert(call.axis(axis, x.shape.size()));
  if (list.empty() && call.node.integer("noop_with_empty_axes", 0) == 0)
    for (std::size_t a = 0; a < x.shape.size(); ++a) axes.insert(a);
  return {call, x, axes, call.node.integer("keepdims", 1) != 0};
}

namespace {

// Lengths are roots of sums of squares.
template <bool mean, bool squares, bool length = false>
std::vector<Value> reduced_sum(const Call& call) {
  const Value& x = call.numbers(0);
  const Reduction to = reduction_of(call, x);
  if (squares && to.count == x.size() && call.node.integer("noop_with_empty_axes", 0) != 0)
    call.refuse("without axes: runtimes differ in whether it squares");
  Value made = blank(x.type, to.shape, x.varies, x.h.rows());
  const Rounding r = call.rounding(made);
  std::vector<Sum> sums;
  // Of k numbers that are off by e together, their sum is off by sqrt(k) e at most, and so are sums side by
  // side.
  const double off_by =
      (mean ? 1 / std::sqrt(static_cast<double>(to.each)) : std::sqrt(static_cast<double>(to.each)));
  Vector known(x.h.rows()), here(to.count), came(to.count);
  std::vector<Sum> centers;  // of lengths, of the numbers h alone
  for (Index i = 0; i < x.h.rows(); ++i) {
    sums.assign(static_cast<std::size_t>(to.count), Sum());
    centers.assign(length ? sums.size() : 0, Sum());
    came.setZero();
    for (Index k = 0; k < x.size(); ++k) {
      const Ball one = x.at(i, k);
      sums[static_cast<std::size_t>(to.group[static_cast<std::size_t>(k)])] +=
          squares ? multiply(one, one, r) : one;
      if (length)
        centers[static_cast<std::size_t>(to.group[static_cast<std::size_t>(k)])] +=
            multiply({one.h, 0}, {one.h, 0}, r);
      came(to.group[static_cast<std::size_t>(k)]) += one.e;
    }
    for (Index k = 0; k < to.count; ++k) {
      const Sum& all = sums[static_cast<std::size_t>(k)];
      const Ball whole = mean ? mean_of(all, static_cast<double>(to.each), r) : all.result(r);
      const Ball ball = length ? root(whole, r) : whole;
      made.h(i, k) = ball.h;
      made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
      const double of_came = came(k) * kDown * (mean ? 1 / static_cast<double>(to.each) : 1);
      here(k) = std::max(0.0, made.e(i, k) - of_came * kDown);
    }
    if (length && r.exact()) {  // a length changes by that of what is added at most
      for (Index k = 0; k < to.count; ++k) {
        const Ball ball = root(centers[static_cast<std::size_t>(k)].result(r), r);
        here(k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
      }
      known(i) = here.allFinite() ? ((x.exact() ? 0 : x.eps(i)) + length_above(here.data(), to.count)) * kUp
                                  : kInfinite;
      continue;
    }
    known(i) = squares || !here.allFinite()
                   ? kInfinite
                   : (off_by * (x.exact() ? 0 : x.eps(i)) + length_above(here.data(), to.count)) * kUp;
  }
  settle(made, known);
  return {std::move(made)};
}

template <bool smallest>
std::vector<Value> reduced_extreme(const Call& call) {
  const Value& x = call.numbers(0);
  const Reduction to = reduction_of(call, x);
  Value made = blank(x.type, to.shape, x.varies, x.h.rows());
  const double sign = smallest ? -1 : 1;
  made.h.setConstant(-kInfinite);
  for (Index i = 0; i < x.h.rows(); ++i) {
    for (Index k = 0; k < x.size(); ++k) {
      const Ball one = x.at(i, k);
      const Index at = to.group[static_cast<std::size_t>(k)];
      made.h(i, at) = std::max(made.h(i, at), sign * one.h);
      made.e(i, at) = one.h - one.h == 0 ? std::max(made.e(i, at), one.e) : kInfinite;
    }
    made.h.row(i) *= sign;
  }
  settle(made, x.eps);
  return {std::move(made)};
}

// exp(x - max) and its sum, along axes; what may be subtracted is any number.
template <bool logarithm>
Value softmax_of(const Call& call, const Value& x) {
  const bool old = call.version < 13;
  const std::size_t rank = x.shape.size(), axis = call.axis(call.node.integer("axis", old ? 1 : -1), rank);
  std::set<std::size_t> axes{axis};
  if (old)
    for (std::size_t a = axis; a < rank; ++a) axes.insert(a);
  const Reduction to(call, x, axes, true);
  Value made = blank(x.type, x.shape, x.varies, x.h.rows());
  const Rounding r = call.rounding(made);
  std::vector<double> top;
  std::vector<Sum> sums;
  for (Index i = 0; i < x.h.rows(); ++i) {
    top.assign(static_cast<std::size_t>(to.count), -kInfinite);
    sums.assign(static_cast<std::size_t>(to.count), Sum());
    const auto at = [&](Index k) { return static_cast<std::size_t>(to.group[static_cast<std::size_t>(k)]); };
    for (Index k = 0; k < x.size(); ++k) top[at(k)] = std::max(top[at(k)], x.h(i, k));
    // Where every x is off by at most e, exp(x - top) is off by its own exp(2 e) - 1: the top moves too.
    const auto part = [&](Index k) -> Ball {
      if (is_masked(x.at(i, k)) && top[at(k)] > -kInfinite) return {0, 0};
      const Ball moved = subtract(x.at(i, k), {top[at(k)], 0}, r);
      constexpr double kVanished = -746;  // below it exp is less than half of the least double
      if (moved.h + moved.e < kVanished) return rounded(0, kTiny, kTiny, r, 16);
      const double h = std::exp(moved.h), off = std::expm1(moved.e) * (1 + 16 * u);
      // h may have vanished, where what it stands for has not.
      return rounded(h, (h + kTiny) * off * kUp + 4 * u * h, (h + kTiny) * (1 + off), r, 16);
    };
    for (Index k = 0; k < x.size(); ++k) sums[at(k)] += part(k);
    for (Index k = 0; k < x.size(); ++k) {
      const Ball total = sums[at(k)].result(r);
      Ball ball;
      if (logarithm) {  // x - top - log(sum), the sum at least nearly 1
        const double h = std::log(total.h), room = (total.h - total.e) * kDown;
        const Ball log =
            room > 0 ? rounded(h, (total.e / room + 4 * u * (1 + std::abs(h))) * kUp, 1 + std::abs(h), r, 16)
                     : Ball{h, kInfinite};
        ball = subtract(subtract(x.at(i, k), {top[at(k)], 0}, r), log, r);
      } else {
        ball = divide(part(k), total, r);
      }
      made.h(i, k) = ball.h;
      made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
    }
  }
  return made;  // not settled
}

// Its derivative, the covariance of a unit vector that is drawn, has norm 1/2 at most: v^T J v is the
// variance of v_k, which is (max v - min v)^2/4 or less.
template <bool logarithm>
std::vector<Value> softmax(const Call& call) {
  const Value& x = call.numbers(0);
  Value made = softmax_of<logarithm>(call, x);
  Vector known;
  if (!logarithm && !x.exact() && call.rounding(made).exact()) {
    const Value center = softmax_of<logarithm>(call, x.center());
    known.resize(x.h.rows());
    for (Index i = 0; i < known.size(); ++i)
      known(i) = center.e.row(i).allFinite()
                     ? (x.eps(i) / 2 + length_above(center.e.row(i).data(), x.size())) * kUp
                     : kInfinite;
  }
  settle(made, known);
  return {std::move(made)};
}

constexpr Operator kReductionsRows[] = {{"LogSoftmax", softmax<true>},
                                        {"ReduceL2", reduced_sum<false, true, true>},
                                        {"ReduceMax", reduced_extreme<false>},
                                        {"ReduceMean", reduced_sum<true, false>},
                                        {"ReduceMin", reduced_extreme<true>},
                                        {"ReduceSum", reduced_sum<false, false>},
                                        {"ReduceSumSquare", reduced_sum<false, true>},
                                        {"Softmax", softmax<false>}};

}  // namespace

const std::span<const Operator> kReductions = kReductionsRows;

}  // namespace zeroloss::internal::graph
