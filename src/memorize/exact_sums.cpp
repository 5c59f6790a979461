#include "memorize/exact_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>

#include "base/parallel_for.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kRowsAtOnce = 256;

// 2^e for the largest e such that 2^e divides all integers of which `bits` has the bits.
double lowest_bit(std::uint32_t bits) { return bits == 0 ? 0 : static_cast<double>(bits & (~bits + 1)); }

}  // namespace

Columns columns_of(const RowMatrix& X) {
  const Index n = X.rows(), d = X.cols();
  Columns columns{Vector::Zero(d), Vector::Zero(d)};
  const auto rounded = [&](Index i, Index j) { return static_cast<double>(static_cast<float>(X(i, j))); };
  std::mutex joining;
  const auto each_part = [&](const auto& part) {  // part(from, to) of rows
    parallel_for((n + kRowsAtOnce - 1) / kRowsAtOnce,
                 [&](Index task) { part(task * kRowsAtOnce, std::min(n, (task + 1) * kRowsAtOnce)); });
  };
  each_part([&](Index from, Index to) {
    Vector own = Vector::Zero(d);
    for (Index i = from; i < to; ++i)
      for (Index j = 0; j < d; ++j) own(j) = std::max(own(j), std::abs(rounded(i, j)));
    const std::lock_guard lock(joining);
    columns.largest = columns.largest.cwiseMax(own);
  });
  // Every number in units of 2^-23 of the power of two below its column's largest: an integer, or too fine.
  Vector unit(d);
  for (Index j = 0; j < d; ++j) {
    int exponent = 0;
    std::frexp(columns.largest(j), &exponent);
    unit(j) = columns.largest(j) > 0 ? std::ldexp(1.0, 24 - exponent) : 0;
  }
  using Bits = Eigen::Vector<std::uint32_t, Eigen::Dynamic>;
  Bits bits = Bits::Zero(d), fine = Bits::Zero(d);  // of all integers; 1 where a number is none
  each_part([&](Index from, Index to) {
    Bits own = Bits::Zero(d), off = Bits::Zero(d);
    for (Index i = from; i < to; ++i)
      for (Index j = 0; j < d; ++j) {
        const double number = std::abs(rounded(i, j)) * unit(j);  // at most 2^24
        const auto integer = static_cast<std::int32_t>(number);
        own(j) |= static_cast<std::uint32_t>(integer);
        off(j) |= static_cast<double>(integer) != number ? 1U : 0U;
      }
    const std::lock_guard lock(joining);
    for (Index j = 0; j < d; ++j) bits(j) |= own(j), fine(j) |= off(j);
  });
  for (Index j = 0; j < d; ++j)
    if (fine(j) == 0 && unit(j) > 0 && std::isfinite(unit(j)))
      columns.quantum(j) = lowest_bit(bits(j)) / unit(j);
  return columns;
}

bool is_exact_sum(const Columns& columns, const Eigen::Ref<const Vector>& weights, double b) {
  double quantum = std::numeric_limits<double>::infinity(), sum = 0;
  const auto add = [&](double largest, double multiple) {
    sum += largest;
    quantum = std::min(quantum, multiple);
  };
  const auto multiple_of = [](double x) {  // the largest power of two that divides x
    int exponent = 0;
    const double digits = std::frexp(std::abs(x), &exponent);
    const auto integer = static_cast<std::uint64_t>(std::ldexp(digits, 53));
    return std::ldexp(static_cast<double>(integer & (~integer + 1)), exponent - 53);
  };
  for (Index j = 0; j < weights.size(); ++j)
    if (weights(j) != 0 && columns.largest(j) != 0)
      add(std::abs(weights(j)) * columns.largest(j), multiple_of(weights(j)) * columns.quantum(j));
  if (b != 0) add(std::abs(b), multiple_of(b));
  // Products and sums are multiples of `quantum` below 2^24 of it: floats, unless they leave their range.
  return sum == 0 || (quantum >= 0x1p-126 && sum <= kFloatIntegers * quantum && sum < 0x1p127);
}

ExactWeights exact_weights(const Columns& columns, const Vector& scale) {
  constexpr double kRoom = 4;          // for a shift as large as the sum, in halves of the quantum
  constexpr double kMultipliers = 64;  // more are no better
  constexpr std::size_t kEnough = 32;  // columns that tell points apart, where not all can be had
  const Index d = scale.size();
  std::vector<Index> order;  // of the columns that are not 0, the coarsest first
  for (Index j = 0; j < d; ++j)
    if (columns.largest(j) > 0) order.push_back(j);
  const auto step = [&](Index j) { return columns.quantum(j) * scale(j); };
  std::ranges::stable_sort(order, std::greater{}, step);
  ExactWeights best;
  double sum = 0;
  for (std::size_t count = 1; count <= order.size(); ++count) {
    const Index last = order[count - 1];
    sum += columns.largest(last) * scale(last);
    if (!(step(last) > 0) || !std::isfinite(sum)) break;
    if (count < order.size() && step(order[count]) == step(last)) continue;  // it may be had as well
    const double budget = kFloatIntegers * step(last) / kRoom;
    const double mean = sum / static_cast<double>(count);
    const auto chosen = sum <= budget ? count : static_cast<std::size_t>(budget / mean / 2);
    if (chosen <= best.chosen) continue;
    best.columns.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    best.chosen = chosen;
    best.largest = std::clamp(std::floor(budget / sum), 1.0, kMultipliers);
  }
  if (best.chosen < std::min(order.size(), kEnough)) return {};
  return best;
}

}  // namespace zeroloss::internal
