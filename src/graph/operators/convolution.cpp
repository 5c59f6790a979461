#include <fmt/format.h>

#include <algorithm>

#include "graph/convolution_norm.hpp"
#include "graph/product.hpp"
#include "graph/window.hpp"

// Conv of any number of axes: a product of the kernels with all windows.
namespace zeroloss::internal::graph {
namespace {

struct Convolution {
  Windows windows;
  std::vector<Product> groups;
  double norm = 0;  // of all of it as a linear map of samples, and more
};

const Convolution& convolution(const Call& call) {
  const Value &x = call.numbers(0), &W = call.numbers(1);
  if (call.kept) return *static_cast<const Convolution*>(call.kept.get());
  if (W.varies || (call.has(2) && call.numbers(2).varies)) call.refuse("its weights are no constants");
  if (W.type != x.type) call.refuse(fmt::format("it mixes {} and {}", name_of(x.type), name_of(W.type)));
  const auto groups = static_cast<Index>(call.node.integer("group", 1));
  if (x.shape.size() < 3 || x.shape[0] != 1 || W.shape.size() != x.shape.size())
    call.refuse("its input has no channels with axes behind them, or its weights have other axes");
  const Index outputs = W.shape[0], channels = x.shape[1];
  if (groups < 1 || outputs % groups != 0 || channels != groups * W.shape[1])
    call.refuse(fmt::format("its weights are for {} channels in {} groups, its input has {}",
                            W.shape[1] * groups, groups, channels));
  if (call.has(2) && call.numbers(2).size() != outputs)
    call.refuse("it has another number of biases than kernels");
  auto made = std::make_shared<Convolution>();
  made->windows =
      windows_of(call, {x.shape.begin() + 2, x.shape.end()}, {W.shape.begin() + 2, W.shape.end()});
  const bool known = call.memory.norms.contains(&call.node);
  const Index each = outputs / groups, terms = W.size() / outputs;
  for (Index g = 0; g < groups; ++g) {
    const auto part = [&](const RowMatrix& numbers) -> RowMatrix {
      if (numbers.size() == 0) return {};
      return Eigen::Map<const RowMatrix>(numbers.data() + g * each * terms, each, terms);
    };
    const auto bias = [&](const RowMatrix& numbers) -> Vector {
      return numbers.size() == 0 ? Vector() : Vector(numbers.row(0).segment(g * each, each).transpose());
    };
    made->groups.emplace_back(part(W.h), part(W.e), call.has(2) ? bias(call.input(2).h) : Vector(),
                              call.has(2) ? bias(call.input(2).e) : Vector());
    // Groups see channels of their own.
    double norm = std::sqrt(made->windows.overlap) * made->groups.back().spectral() * kUp;
    if (call.deep && !known) norm = convolution_norm(part(W.h), {W.shape.begin() + 2, W.shape.end()}, norm);
    made->norm = std::max(made->norm, norm);
  }
  if (known) made->norm = call.memory.norms.at(&call.node);
  call.memory.norms[&call.node] = made->norm;
  call.kept = made;
  return *made;
}

// What every window sees of `channels` channels: channels cells x windows.
void gather(const Windows& w, const double* x, Index channels, Index size, RowMatrix& columns) {
  columns.resize(channels * w.cells, w.count);
  const Index* places = w.places.data();
  for (Index c = 0; c < channels; ++c)
    for (Index cell = 0; cell < w.cells; ++cell) {
      double* out = columns.data() + (c * w.cells + cell) * w.count;
      const Index* from = places + cell * w.count;
      for (Index k = 0; k < w.count; ++k) out[k] = from[k] < 0 ? 0 : x[c * size + from[k]];
    }
}

std::vector<Value> conv(const Call& call) {
  const Value& x = call.numbers(0);
  const Convolution& c = convolution(call);
  const Windows& w = c.windows;
  const auto groups = std::ssize(c.groups);
  const Index channels = x.shape[1] / groups, size = x.size() / x.shape[1], each = c.groups.front().outputs();
  Shape shape{x.shape[0], groups * each};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  Value made = blank(x.type, shape, x.varies, x.h.rows());
  require_room({channels, w.cells, w.count}, 1);  // what all windows see of a sample
  made.terms = c.groups.front().inputs();
  const Rounding r = call.rounding(made);
  Vector known(x.h.rows());
  RowMatrix columns, errors;
  for (Index i = 0; i < x.h.rows(); ++i) {
    const double off = x.exact() ? 0 : x.eps(i);
    Vector here(groups);  // of what is rounded
    for (Index g = 0; g < groups; ++g) {
      gather(w, x.h.row(i).data() + g * channels * size, channels, size, columns);
      if (!x.exact()) gather(w, x.e.row(i).data() + g * channels * size, channels, size, errors);
      const Product& kernels = c.groups[static_cast<std::size_t>(g)];
      kernels.of_columns(columns.data(), x.exact() ? nullptr : errors.data(), off, w.count, r,
                         made.h.row(i).data() + g * each * w.count,
                         made.e.row(i).data() + g * each * w.count);
      const double length = length_above(x.h.row(i).data() + g * channels * size, channels * size);
      here(g) = kernels.length_of_rounding(length, off, w.overlap, static_cast<double>(w.count), r);
    }
    known(i) = (c.norm * off + length_above(here.data(), groups) +
                u * length_above(made.h.row(i).data(), made.size())) *
               kUp;
  }
  settle(made, known);
  return {std::move(made)};
}

constexpr Operator kConvolutionRows[] = {{"Conv", conv}};

}  // namespace

const std::span<const Operator> kConvolution = kConvolutionRows;

}  // namespace zeroloss::internal::graph
