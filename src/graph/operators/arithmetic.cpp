#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "graph/broadcast.hpp"

// Number by number: sums, products, quotients, roots, powers, the larger and the smaller of two.
namespace zeroloss::internal::graph {
namespace {

using Balls = std::vector<Ball>;

// Of constants: those of shapes.
std::vector<Value> of_integers(const Call& call, std::int64_t (*f)(const Call&, std::int64_t, std::int64_t)) {
  const std::vector<const Value*> inputs{&call.input(0), &call.input(1)};
  const auto &a = call.integers(0), &b = call.integers(1);
  Value made{.type = inputs[0]->type, .shape = spread_shape(call, inputs), .h = {}, .e = {}, .eps = {}};
  if (inputs[1]->type != made.type || (made.type != OnnxType::int64 && made.type != OnnxType::int32))
    call.refuse("it computes with integers that are not read");
  const auto first = spread_places(inputs[0]->shape, made.shape),
             second = spread_places(inputs[1]->shape, made.shape);
  for (std::size_t k = 0; k < first.size(); ++k) {
    const std::int64_t value =
        f(call, a[static_cast<std::size_t>(first[k])], b[static_cast<std::size_t>(second[k])]);
    if (made.type == OnnxType::int32 && value != static_cast<std::int32_t>(value))
      call.refuse("its integers overflow");
    made.integers.push_back(value);
  }
  return {std::move(made)};
}

std::vector<Value> settled(Value value, const Vector& known = {}) {
  settle(value, known);
  return {std::move(value)};
}

std::vector<const Value*> real_inputs(const Call& call, std::size_t least) {
  std::vector<const Value*> inputs;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) inputs.push_back(&call.numbers(k));
  if (inputs.size() < least) call.refuse(fmt::format("it takes {} inputs", least));
  return inputs;
}

bool constants(const Call& call) {
  return call.inputs.size() == 2 && call.has(0) && call.has(1) && is_integer(call.input(0).type) &&
         !call.input(0).varies;
}

// Of a sum in the 2-norm: what both came with, and how long they are together.
struct Lengths {
  double came = 0, size = 0;
};
Lengths lengths_of(const std::vector<const Value*>& inputs, const Value& made, Index i) {
  Lengths all;
  for (const Value* x : inputs) {
    all.size += length_above(x->h.row(x->varies ? i : 0).data(), x->size()) * copies_of(*x, made);
    all.came += spread_off(*x, made, i);
  }
  return all;
}

// A sum has so many roundings beside those of its terms, among which a runtime may add what comes to it.
std::vector<Value> settled_sum(const Call& call, const std::vector<const Value*>& inputs, Value made,
                               Index roundings) {
  const Rounding r = made.terms > 0 ? call.rounding(made).of_sums() : call.rounding(made);
  const auto count = static_cast<double>(roundings + made.terms);
  Vector known(made.h.rows());
  for (Index i = 0; i < known.size(); ++i) {
    const auto [came, size] = lengths_of(inputs, made, i);
    known(i) = (came + (2 * u + count * r.v * (1 + count * r.v)) * (size + came) +
                2 * count * r.lost * std::sqrt(static_cast<double>(made.size()))) *
                   kUp +
               kTiny;
    if (!made.e.row(i).allFinite()) known(i) = kInfinite;
  }
  return settled(std::move(made), known);
}

template <bool minus>
std::vector<Value> sum(const Call& call) {
  if (constants(call))
    return of_integers(call, [](const Call& c, std::int64_t a, std::int64_t b) {
      std::int64_t made = 0;
      if (minus ? __builtin_sub_overflow(a, b, &made) : __builtin_add_overflow(a, b, &made))
        c.refuse("its integers overflow");
      return made;
    });
  const auto inputs = real_inputs(call, 2);
  if (inputs.size() != 2) call.refuse("it takes two inputs");
  // A runtime may begin the sums of a linear map with what is added to it.
  const Index terms = inputs[0]->terms + inputs[1]->terms;
  Value made = each_of(call, inputs, [terms](const Balls& x, const Rounding& r) {
    const Ball ball = minus ? subtract(x[0], x[1], r) : add(x[0], x[1], r);
    if (r.exact() || terms == 0 || is_masked(ball)) return ball;
    return rounded(ball.h, ball.e, x[0].size() + x[1].size(), r.of_sums(), static_cast<double>(terms));
  });
  made.terms = terms;
  return settled_sum(call, inputs, std::move(made), 1);
}

// Of any number of values, in any order.
std::vector<Value> sum_of_all(const Call& call) {
  const auto inputs = real_inputs(call, 1);
  Index terms = 0;
  for (const Value* x : inputs) terms += x->terms;
  Value made = each_of(call, inputs, [terms](const Balls& x, const Rounding& r) {
    Sum all;
    for (const Ball& ball : x) all += ball;
    const Ball ball = all.result(r);
    if (r.exact() || terms == 0) return ball;
    return rounded(ball.h, ball.e, all.size(), r.of_sums(), static_cast<double>(terms));
  });
  made.terms = terms;
  return settled_sum(call, inputs, std::move(made), std::ssize(inputs));
}

// The largest absolute value, with what it may be off by.
double top_of(const Value& x, Index i) {
  const Index row = x.varies ? i : 0;
  double top = 0;
  for (Index k = 0; k < x.size(); ++k) top = std::max(top, x.at(row, k).size());
  return top;
}

std::vector<Value> product(const Call& call) {
  if (constants(call))
    return of_integers(call, [](const Call& c, std::int64_t a, std::int64_t b) {
      std::int64_t made = 0;
      if (__builtin_mul_overflow(a, b, &made)) c.refuse("its integers overflow");
      return made;
    });
  const auto inputs = real_inputs(call, 2);
  if (inputs.size() != 2) call.refuse("it takes two inputs");
  Value made =
      each_of(call, inputs, [](const Balls& x, const Rounding& r) { return multiply(x[0], x[1], r); });
  made.terms = std::max(inputs[0]->terms, inputs[1]->terms);
  // a' b' - a b = a' (b' - b) + (a' - a) b.
  const Value &a = *inputs[0], &b = *inputs[1];
  const Rounding r = call.rounding(made);
  const double root = std::sqrt(static_cast<double>(made.size())) * kUp;
  Vector known(made.h.rows());
  for (Index i = 0; i < known.size(); ++i) {
    const double A = top_of(a, i), B = top_of(b, i);
    const double off_a = spread_off(a, made, i), off_b = spread_off(b, made, i);
    const double came = (off_b == 0 ? 0 : A * off_b) + (off_a == 0 ? 0 : B * off_a);
    known(i) =
        (came + (2 * u + r.v * (1 + 2 * r.v)) * (length_above(made.h.row(i).data(), made.size()) + came) +
         root * (2 * r.lost + r.flushed() * (A + B))) *
            kUp +
        kTiny * root;
    if (!made.e.row(i).allFinite()) known(i) = kInfinite;
  }
  return settled(std::move(made), known);
}

std::vector<Value> quotient(const Call& call) {
  if (constants(call))
    return of_integers(call, [](const Call& c, std::int64_t a, std::int64_t b) {
      if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min()))
        c.refuse("its integers overflow");
      return a / b;  // towards 0, as ONNX has it
    });
  const auto inputs = real_inputs(call, 2);
  if (inputs.size() != 2) call.refuse("it takes two inputs");
  // A runtime may multiply by the rounded reciprocal of a constant: one rounding more.
  Value made = each_of(call, inputs, [](const Balls& x, const Rounding& r) {
    const Ball q = divide(x[0], x[1], r);
    return r.exact() ? q : rounded(q.h, q.e, std::abs(q.h), r);
  });
  made.terms = inputs[0]->terms;
  // a'/b' - a/b = (a' - a - (a/b) (b' - b))/b'.
  const Value &a = *inputs[0], &b = *inputs[1];
  const Rounding r = call.rounding(made);
  const double root = std::sqrt(static_cast<double>(made.size())) * kUp;
  Vector known(made.h.rows());
  for (Index i = 0; i < known.size(); ++i) {
    double room = kInfinite, top = 0;  // of |b'|, and of |a/b|
    for (Index k = 0; k < b.size(); ++k) {
      const Ball ball = b.at(b.varies ? i : 0, k);
      room = std::min(room, (std::abs(ball.h) - ball.e) * kDown - r.flushed());
    }
    for (const double q : made.h.row(i)) top = std::max(top, std::abs(q));
    const double off_a = spread_off(a, made, i), off_b = spread_off(b, made, i);
    // |a/b| is known to within a rounding.
    const double came =
        ((off_a + r.flushed() * root) + top * (1 + 4 * u) * (off_b + r.flushed() * root)) / room;
    known(i) =
        (came + (4 * u + 2 * r.v * (1 + 2 * r.v)) * (length_above(made.h.row(i).data(), made.size()) + came) +
         root * 4 * r.lost) *
            kUp +
        kTiny * root;
    if (!(room > 0) || !made.e.row(i).allFinite()) known(i) = kInfinite;
  }
  return settled(std::move(made), known);
}

