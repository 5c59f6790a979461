#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "graph/operators.hpp"

// What moves numbers, or names them anew, and computes nothing.
namespace zeroloss::internal::graph {
namespace {

constexpr Index kMost = Index{1} << 30;  // numbers of a sample

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t a = shape.size(); a-- > 1;) strides[a - 1] = strides[a] * shape[a];
  return strides;
}

// The places of a value of which axis a is `shape[a]` long, starts at first[a] and goes on by step[a] (in
// places); `outside` says which are padding.
std::vector<Index> places(const Call& call, const Shape& shape, Index first, const Shape& steps) {
  Index count = 1;
  for (const Index size : shape)
    if (size < 0 || (size > 0 && count > kMost / size))
      call.refuse("its result is too large");
    else
      count *= size;
  require_room(shape, 1);
  std::vector<Index> made(static_cast<std::size_t>(count));
  Shape at(shape.size(), 0);
  Index place = first;
  for (Index& one : made) {
    one = place;
    for (std::size_t a = shape.size(); a-- > 0;) {
      place += steps[a];
      if (++at[a] < shape[a]) break;
      place -= steps[a] * shape[a];
      at[a] = 0;
    }
  }
  return made;
}

Value with_shape(const Value& value, Shape shape) {
  Value made = value;
  made.shape = std::move(shape);
  return made;
}

std::vector<Value> identity(const Call& call) { return {call.input(0)}; }

std::vector<Value> dropout(const Call& call) {
  if (call.has(2)) {
    const Value& training = call.input(2);
    if (training.varies || training.integers != std::vector<std::int64_t>{0})
      call.refuse("dropout as in training");
  }
  return {call.input(0)};
}

// Whole numbers as real ones are exact; real ones as others of them are rounded by whoever runs the file in
// its types, and stay what they are in exact arithmetic.
std::vector<Value> cast(const Call& call) {
  const auto to = static_cast<OnnxType>(call.node.integer("to", 0));
  const Value& x = call.input(0);
  Value made = x;
  made.type = to;
  if (!x.texts.empty() || to == OnnxType::text) call.refuse("a cast of or to text");
  if (!x.integers.empty() || (!x.varies && is_integer(x.type))) {
    if (is_real(to)) {
      made.h.resize(1, std::ssize(x.integers));
      for (Index k = 0; k < made.h.size(); ++k) {
        const std::int64_t value = x.integers[static_cast<std::size_t>(k)];
        made.h(0, k) = static_cast<double>(value);
        const std::int64_t most = std::int64_t{1} << (to == OnnxType::float64   ? 53
                                                      : to == OnnxType::float32 ? 24
                                                                                : 8);
        if (value > most || value < -most) call.refuse("a whole number that its type has not");
      }
      made.integers.clear();
      return {std::move(made)};
    }
    for (std::int64_t& value : made.integers) {
      if (to == OnnxType::boolean) value = value != 0;
      if (to == OnnxType::int32 && value != static_cast<std::int32_t>(value))
        call.refuse("its integers overflow");
    }
    if (to != OnnxType::int64 && to != OnnxType::int32 && to != OnnxType::boolean)
      call.refuse("a cast to a type that is not read");
    return {std::move(made)};
  }
  if (!is_real(to)) call.refuse(fmt::format("a cast of numbers to {}", name_of(to)));
  const Rounding from = rounding_of(Execution::float32, x.type), as = rounding_of(Execution::float32, to);
  if (is_integer(x.type)) {  // of samples, which are whole numbers
    if (made.h.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1 / as.v) return {std::move(made)};
    call.refuse("whole numbers of the samples that its type has not");
  }
  if (as.v <= from.v && as.largest >= from.largest) return {std::move(made)};
  if (rounding_of(call.execution, to).exact()) return {std::move(made)};
  if (made.exact()) made.e.setZero(made.h.rows(), made.h.cols());
  for (Index i = 0; i < made.h.rows(); ++i)
    for (Index k = 0; k < made.h.cols(); ++k)
      made.e(i, k) = rounded(made.h(i, k), made.e(i, k), std::abs(made.h(i, k)), as).e;
  settle(made);
  return {std::move(made)};
}

std::vector<Value> flatten(const Call& call) {
  const Value& x = call.input(0);
  const std::int64_t axis = call.node.integer("axis", 1);
  const std::size_t rank = x.shape.size(), cut = axis == static_cast<std::int64_t>(rank)
                                                     ? rank
                                                     : call.axis(axis, std::max<std::size_t>(rank, 1));
  const Index ahead = count_of({x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(cut)});
  return {with_shape(x, {ahead, ahead == 0 ? 0 : x.size() / ahead})};
}

