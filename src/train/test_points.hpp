#pragma once
#include <optional>

#include "zeroloss/train/fit.hpp"

/// Points that are not fitted, ready to be asked about.
namespace zeroloss::internal {

struct TestPoints {
  RowMatrix X;   ///< as the neurons see them
  Matrix Y;      ///< targets, a column an output
  Vector y;      ///< numbers, or indices of classes
  bool classes;  ///< what y is
};

/// None without a test set. `prepared`: what is done to points first. Throws DataError for other features,
/// another task or other classes than those of `data`, and for points that cannot be used.
std::optional<TestPoints> test_points(const TestSet& test, const Dataset& data, const Network& prepared);

/// CurvePoint::test_error of one output. It changes nothing.
std::optional<double> test_error(const TestPoints& points, const TwoLayer& network, Index output,
                                 const Activation& activation);

/// Of all outputs. A point whose outputs are not finite is wrong.
TestResult test_result(const TestPoints& points, const Network& network);

/// Of outputs f, n x K.
TestResult judged(const TestPoints& points, const Matrix& f);

}  // namespace zeroloss::internal