std::vector<Value> negative(const Call& call) {
  Value made = call.numbers(0);
  made.h = -made.h;
  return {std::move(made)};
}

std::vector<Value> absolute(const Call& call) {
  Value made = call.numbers(0);
  made.h = made.h.cwiseAbs();
  return {std::move(made)};
}

std::vector<Value> square_root(const Call& call) {
  return settled(
      each_of(call, {&call.numbers(0)}, [](const Balls& x, const Rounding& r) { return root(x[0], r); }));
}

std::vector<Value> reciprocal(const Call& call) {
  return settled(each_of(call, {&call.numbers(0)}, [](const Balls& x, const Rounding& r) {
    return divide({1, 0}, x[0], r);
  }));
}

// Of small whole exponents as products, of 1/2 as a root.
std::vector<Value> power(const Call& call) {
  const Value& p = call.input(1);
  if (p.shape.size() > call.input(0).shape.size()) call.refuse("its power has more axes than its numbers");
  double exponent = 0;
  if (is_integer(p.type) && p.size() == 1)
    exponent = static_cast<double>(call.integers(1).front());
  else
    exponent = call.number(1);
  if (exponent == 0.5) return square_root(call);
  if (exponent == -0.5)  // a runtime's pow() is taken to be within 8 units of its last place, assumed
    return settled(each_of(call, {&call.numbers(0)}, [](const Balls& x, const Rounding& r) {
      const Ball made = divide({1, 0}, root(x[0], r), r);
      return r.exact() ? made : rounded(made.h, made.e, std::abs(made.h), r, 8);
    }));
  if (!(exponent >= 1 && exponent <= 8 && exponent == std::floor(exponent)))
    call.refuse(fmt::format("of powers the whole ones from 1 to 8, 0.5 and -0.5 are read, not {}", exponent));
  const int n = static_cast<int>(exponent);
  return settled(each_of(call, {&call.numbers(0)}, [n](const Balls& x, const Rounding& r) {
    Ball made = x[0];
    for (int k = 1; k < n; ++k) {
      made = multiply(made, x[0], r);
      // A runtime's pow() is taken to be within 8 units of its last place, assumed.
      if (!r.exact()) made = rounded(made.h, made.e, std::abs(made.h), r, 8);
    }
    return made;
  }));
}