std::vector<Value> reshape(const Call& call) {
  const Value& x = call.input(0);
  const bool zeros = call.node.integer("allowzero", 0) != 0;
  Shape shape;
  Index known = 1, open = -1;
  for (const std::int64_t asked : call.integers(1)) {
    const auto at = std::ssize(shape);
    Index size = asked;
    if (asked == 0 && zeros) call.refuse("a shape without numbers");
    if (asked == 0) {
      if (at >= std::ssize(x.shape)) call.refuse("it keeps a size of an axis that is not there");
      size = x.shape[static_cast<std::size_t>(at)];
    } else if (asked == -1) {
      if (open >= 0) call.refuse("it leaves two sizes open");
      open = at;
      size = 1;
    } else if (asked < 0) {
      call.refuse(fmt::format("a size of {}", asked));
    }
    if (size > 0 && known > kMost / size) call.refuse("its result is too large");
    known *= size;
    shape.push_back(size);
  }
  if (open >= 0 && known > 0) shape[static_cast<std::size_t>(open)] = x.size() / known;
  if (count_of(shape) != x.size())
    call.refuse(fmt::format("it makes {} of {}, the numbers of one sample",
                            fmt::format("{} numbers", count_of(shape)), x.size()));
  return {with_shape(x, std::move(shape))};
}

std::vector<Value> transpose(const Call& call) {
  const Value& x = call.input(0);
  const std::size_t rank = x.shape.size();
  std::vector<std::int64_t> perm(rank);
  for (std::size_t a = 0; a < rank; ++a) perm[a] = static_cast<std::int64_t>(rank - 1 - a);
  if (const auto* list = call.node.find<std::vector<std::int64_t>>("perm")) perm = *list;
  std::vector<bool> seen(rank, false);
  if (perm.size() != rank) call.refuse("its perm has not as many axes as its input");
  Shape shape, steps;
  const Shape strides = strides_of(x.shape);
  for (const std::int64_t axis : perm) {
    const std::size_t a = call.axis(axis, rank);
    if (seen[a]) call.refuse("its perm names an axis twice");
    seen[a] = true;
    shape.push_back(x.shape[a]);
    steps.push_back(strides[a]);
  }
  const auto from = places(call, shape, 0, steps);
  return {moved(x, std::move(shape), from)};
}

std::vector<Value> squeeze(const Call& call) {
  const Value& x = call.input(0);
  std::set<std::size_t> axes;
  const auto list = call.listed("axes", 1);
  for (const std::int64_t axis : list) axes.insert(call.axis(axis, x.shape.size()));
  const bool all = list.empty();
  Shape shape;
  for (std::size_t a = 0; a < x.shape.size(); ++a) {
    const bool goes = all ? x.shape[a] == 1 : axes.contains(a);
    if (goes && x.shape[a] != 1) call.refuse("it leaves out an axis that is longer than 1");
    if (!goes) shape.push_back(x.shape[a]);
  }
  return {with_shape(x, std::move(shape))};
}

std::vector<Value> unsqueeze(const Call& call) {
  const Value& x = call.input(0);
  const auto list = call.listed("axes", 1);
  const std::size_t rank = x.shape.size() + list.size();
  std::set<std::size_t> axes;
  for (const std::int64_t axis : list)
    if (!axes.insert(call.axis(axis, rank)).second) call.refuse("it names an axis twice");
  Shape shape;
  auto next = x.shape.begin();
  for (std::size_t a = 0; a < rank; ++a) shape.push_back(axes.contains(a) ? 1 : *next++);
  return {with_shape(x, std::move(shape))};
}

