#pragma once
#include "graph/operators.hpp"

/// Operators that go number by number, over one value or over several whose shapes are made alike.
namespace zeroloss::internal::graph {

/// The shape that those of all inputs are spread to, as NumPy does it. Refuses those that do not fit.
Shape spread_shape(const Call& call, const std::vector<const Value*>& inputs);

/// For each number of `to`: its place in `from`, which is spread to it.
std::vector<Index> spread_places(const Shape& from, const Shape& to);

/// By how much a value is longer in the 2-norm where it is spread to `made`, rounded up.
double copies_of(const Value& x, const Value& made);

/// What x, spread to `made`, is off by in the 2-norm at sample i.
double spread_off(const Value& x, const Value& made, Index i);

/// f(ball, ..) of each number; `Function` gets a vector of as many balls as inputs, and the rounding of the
/// result.
template <class Function>
Value each_of(const Call& call, const std::vector<const Value*>& inputs, const Function& f) {
  const Shape shape = spread_shape(call, inputs);
  bool varies = false;
  Index rows = 1;
  std::vector<std::vector<Index>> places;
  for (const Value* input : inputs) {
    if (input->type != inputs.front()->type)
      call.refuse("it mixes " + name_of(inputs.front()->type) + " and " + name_of(input->type));
    varies = varies || input->varies;
    rows = std::max(rows, input->h.rows());
    places.push_back(input->shape == shape ? std::vector<Index>{} : spread_places(input->shape, shape));
  }
  Value made = blank(inputs.front()->type, shape, varies, rows);
  const Rounding r = call.rounding(made);
  const Index size = made.size();
  std::vector<Ball> balls(inputs.size());
  for (Index i = 0; i < rows; ++i)
    for (Index k = 0; k < size; ++k) {
      for (std::size_t a = 0; a < inputs.size(); ++a) {
        const Index place = places[a].empty() ? k : places[a][static_cast<std::size_t>(k)];
        balls[a] = inputs[a]->at(inputs[a]->varies ? i : 0, place);
      }
      const Ball ball = f(balls, r);
      made.h(i, k) = ball.h;
      made.e(i, k) = ball.h - ball.h == 0 || is_masked(ball) ? ball.e : kInfinite;
    }
  return made;  // not settled
}

}  // namespace zeroloss::internal::graph
