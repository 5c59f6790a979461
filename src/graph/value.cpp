#include "graph/value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal::graph {

Index count_of(const Shape& shape) {
  Index count = 1;
  for (const Index size : shape)  // what overflows is as many as nothing has
    if (__builtin_mul_overflow(count, size, &count)) return std::numeric_limits<Index>::max();
  return count;
}

double length_above(const double* x, Index count) {
  const Eigen::Map<const Vector> all(x, count);
  const double largest = count == 0 ? 0 : all.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
  if (largest > 1e-140 && largest < 1e140) return all.norm() * kUp;  // squares neither overflow nor vanish
  return largest == 0 ? 0 : largest * std::sqrt(static_cast<double>(count)) * kUp;
}

void require_room(const Shape& shape, Index rows) {
  constexpr double kSmall = 0x1p26;  // bytes that are there
  const double bytes = 16.0 * static_cast<double>(count_of(shape)) * static_cast<double>(rows);
  if (bytes < kSmall) return;
  require_memory(bytes,
                 fmt::format("a value of {} numbers, {} at a time, with bounds of their errors",
                             fmt::join(shape, " x "), count(rows, "sample", "samples")),
                 "the graph makes too much of a sample");
}

Value blank(OnnxType type, Shape shape, bool varies, Index rows) {
  require_room(shape, rows);
  Value value{.type = type, .shape = std::move(shape), .varies = varies, .h = {}, .e = {}, .eps = {}};
  value.h.resize(rows, value.size());
  value.e.setZero(rows, value.size());
  return value;
}

void settle(Value& value, const Vector& known) {
  if ((value.e.array() == 0).all()) {
    value.e.resize(0, 0);
    value.eps.resize(0);
    return;
  }
  value.eps.resize(value.e.rows());
  for (Index i = 0; i < value.e.rows(); ++i) {
    auto row = value.e.row(i);
    double norm = length_above(row.data(), row.size());
    // Where one has no bound, as after an overflow, norms of what is finite say nothing.
    if (!(norm < kInfinite)) norm = kInfinite;
    if (norm < kInfinite && known.size() > 0 && known(i) < norm) norm = known(i);
    value.eps(i) = norm;
    for (double& e : row)
      if (!(e <= norm)) e = norm;  // NaN too
  }
}

Value moved(const Value& value, Shape shape, const std::vector<Index>& from, double fill) {
  require_room(shape, value.h.rows());
  Value made{
      .type = value.type, .shape = std::move(shape), .varies = value.varies, .h = {}, .e = {}, .eps = {}};
  made.terms = value.terms;
  const auto size = std::ssize(from);
  const auto list = [&](const auto& values, auto& into, auto missing) {
    if (values.empty()) return;
    into.reserve(from.size());
    for (const Index k : from) into.push_back(k < 0 ? missing : values[static_cast<std::size_t>(k)]);
  };
  if (!value.integers.empty()) list(value.integers, made.integers, static_cast<std::int64_t>(fill));
  list(value.texts, made.texts, std::string());
  const auto numbers = [&](const RowMatrix& values, RowMatrix& into, double missing) {
    if (values.size() == 0) return;
    into.resize(values.rows(), size);
    for (Index i = 0; i < values.rows(); ++i) {
      const double* row = values.data() + i * values.cols();
      double* out = into.data() + i * size;
      for (Index k = 0; k < size; ++k) {
        const Index place = from[static_cast<std::size_t>(k)];
        out[k] = place < 0 ? missing : row[place];
      }
    }
  };
  numbers(value.h, made.h, fill);
  numbers(value.e, made.e, 0);
  if (value.exact()) return made;
  std::vector<int> uses(static_cast<std::size_t>(value.size()), 0);
  int most = 1;
  for (const Index k : from)
    if (k >= 0) most = std::max(most, ++uses[static_cast<std::size_t>(k)]);
  settle(made, value.eps * (std::sqrt(static_cast<double>(most)) * kUp));
  return made;
}

}  // namespace zeroloss::internal::graph