std::vector<Value> slice(const Call& call) {
  const Value& x = call.input(0);
  const std::vector<std::int64_t> starts = call.listed("starts", 1), ends = call.listed("ends", 2);
  std::vector<std::int64_t> axes = call.listed("axes", 3), steps = call.listed("", 4);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.refuse("its starts, ends, axes and steps are not as many");
  Shape shape = x.shape, strides = strides_of(x.shape);
  Index first = 0;
  std::set<std::size_t> seen;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const std::size_t a = call.axis(axes[k], shape.size());
    if (!seen.insert(a).second) call.refuse("it names an axis twice");
    const Index size = x.shape[a], step = steps[k];
    if (step == 0 || step > kMost || step < -kMost) call.refuse(fmt::format("a step of {}", step));
    const auto place = [&](std::int64_t at, Index low, Index high) {
      return std::clamp<Index>(at < 0 ? (at < -size ? -1 : at + size) : at, low, high);
    };
    const Index start = step > 0 ? place(starts[k], 0, size) : place(starts[k], 0, size - 1);
    const Index end =
        step > 0 ? place(ends[k], 0, size) : (ends[k] < -size ? -1 : place(ends[k], -1, size - 1));
    const Index count = step > 0 ? (end - start + step - 1) / step : (end - start + step + 1) / step;
    shape[a] = std::max<Index>(0, count);
    first += start * strides[a];
    strides[a] *= step;
  }
  // Of a shape none of its sizes may be left.
  if (count_of(shape) == 0 && x.integers.empty()) call.refuse("it takes nothing");
  const auto from = places(call, shape, first, strides);
  return {moved(x, std::move(shape), from)};
}

// Those of an axis that `chosen` names.
Value picked(const Call& call, const Value& x, std::size_t axis, const std::vector<std::int64_t>& chosen,
             const Shape& chosen_shape) {
  const Index size = x.shape[axis];
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const Index ahead = count_of(shape);
  shape.insert(shape.end(), chosen_shape.begin(), chosen_shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
  Index behind = 1;
  for (std::size_t a = axis + 1; a < x.shape.size(); ++a) behind *= x.shape[a];
  if (std::ssize(chosen) > kMost / std::max<Index>(1, ahead * behind)) call.refuse("its result is too large");
  std::vector<Index> from;
  for (Index before = 0; before < ahead; ++before)
    for (const std::int64_t k : chosen) {
      const Index place = k < 0 ? k + size : k;
      if (place < 0 || place >= size) call.refuse(fmt::format("its index {} is none of {}", k, size));
      for (Index b = 0; b < behind; ++b) from.push_back((before * size + place) * behind + b);
    }
  return moved(x, std::move(shape), from);
}

std::vector<Value> gather(const Call& call) {
  const Value& x = call.input(0);
  const std::size_t axis = call.axis(call.node.integer("axis", 0), x.shape.size());
  return {picked(call, x, axis, call.integers(1), call.input(1).shape)};
}

// Each row of the indices names a place in the axes in front.
std::vector<Value> gather_nd(const Call& call) {
  const Value& x = call.input(0);
  const auto& indices = call.integers(1);
  const Shape& rows = call.input(1).shape;
  if (call.node.integer("batch_dims", 0) != 0) call.refuse("its batch_dims are not 0");
  if (rows.empty() || rows.back() < 1 || rows.back() > std::ssize(x.shape))
    call.refuse("its indices name more axes than there are");
  const Shape strides = strides_of(x.shape);
  const auto named = rows.back();
  Shape shape(rows.begin(), rows.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + named, x.shape.end());
  const Index behind = strides[static_cast<std::size_t>(named) - 1];
  if (std::ssize(indices) / named > kMost / std::max<Index>(1, behind))
    call.refuse("its result is too large");
  std::vector<Index> from;
  for (std::size_t row = 0; row < indices.size(); row += static_cast<std::size_t>(named)) {
    Index first = 0;
    for (std::size_t a = 0; a < static_cast<std::size_t>(named); ++a) {
      const std::int64_t k = indices[row + a], size = x.shape[a], place = k < 0 ? k + size : k;
      if (place < 0 || place >= size) call.refuse(fmt::format("its index {} is none of {}", k, size));
      first += place * strides[a];
    }
    for (Index b = 0; b < behind; ++b) from.push_back(first + b);
  }
  return {moved(x, std::move(shape), from)};
}

std::vector<Value> array_feature_extractor(const Call& call) {
  const Value& x = call.input(0);
  if (x.shape.empty()) call.refuse("its input has no axis");
  const auto& chosen = call.integers(1);
  Value made = picked(call, x, x.shape.size() - 1, chosen, {std::ssize(chosen)});
  if (made.shape.size() == 1) made.shape.insert(made.shape.begin(), 1);
  return {std::move(made)};
}

std::vector<Value> concat(const Call& call) {
  const Value& first = call.input(0);
  const std::size_t rank = first.shape.size(), axis = call.axis(call.node.integer("axis", 1), rank);
  Shape shape = first.shape;
  shape[axis] = 0;
  bool varies = false, exact = true;
  Index rows = 1;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const Value& x = call.input(k);
    Shape other = x.shape;
    if (other.size() != rank) call.refuse("its inputs have other axes");
    shape[axis] += other[axis];
    other[axis] = first.shape[axis];
    if (other != first.shape || x.type != first.type)
      call.refuse("the shapes or types of its inputs do not fit together");
    varies = varies || x.varies;
    exact = exact && x.exact();
    rows = std::max(rows, x.h.rows());
  }
  Index behind = 1;
  for (std::size_t a = axis + 1; a < rank; ++a) behind *= shape[a];
  const Index ahead = count_of({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)}),
              all = shape[axis] * behind;
  Value made{.type = first.type, .shape = shape, .varies = varies, .h = {}, .e = {}, .eps = {}};
  const bool integers = !varies && is_integer(first.type), texts = first.type == OnnxType::text;
  if (texts) call.refuse("its inputs are text");
  if (integers)
    made.integers.resize(static_cast<std::size_t>(ahead * all));
  else
    made.h.resize(rows, ahead * all);
  if (!exact) made.e.setZero(rows, ahead * all), made.eps.setZero(rows);
  Index offset = 0;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const Value& x = call.input(k);
    const Index part = x.shape[axis] * behind;
    for (Index b = 0; b < ahead; ++b) {
      if (integers) {
        std::copy_n(x.integers.begin() + b * part, part, made.integers.begin() + b * all + offset);
        continue;
      }
      if (x.h.size() == 0) {  // whole numbers beside those of samples
        for (Index k = 0; k < part; ++k)
          made.h.col(b * all + offset + k)
              .setConstant(static_cast<double>(x.integers[static_cast<std::size_t>(b * part + k)]));
        continue;
      }
      for (Index i = 0; i < rows; ++i) {
        const Index row = x.varies ? i : 0;
        made.h.row(i).segment(b * all + offset, part) = x.h.row(row).segment(b * part, part);
        if (!x.exact()) made.e.row(i).segment(b * all + offset, part) = x.e.row(row).segment(b * part, part);
      }
    }
    if (!x.exact())
      for (Index i = 0; i < rows; ++i) made.eps(i) = (made.eps(i) + x.eps(x.varies ? i : 0)) * kUp;
    offset += part;
  }
  if (!exact) settle(made, Vector(made.eps));
  return {std::move(made)};
}

