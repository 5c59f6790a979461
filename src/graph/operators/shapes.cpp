#include <algorithm>

#include "graph/operators.hpp"

// Shapes as constants: each sample goes through the graph alone, so that all sizes are known.
namespace zeroloss::internal::graph {
namespace {

Value integers(std::vector<std::int64_t> values, Shape shape) {
  Value made{.type = OnnxType::int64, .shape = std::move(shape), .h = {}, .e = {}, .eps = {}};
  made.integers = std::move(values);
  return made;
}

std::vector<Value> shape(const Call& call) {
  const Shape& all = call.input(0).shape;
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto place = [&](std::int64_t k) { return std::clamp<std::int64_t>(k < 0 ? k + rank : k, 0, rank); };
  const std::int64_t start = place(call.node.integer("start", 0)),
                     end = place(call.node.integer("end", rank));
  std::vector<std::int64_t> some;
  for (std::int64_t k = start; k < end; ++k) some.push_back(all[static_cast<std::size_t>(k)]);
  const auto count = std::ssize(some);
  return {integers(std::move(some), {count})};
}

std::vector<Value> size(const Call& call) { return {integers({call.input(0).size()}, {})}; }

std::vector<Value> constant_of_shape(const Call& call) {
  const auto& asked = call.integers(0);
  const Shape all(asked.begin(), asked.end());
  constexpr Index kMost = Index{1} << 28;
  for (Index count = 1; const Index one : all)
    if (one < 0 || std::max<Index>(one, 1) > kMost / count)
      call.refuse("its shape is too large");
    else
      count *= std::max<Index>(one, 1);
  const auto* fill = call.node.find<OnnxNumbers>("value");
  if (fill != nullptr && fill->values.size() != 1) call.refuse("its value is not one number");
  Value made{
      .type = fill == nullptr ? OnnxType::float32 : fill->type, .shape = all, .h = {}, .e = {}, .eps = {}};
  if (is_integer(made.type))
    made.integers.assign(static_cast<std::size_t>(made.size()), fill->integers.front());
  else
    made.h.setConstant(1, made.size(), fill == nullptr ? 0 : fill->values.front());
  return {std::move(made)};
}

constexpr Operator kShapesRows[] = {{"ConstantOfShape", constant_of_shape}, {"Shape", shape}, {"Size", size}};

}  // namespace

const std::span<const Operator> kShapes = kShapesRows;

}  // namespace zeroloss::internal::graph
