#include "graph/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal::graph {
namespace {

// Roundoff, smallest normal and largest number of a type.
struct Format {
  double v, lost, largest;
};
constexpr Format kSingle{0x1p-24, 0x1p-126, 0x1p127}, kDouble{0x1p-53, 0x1p-1022, 0x1p1023},
    kHalf{0x1p-11, 0x1p-14, 65504}, kBrain{0x1p-8, 0x1p-126, 0x1p127};

Format format_of(OnnxType type) {
  switch (type) {
    case OnnxType::float64:
      return kDouble;
    case OnnxType::float16:
      return kHalf;
    case OnnxType::bfloat16:
      return kBrain;
    default:
      return kSingle;
  }
}

}  // namespace

bool keeps_numbers(const std::string& op) {
  static const std::set<std::string> all{"Identity", "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze"};
  return all.contains(op);
}

bool is_real(OnnxType type) { return is_float(type) || is_half(type); }

Rounding rounding_of(Execution execution, OnnxType type) {
  Rounding r;
  r.precise = execution == Execution::precise;
  if (execution == Execution::exact || r.precise) return r;
  const Format own = format_of(type);
  r = {.v = own.v, .lost = own.lost, .largest = own.largest};
  if (type != OnnxType::float32 || execution == Execution::float32) return r;
  const Format factors = execution == Execution::float16 ? kHalf : kBrain;
  r.factor = execution == Execution::tf32 ? 0x1p-10 : factors.v;
  r.factor_lost = factors.lost;
  r.factor_largest = factors.largest;
  r.sum = 0x1p-22;
  return r;
}

const Operator* operator_called(const std::string& name) {
  static const std::map<std::string_view, const Operator*> all = [] {
    std::map<std::string_view, const Operator*> rows;
    for (const auto& part : {kAffine, kArithmetic, kConvolution, kFunctions, kLearning, kLogic, kMoves,
                             kNormalizations, kPooling, kReductions, kShapes})
      for (const Operator& row : part) rows[row.name] = &row;
    return rows;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

void Call::refuse(const std::string& why) const { throw DataError(fmt::format("{}: {}", called(node), why)); }

const Value& Call::input(std::size_t k) const {
  if (!has(k)) refuse(fmt::format("its input {} is left out", k + 1));
  return *inputs[k];
}

const Value& Call::numbers(std::size_t k) const {
  const Value& value = input(k);
  if (!is_real(value.type))
    refuse(
        fmt::format("its input {} is of {}, which is not read as real numbers", k + 1, name_of(value.type)));
  if (value.size() == 0) refuse(fmt::format("its input {} has no numbers", k + 1));
  return value;
}

const std::vector<std::int64_t>& Call::integers(std::size_t k) const {
  const Value& value = input(k);
  if (value.varies || !is_integer(value.type) || value.size() != std::ssize(value.integers))
    refuse(fmt::format("its input {} is no constant of integers", k + 1));
  return value.integers;
}

double Call::number(std::size_t k) const {
  const Value& value = input(k);
  if (value.varies || value.size() != 1 || value.h.size() != 1 || !value.exact())
    refuse(fmt::format("its input {} is no constant number", k + 1));
  return value.h(0, 0);
}

std::vector<std::int64_t> Call::listed(const std::string& attribute, std::size_t input) const {
  if (const auto* list = node.find<std::vector<std::int64_t>>(attribute)) return *list;
  return has(input) ? integers(input) : std::vector<std::int64_t>{};
}

std::size_t Call::axis(std::int64_t axis, std::size_t rank) const {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) refuse(fmt::format("its axis {} is none of {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

}  // namespace zeroloss::internal::graph