std::vector<Value> split(const Call& call) {
  const Value& x = call.input(0);
  const std::size_t axis = call.axis(call.node.integer("axis", 0), x.shape.size());
  const auto parts = std::ssize(call.node.outputs);
  std::vector<std::int64_t> sizes = call.listed("split", 1);
  if (sizes.empty()) {
    const Index each = (x.shape[axis] + parts - 1) / parts;
    for (Index k = 0; k < parts; ++k) sizes.push_back(std::clamp<Index>(x.shape[axis] - k * each, 0, each));
  }
  if (std::ranges::any_of(sizes, [&](std::int64_t size) { return size <= 0 || size > x.shape[axis]; }) ||
      std::ssize(sizes) != parts || std::reduce(sizes.begin(), sizes.end()) != x.shape[axis])
    call.refuse("its parts are not the whole");
  std::vector<Value> made;
  Index first = 0;
  const Shape strides = strides_of(x.shape);
  for (const std::int64_t size : sizes) {
    Shape shape = x.shape;
    shape[axis] = size;
    const auto from = places(call, shape, first * strides[axis], strides);
    made.push_back(moved(x, std::move(shape), from));
    first += size;
  }
  return made;
}

std::vector<Value> pad(const Call& call) {
  const Value& x = call.input(0);
  const auto* said = call.node.find<std::string>("mode");
  const std::string mode = said == nullptr ? "constant" : *said;
  const std::size_t rank = x.shape.size();
  std::vector<std::int64_t> pads = call.listed("pads", 1), axes = call.listed("", 3);
  const double fill = call.has(2) ? call.number(2) : call.node.number("value", 0);
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads.size() != 2 * axes.size()) call.refuse("its pads are not two for each axis");
  Shape before(rank, 0), shape = x.shape;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t a = call.axis(axes[k], rank);
    const std::int64_t low = pads[k], high = pads[axes.size() + k];
    if (low < 0 || high < 0 || low > kMost || high > kMost) call.refuse("pads below 0");
    before[a] = low;
    shape[a] += low + high;
  }
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    call.refuse(fmt::format("its mode '{}' is not read", mode));
  Shape steps(rank, 0);
  std::vector<Index> from = places(call, shape, 0, steps);
  const Shape strides = strides_of(x.shape);
  for (std::size_t k = 0; k < from.size(); ++k) {
    auto rest = static_cast<Index>(k);
    Index place = 0;
    bool outside = false;
    for (std::size_t a = rank; a-- > 0;) {
      Index at = rest % shape[a] - before[a];
      rest /= shape[a];
      const Index size = x.shape[a];
      if (mode == "edge") at = std::clamp<Index>(at, 0, size - 1);
      if (mode == "reflect") {
        if (at < 0) at = -at;
        if (at >= size) at = 2 * (size - 1) - at;
        if (at < 0 || at >= size) call.refuse("it reflects more than there is");
      }
      outside = outside || at < 0 || at >= size;
      place += at * strides[a];
    }
    from[k] = outside ? -1 : place;
  }
  return {moved(x, std::move(shape), from, fill)};
}

