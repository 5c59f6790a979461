#include "zeroloss/data/dataset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "zeroloss/core/error.hpp"

namespace zeroloss {
namespace {

// 64 bits of mantissa hold the stated error of a norm; 15 bits of exponent hold the squares of all doubles.
static_assert(std::numeric_limits<long double>::digits >= 64 &&
                  std::numeric_limits<long double>::max_exponent >= 16384,
              "norms need an extended long double");

/// Summed in blocks, so that the error is at most (128 + d/128) 2^-64 relative.
long double norm(const double* row, Index d) {
  constexpr Index kBlock = 128;
  long double sum = 0;
  for (Index begin = 0; begin < d; begin += kBlock) {
    long double part = 0;
    for (Index j = begin; j < std::min(d, begin + kBlock); ++j)
      part += static_cast<long double>(row[j]) * row[j];
    sum += part;
  }
  return std::sqrt(sum);
}

Index record(const Dataset& data, Index i) {
  return data.records.empty() ? i : data.records[static_cast<std::size_t>(i)];
}

[[noreturn]] void fail(const Dataset& data, const std::string& what) {
  throw DataError(fmt::format("{}: {}", data.name.empty() ? "data" : data.name, what));
}

void check_targets(const Dataset& data) {
  if (data.task == Task::none) {
    if (data.y.size() != 0) fail(data, fmt::format("{} targets, but no task", data.y.size()));
    return;
  }
  if (data.y.size() != data.n()) fail(data, fmt::format("{} targets for {} points", data.y.size(), data.n()));
  for (Index i = 0; i < data.n(); ++i) {
    const double y = data.y(i);
    if (!std::isfinite(y)) fail(data, fmt::format("record {}: target {} is not finite", record(data, i), y));
    if (data.task != Task::classification) continue;
    if (y < 0 || y >= static_cast<double>(data.classes()) || y != std::floor(y))
      fail(data, fmt::format("record {}: class index {}; expected an integer from 0 to {}", record(data, i),
                             y, data.classes() - 1));
  }
}

}  // namespace

std::string name(Task task) {
  constexpr std::array names{"none", "regression", "classification"};
  return names[static_cast<std::size_t>(task)];
}

Sample sample(const Dataset& data, Index i) {
  Sample named{record(data, i), ""};
  if (data.task == Task::classification) named.label = data.class_names[static_cast<std::size_t>(data.y(i))];
  if (data.task == Task::regression) named.label = fmt::format("{}", data.y(i));  // all digits
  return named;
}

std::string describe(const Sample& sample) {
  return sample.label.empty() ? fmt::format("{}", sample.record)
                              : fmt::format("{} (label {})", sample.record, sample.label);
}

void check_dataset(const Dataset& data) {
  if (data.n() < 1 || data.d() < 1)
    fail(data, fmt::format("{} points of {} numbers; expected at least one of each", data.n(), data.d()));
  const auto agrees = [](std::size_t size, Index expected) {
    return size == 0 || static_cast<Index>(size) == expected;
  };
  if (!agrees(data.records.size(), data.n()))
    fail(data, fmt::format("{} record numbers for {} points", data.records.size(), data.n()));
  if (!agrees(data.feature_names.size(), data.d()))
    fail(data, fmt::format("{} feature names for {} features", data.feature_names.size(), data.d()));
  for (Index i = 0; i < data.n(); ++i)
    for (Index j = 0; j < data.d(); ++j)
      if (!std::isfinite(data.X(i, j)))
        fail(data, fmt::format("record {}, column {}: {}; expected a finite number", record(data, i), j,
                               data.X(i, j)));
  check_targets(data);
}

Vector center(Dataset& data) {
  std::vector<long double> mean(static_cast<std::size_t>(data.d()));
  for (Index i = 0; i < data.n(); ++i)
    for (Index j = 0; j < data.d(); ++j) mean[static_cast<std::size_t>(j)] += data.X(i, j);
  for (long double& sum : mean) sum /= static_cast<long double>(data.n());
  for (Index i = 0; i < data.n(); ++i)
    for (Index j = 0; j < data.d(); ++j)
      data.X(i, j) = static_cast<double>(data.X(i, j) - mean[static_cast<std::size_t>(j)]);
  Vector rounded(data.d());
  for (Index j = 0; j < data.d(); ++j) rounded(j) = static_cast<double>(mean[static_cast<std::size_t>(j)]);
  return rounded;
}

void normalize_rows(Dataset& data) {
  std::vector<Index> zero;
  for (Index i = 0; i < data.n(); ++i)
    if ((data.X.row(i).array() == 0).all()) zero.push_back(record(data, i));
  if (!zero.empty()) {
    const std::size_t shown = std::min<std::size_t>(zero.size(), 10);
    fail(data,
         fmt::format("{} zero row{} cannot be normalised: record{} {}{}; remove {}, or do not normalise",
                     zero.size(), zero.size() == 1 ? "" : "s", zero.size() == 1 ? "" : "s",
                     fmt::join(zero.begin(), zero.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     zero.size() > shown ? ", ..." : "", zero.size() == 1 ? "it" : "them"));
  }
  for (Index i = 0; i < data.n(); ++i) {
    double* row = data.X.row(i).data();
    const long double length = norm(row, data.d());
    for (Index j = 0; j < data.d(); ++j) row[j] = static_cast<double>(row[j] / length);
  }
}

void check_unit_rows(const Dataset& data) {
  for (Index i = 0; i < data.n(); ++i)
    if (const double length = data.X.row(i).norm(); !(std::abs(length - 1) <= 1e-12))
      fail(data,
           fmt::format("record {} has length {:.17g}; without normalisation every row must have length 1",
                       record(data, i), length));
}

Matrix targets(const Dataset& data) {
  if (data.task == Task::none)
    throw std::invalid_argument(
        "targets: the data set has no targets; give task regression or classification");
  if (data.task == Task::regression) return data.y;
  if (data.classes() < 2)
    fail(data, fmt::format("{} classes; classification needs at least two", data.classes()));
  if (data.classes() == 2) return (2 * data.y.array() - 1).matrix();
  Matrix columns = Matrix::Constant(data.n(), data.classes(), -1);
  for (Index i = 0; i < data.n(); ++i) columns(i, static_cast<Index>(data.y(i))) = 1;
  return columns;
}

}  // namespace zeroloss
