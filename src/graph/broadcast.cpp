#include "graph/broadcast.hpp"

#include <algorithm>
#include <cmath>

namespace zeroloss::internal::graph {

Shape spread_shape(const Call& call, const std::vector<const Value*>& inputs) {
  Shape shape;
  for (const Value* input : inputs) {
    const Shape& other = input->shape;
    if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    const std::size_t ahead = shape.size() - other.size();
    for (std::size_t a = 0; a < other.size(); ++a) {
      Index& size = shape[ahead + a];
      if (size == 1)
        size = other[a];
      else if (other[a] != 1 && other[a] != size)
        call.refuse("the shapes of its inputs do not fit together");
    }
  }
  constexpr Index kMost = Index{1} << 30;  // numbers
  for (Index count = 1; const Index size : shape) {
    count *= std::clamp<Index>(size, 1, kMost + 1);
    if (count > kMost) call.refuse("its result is too large");
  }
  require_room(shape, 1);
  return shape;
}

std::vector<Index> spread_places(const Shape& from, const Shape& to) {
  std::vector<Index> places(static_cast<std::size_t>(count_of(to)), 0);
  const std::size_t ahead = to.size() - from.size();
  Index step = 1, stride = 1;  // of `from`, and of `to`
  for (std::size_t a = to.size(); a-- > 0;) {
    const Index size = to[a];
    if (a >= ahead) {
      const Index own = from[a - ahead];
      if (own > 1)
        for (std::size_t k = 0; k < places.size(); ++k)
          places[k] += static_cast<Index>(k) / stride % size * step;
      step *= own;
    }
    stride *= size;
  }
  return places;
}

double copies_of(const Value& x, const Value& made) {
  return std::sqrt(static_cast<double>(made.size()) / static_cast<double>(x.size())) * kUp;
}

double spread_off(const Value& x, const Value& made, Index i) {
  return x.exact() ? 0 : x.eps(x.varies ? i : 0) * copies_of(x, made);
}

}  // namespace zeroloss::internal::graph