std::vector<Value> expand(const Call& call) {
  const Value& x = call.input(0);
  Shape asked(call.integers(1).begin(), call.integers(1).end());
  const std::size_t rank = std::max(asked.size(), x.shape.size());
  asked.insert(asked.begin(), rank - asked.size(), 1);
  Shape own = x.shape;
  own.insert(own.begin(), rank - own.size(), 1);
  Shape steps = strides_of(own);
  for (std::size_t a = 0; a < rank; ++a) {
    if (own[a] == 1)
      steps[a] = 0;
    else if (asked[a] == 1)
      asked[a] = own[a];
    else if (asked[a] != own[a])
      call.refuse("its shape does not fit");
  }
  const auto from = places(call, asked, 0, steps);
  return {moved(x, std::move(asked), from)};
}

std::vector<Value> tile(const Call& call) {
  const Value& x = call.input(0);
  const auto& repeats = call.integers(1);
  if (repeats.size() != x.shape.size()) call.refuse("its repeats are not one for each axis");
  Shape shape = x.shape;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (repeats[a] < 1 || repeats[a] > kMost || shape[a] > kMost / repeats[a])
      call.refuse("its result is too large");
    shape[a] *= repeats[a];
  }
  if (count_of(shape) > kMost) call.refuse("its result is too large");
  require_room(shape, 1);
  const Shape strides = strides_of(shape), own = strides_of(x.shape);
  std::vector<Index> from;
  for (Index k = 0; k < count_of(shape); ++k) {
    Index place = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) place += k / strides[a] % shape[a] % x.shape[a] * own[a];
    from.push_back(place);
  }
  return {moved(x, std::move(shape), from)};
}

// Keeps what is above, or below, a diagonal of matrices in the last two axes; the rest becomes 0.
std::vector<Value> trilu(const Call& call) {
  const Value& x = call.input(0);
  if (x.shape.size() < 2) call.refuse("its input is no matrix");
  Index diagonal = 0;
  if (call.has(1)) {
    const auto& k = call.integers(1);
    if (k.size() != 1) call.refuse("its k is not one number");
    diagonal = k.front();
  }
  const bool upper = call.node.integer("upper", 1) != 0;
  const Index cols = x.shape.back(), rows = x.shape[x.shape.size() - 2];
  std::vector<Index> from;
  for (Index place = 0; place < x.size(); ++place) {
    const Index row = place / cols % rows, col = place % cols;
    const bool kept = upper ? col - row >= diagonal : col - row <= diagonal;
    from.push_back(kept ? place : -1);
  }
  return {moved(x, x.shape, from)};
}

constexpr Operator kMovesRows[] = {{"ArrayFeatureExtractor", array_feature_extractor},
                                   {"Cast", cast},
                                   {"Concat", concat},
                                   {"Dropout", dropout},
                                   {"Expand", expand},
                                   {"Flatten", flatten},
                                   {"Gather", gather},
                                   {"GatherND", gather_nd},
                                   {"Identity", identity},
                                   {"Pad", pad},
                                   {"Reshape", reshape},
                                   {"Slice", slice},
                                   {"Split", split},
                                   {"Squeeze", squeeze},
                                   {"Tile", tile},
                                   {"Transpose", transpose},
                                   {"Trilu", trilu},
                                   {"Unsqueeze", unsqueeze}};

}  // namespace

const std::span<const Operator> kMoves = kMovesRows;

}  // namespace zeroloss::internal::graph
