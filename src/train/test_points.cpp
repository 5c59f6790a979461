#include "train/test_points.hpp"

#include <fmt/format.h>

#include <cmath>

#include "network/prepare.hpp"
#include "train/checkpoint.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
namespace internal {
namespace {

double root_mean_square(const Vector& r) { return r.norm() / std::sqrt(static_cast<double>(r.size())); }

std::string task_text(const Dataset& data) {
  return name(data.task) + (data.class_names.empty() ? "" : " of " + excerpt(data.class_names));
}

}  // namespace

std::optional<TestPoints> test_points(const TestSet& test, const Dataset& data, const Network& prepared) {
  if (!test.data) return {};
  Dataset points = *test.data;
  if (points.d() != data.d())
    throw DataError(fmt::format("fit: `test` {} has {} features; {} has {}", points.name, points.d(),
                                data.name, data.d()));
  if (points.task != data.task || points.class_names != data.class_names)
    throw DataError(fmt::format("fit: `test` {} is for {}; {} is for {}", points.name, task_text(points),
                                data.name, task_text(data)));
  prepare(points, prepared);
  Matrix Y = targets(points);
  return TestPoints{std::move(points.X), std::move(Y), points.y, points.task == Task::classification};
}

std::optional<double> test_error(const TestPoints& points, const TwoLayer& network, Index output,
                                 const Activation& activation) {
  const Vector f = outputs(network, activation, points.X), y = points.Y.col(output);
  if (!f.allFinite()) return {};
  if (const double error = root_mean_square(f - y); !points.classes)
    return std::isfinite(error) ? std::optional(error) : std::nullopt;
  const auto wrong = ((f.array() >= 0) != (y.array() > 0)).count();
  return static_cast<double>(wrong) / static_cast<double>(f.size());
}

TestResult test_result(const TestPoints& points, const Network& network) {
  Matrix f(points.Y.rows(), points.Y.cols());
  for (Index c = 0; c < f.cols(); ++c)
    f.col(c) =
        outputs(network.outputs[static_cast<std::size_t>(c)], activation(network.activation), points.X);
  return judged(points, f);
}

TestResult judged(const TestPoints& points, const Matrix& f) {
  TestResult result{.n = f.rows()};
  if (!points.classes) {
    result.error = root_mean_square(f.col(0) - points.y);
    return result;
  }
  const auto said = predicted_classes(f);
  result.wrong = 0;
  for (Index i = 0; i < result.n; ++i)
    if (!f.row(i).allFinite() || said[static_cast<std::size_t>(i)] != static_cast<Index>(points.y(i)))
      ++*result.wrong;
  result.error = static_cast<double>(*result.wrong) / static_cast<double>(result.n);
  return result;
}

}  // namespace internal

std::string text_of(const TestSet& test) {
  return test.data ? internal::points_digest(test.data->X, test.data->y) : "none";
}

}  // namespace zeroloss
