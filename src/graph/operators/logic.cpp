#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "graph/broadcast.hpp"

// Constants of truth and of whole numbers, as exporters compute shapes and masks of them; choices by these.
namespace zeroloss::internal::graph {
namespace {

constexpr std::int64_t kMostWhole = std::int64_t{1} << 28;  // numbers

Value whole(OnnxType type, Shape shape, std::vector<std::int64_t> integers) {
  Value made{.type = type, .shape = std::move(shape), .h = {}, .e = {}, .eps = {}};
  made.integers = std::move(integers);
  return made;
}

using Pair = std::int64_t (*)(std::int64_t, std::int64_t);

// f of two constants of whole numbers or truth values, which are spread to one shape.
Value of_two(const Call& call, OnnxType type, Pair f) {
  const auto &a = call.integers(0), &b = call.integers(1);
  const Shape shape = spread_shape(call, {&call.input(0), &call.input(1)});
  const auto first = spread_places(call.input(0).shape, shape),
             second = spread_places(call.input(1).shape, shape);
  std::vector<std::int64_t> made;
  for (std::size_t k = 0; k < first.size(); ++k)
    made.push_back(f(a[static_cast<std::size_t>(first[k])], b[static_cast<std::size_t>(second[k])]));
  return whole(type, shape, std::move(made));
}

// Numbers of an exact constant, of whatever type.
std::vector<long double> exact_numbers(const Call& call, std::size_t k) {
  const Value& x = call.input(k);
  if (is_integer(x.type)) {
    const auto& all = call.integers(k);
    return {all.begin(), all.end()};
  }
  if (x.varies || !is_real(x.type) || !x.exact())
    call.refuse(fmt::format("its input {} is no exact constant", k + 1));
  return {x.h.row(0).begin(), x.h.row(0).end()};
}

template <class Compare>
std::vector<Value> compared(const Call& call, const Compare& compare) {
  const auto a = exact_numbers(call, 0), b = exact_numbers(call, 1);
  const Shape shape = spread_shape(call, {&call.input(0), &call.input(1)});
  const auto first = spread_places(call.input(0).shape, shape),
             second = spread_places(call.input(1).shape, shape);
  std::vector<std::int64_t> made;
  for (std::size_t k = 0; k < first.size(); ++k)
    made.push_back(
        compare(a[static_cast<std::size_t>(first[k])], b[static_cast<std::size_t>(second[k])]) ? 1 : 0);
  return {whole(OnnxType::boolean, shape, std::move(made))};
}

std::vector<Value> is_equal(const Call& call) { return compared(call, std::equal_to<>()); }
std::vector<Value> is_less(const Call& call) { return compared(call, std::less<>()); }
std::vector<Value> conjunction(const Call& call) {
  return {of_two(call, OnnxType::boolean,
                 [](std::int64_t a, std::int64_t b) -> std::int64_t { return a != 0 && b != 0; })};
}
std::vector<Value> disjunction(const Call& call) {
  return {of_two(call, OnnxType::boolean,
                 [](std::int64_t a, std::int64_t b) -> std::int64_t { return a != 0 || b != 0; })};
}
std::vector<Value> negation(const Call& call) {
  std::vector<std::int64_t> made;
  for (const std::int64_t a : call.integers(0)) made.push_back(a == 0);
  return {whole(OnnxType::boolean, call.input(0).shape, std::move(made))};
}

// The rest has the sign of the divisor.
std::vector<Value> modulo(const Call& call) {
  if (call.node.integer("fmod", 0) != 0) call.refuse("its fmod is not 0");
  for (const std::int64_t b : call.integers(1))
    if (b == 0 || b == -1) call.refuse(fmt::format("a rest of a division by {}", b));
  return {of_two(call, call.input(0).type, [](std::int64_t a, std::int64_t b) -> std::int64_t {
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  })};
}

std::vector<Value> range(const Call& call) {
  std::array<std::int64_t, 3> ends{};
  for (std::size_t k = 0; k < 3; ++k) {
    if (call.integers(k).size() != 1) call.refuse("its ends are no numbers");
    ends[k] = call.integers(k).front();
    if (ends[k] > kMostWhole || ends[k] < -kMostWhole)
      call.refuse(fmt::format("its end {} is too large", ends[k]));
  }
  const auto [start, limit, step] = ends;
  if (step == 0) call.refuse("a step of 0");
  require_room({std::max<Index>(1, (limit - start) / step + 1)}, 1);
  std::vector<std::int64_t> made;
  for (std::int64_t k = start; step > 0 ? k < limit : k > limit; k += step) made.push_back(k);
  const auto count = std::ssize(made);
  return {whole(call.input(0).type, {count}, std::move(made))};
}

// What numbers of these values, each as often as it is spread, are off by together.
Vector together_off(const std::vector<const Value*>& values, const Value& made) {
  Vector known = Vector::Zero(made.h.rows());
  for (const Value* x : values)
    for (Index i = 0; i < known.size(); ++i) known(i) = (known(i) + spread_off(*x, made, i)) * kUp;
  return known;
}

// Of the first where a constant is true, of the second elsewhere.
std::vector<Value> where(const Call& call) {
  const auto& condition = call.integers(0);
  const Value &a = call.input(1), &b = call.input(2);
  if (a.type != b.type) call.refuse(fmt::format("it mixes {} and {}", name_of(a.type), name_of(b.type)));
  const Shape shape = spread_shape(call, {&call.input(0), &a, &b});
  const auto which = spread_places(call.input(0).shape, shape), of_a = spread_places(a.shape, shape),
             of_b = spread_places(b.shape, shape);
  const auto first = [&](std::size_t k) { return condition[static_cast<std::size_t>(which[k])] != 0; };
  if (!is_real(a.type)) {
    const auto &x = call.integers(1), &y = call.integers(2);
    std::vector<std::int64_t> made;
    for (std::size_t k = 0; k < which.size(); ++k)
      made.push_back(first(k) ? x[static_cast<std::size_t>(of_a[k])] : y[static_cast<std::size_t>(of_b[k])]);
    return {whole(a.type, shape, std::move(made))};
  }
  call.numbers(1), call.numbers(2);
  Value made = blank(a.type, shape, a.varies || b.varies, std::max(a.h.rows(), b.h.rows()));
  for (Index i = 0; i < made.h.rows(); ++i)
    for (std::size_t k = 0; k < which.size(); ++k) {
      const Value& x = first(k) ? a : b;
      const Ball ball = x.at(x.varies ? i : 0, first(k) ? of_a[k] : of_b[k]);
      made.h(i, static_cast<Index>(k)) = ball.h;
      made.e(i, static_cast<Index>(k)) = ball.e;
    }
  made.terms = std::max(a.terms, b.terms);
  settle(made, together_off({&a, &b}, made));
  return {std::move(made)};
}

// The first, but at the places that rows of indices name what `updates` has for them.
std::vector<Value> scatter_nd(const Call& call) {
  const Value &data = call.input(0), &updates = call.input(2);
  const auto& indices = call.integers(1);
  const Shape& rows = call.input(1).shape;
  if (const auto* reduction = call.node.find<std::string>("reduction");
      reduction != nullptr && *reduction != "none")
    call.refuse(fmt::format("its reduction '{}' is not read", *reduction));
  if (rows.empty() || rows.back() < 1 || rows.back() > std::ssize(data.shape))
    call.refuse("its indices name more axes than there are");
  const auto named = static_cast<std::size_t>(rows.back());
  Index behind = 1;
  for (std::size_t a = named; a < data.shape.size(); ++a) behind *= data.shape[a];
  if (updates.type != data.type || updates.size() != std::ssize(indices) / rows.back() * behind)
    call.refuse("what it puts there is of another type or size");
  std::vector<Index> to;  // the place of each number that is put
  for (std::size_t row = 0; row < indices.size(); row += named) {
    Index place = 0;
    for (std::size_t a = 0; a < named; ++a) {
      const std::int64_t k = indices[row + a], size = data.shape[a], at = k < 0 ? k + size : k;
      if (at < 0 || at >= size) call.refuse(fmt::format("its index {} is none of {}", k, size));
      place = place * size + at;
    }
    for (Index b = 0; b < behind; ++b) to.push_back(place * behind + b);
  }
  if (std::set<Index>(to.begin(), to.end()).size() < to.size())
    call.refuse("it puts two numbers at one place");
  if (!is_real(data.type)) {
    std::vector<std::int64_t> made = call.integers(0);
    for (std::size_t k = 0; k < to.size(); ++k) made[static_cast<std::size_t>(to[k])] = call.integers(2)[k];
    return {whole(data.type, data.shape, std::move(made))};
  }
  call.numbers(0), call.numbers(2);
  const bool varies = data.varies || updates.varies;
  Value made = blank(data.type, data.shape, varies, std::max(data.h.rows(), updates.h.rows()));
  for (Index i = 0; i < made.h.rows(); ++i) {
    const auto put = [&](Index place, const Value& x, Index k) {
      const Ball ball = x.at(x.varies ? i : 0, k);
      made.h(i, place) = ball.h;
      made.e(i, place) = ball.e;
    };
    for (Index k = 0; k < data.size(); ++k) put(k, data, k);
    for (std::size_t k = 0; k < to.size(); ++k) put(to[k], updates, static_cast<Index>(k));
  }
  made.terms = std::max(data.terms, updates.terms);
  settle(made, together_off({&data, &updates}, made));
  return {std::move(made)};
}

constexpr Operator kLogicRows[] = {{"And", conjunction}, {"Equal", is_equal},       {"Less", is_less},
                                   {"Mod", modulo},      {"Not", negation},         {"Or", disjunction},
                                   {"Range", range},     {"ScatterND", scatter_nd}, {"Where", where}};

}  // namespace

const std::span<const Operator> kLogic = kLogicRows;

}  // namespace zeroloss::internal::graph
