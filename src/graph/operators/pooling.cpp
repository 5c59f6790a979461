#include <algorithm>
#include <cmath>

#include "graph/reduction.hpp"
#include "graph/window.hpp"

// MaxPool, AveragePool and those over all of a channel.
namespace zeroloss::internal::graph {
namespace {

const Windows& windows(const Call& call, bool all) {
  if (call.kept) return *static_cast<const Windows*>(call.kept.get());
  const Value& x = call.numbers(0);
  if (x.shape.size() < 3 || x.shape[0] != 1) call.refuse("its input has no channels with axes behind them");
  const Shape sizes(x.shape.begin() + 2, x.shape.end());
  std::shared_ptr<Windows> made;
  if (all) {
    made = std::make_shared<Windows>();
    made->cells = count_of(sizes);
    made->out.assign(sizes.size(), 1);
    for (Index k = 0; k < made->cells; ++k) made->places.push_back(k);
    made->within = {made->cells};
  } else {
    made = std::make_shared<Windows>(windows_of(call, sizes, {}));
  }
  call.kept = made;
  return *made;
}

Value output(const Value& x, const Windows& w) {
  Shape shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return blank(x.type, shape, x.varies, x.h.rows());
}

// f(windows of a channel) to each of its outputs.
template <class Function>
void each_channel(const Value& x, Value& made, const Windows& w, const Function& f) {
  const Index channels = x.shape[1], size = x.size() / channels;
  for (Index i = 0; i < x.h.rows(); ++i)
    for (Index c = 0; c < channels; ++c)
      f(x.h.row(i).data() + c * size, x.exact() ? nullptr : x.e.row(i).data() + c * size,
        made.h.row(i).data() + c * w.count, made.e.row(i).data() + c * w.count);
}

template <bool all>
std::vector<Value> largest(const Call& call) {
  if (call.node.outputs.size() > 1) call.refuse("places of largest numbers are not read");
  const Value& x = call.numbers(0);
  const Windows& w = windows(call, all);
  Value made = output(x, w);
  each_channel(x, made, w, [&](const double* h, const double* e, double* to, double* error) {
    for (Index k = 0; k < w.count; ++k) {
      double top = -kInfinite, sure = top, off = 0;
      bool known = true;
      for (Index cell = 0; cell < w.cells; ++cell) {
        const Index place = w.places[static_cast<std::size_t>(cell * w.count + k)];
        if (place < 0) continue;
        known = known && h[place] - h[place] == 0;
        top = std::max(top, h[place]);
        if (e != nullptr) sure = std::max(sure, h[place] - e[place]);
      }
      if (e != nullptr)  // what cannot be the largest moves nothing
        for (Index cell = 0; cell < w.cells; ++cell) {
          const Index place = w.places[static_cast<std::size_t>(cell * w.count + k)];
          if (place >= 0 && !(h[place] + e[place] < sure)) off = std::max(off, e[place]);
        }
      if (top == -kInfinite && known) call.refuse("a window of padding alone");
      to[k] = top;
      error[k] = known && off - off == 0 ? off : kInfinite;
    }
  });
  settle(made, x.exact() ? Vector() : Vector(x.eps * (std::sqrt(w.overlap) * kUp)));
  return {std::move(made)};
}

template <bool all>
std::vector<Value> mean(const Call& call) {
  const Value& x = call.numbers(0);
  const Windows& w = windows(call, all);
  const bool padding = !all && call.node.integer("count_include_pad", 0) != 0;
  Value made = output(x, w);
  const Rounding r = call.rounding(made);
  double fewest = kInfinite;
  RowMatrix here(made.h.rows(), made.h.cols());  // of what is rounded
  each_channel(x, made, w, [&](const double* h, const double* e, double* to, double* error) {
    for (Index k = 0; k < w.count; ++k) {
      Sum sum;
      double came = 0;
      Index count = 0;
      for (Index cell = 0; cell < w.cells; ++cell) {
        const Index place = w.places[static_cast<std::size_t>(cell * w.count + k)];
        if (place < 0) continue;
        sum += Ball{h[place], e == nullptr ? 0 : e[place]};
        came += e == nullptr ? 0 : e[place];
        ++count;
      }
      if (padding) count = w.within[static_cast<std::size_t>(k)];
      if (count == 0) call.refuse("a window of padding alone");
      const Ball ball = mean_of(sum, static_cast<double>(count), r);
      to[k] = ball.h;
      error[k] = ball.h - ball.h == 0 ? ball.e : kInfinite;
      fewest = std::min(fewest, static_cast<double>(count));
      here.data()[to + k - made.h.data()] =
          std::max(0.0, error[k] - came * kDown / static_cast<double>(count) * kDown);
    }
  });
  // A mean of k numbers that are off by e together is off by e/sqrt(k) at most; each is in `overlap` of them.
  Vector known(made.h.rows());
  for (Index i = 0; i < known.size(); ++i)
    known(i) = here.row(i).allFinite() ? (std::sqrt(w.overlap / fewest) * kUp * (x.exact() ? 0 : x.eps(i)) +
                                          length_above(here.row(i).data(), made.size())) *
                                             kUp
                                       : kInfinite;
  settle(made, known);
  return {std::move(made)};
}

constexpr Operator kPoolingRows[] = {{"AveragePool", mean<false>},
                                     {"GlobalAveragePool", mean<true>},
                                     {"GlobalMaxPool", largest<true>},
                                     {"MaxPool", largest<false>}};

}  // namespace

const std::span<const Operator> kPooling = kPoolingRows;

}  // namespace zeroloss::internal::graph