// One of numbers that are each within e: |max(a, b) - max(a', b')| <= max(|a - a'|, |b - b'|), and less where
// one is larger for sure.
Ball larger(Ball a, Ball b) {
  if (a.h - a.e > b.h + b.e) return a;
  if (b.h - b.e > a.h + a.e) return b;
  const bool known = a.h - a.h == 0 && b.h - b.h == 0;
  return {std::max(a.h, b.h), known ? std::max(a.e, b.e) : kInfinite};
}
Ball opposite(Ball a) { return {-a.h, a.e}; }
Ball less(Ball a, Ball b) { return opposite(larger(opposite(a), opposite(b))); }

template <bool smallest>
std::vector<Value> extreme(const Call& call) {
  return settled(each_of(call, real_inputs(call, 1), [](const Balls& x, const Rounding&) {
    Ball made = x[0];
    for (std::size_t k = 1; k < x.size(); ++k) made = smallest ? less(made, x[k]) : larger(made, x[k]);
    return made;
  }));
}

std::vector<Value> clip(const Call& call) {
  const Value& x = call.numbers(0);
  const double low = call.has(1) ? call.number(1) : call.node.number("min", -kInfinite),
               high = call.has(2) ? call.number(2) : call.node.number("max", kInfinite);
  if (!(low <= high)) call.refuse("its least number is above its largest");
  Value made = each_of(call, {&x}, [&](const Balls& b, const Rounding&) {
    return less(larger(b[0], {low, 0}), {high, 0});
  });
  return settled(std::move(made), x.eps);
}

constexpr Operator kArithmeticRows[] = {
    {"Abs", absolute},       {"Add", sum<false>},        {"Clip", clip},        {"Div", quotient},
    {"Max", extreme<false>}, {"Min", extreme<true>},     {"Mul", product},      {"Neg", negative},
    {"Pow", power},          {"Reciprocal", reciprocal}, {"Sqrt", square_root}, {"Sub", sum<true>},
    {"Sum", sum_of_all}};

}  // namespace

const std::span<const Operator> kArithmetic = kArithmeticRows;

}  // namespace zeroloss::internal::graph
