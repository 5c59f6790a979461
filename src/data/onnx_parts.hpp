#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/storage/onnx.hpp"

/// What ONNX files of networks of every kind begin and end with. Points are rows; results are names of
/// values, as of OnnxModel::node.
namespace zeroloss::internal {

/// Numbers in row order as a constant of this type, float32 or float64.
std::string constant_of(OnnxModel& model, const std::string& name, const std::vector<Index>& shape,
                        const double* numbers, Dtype dtype);

/// x with a column of this value behind its own.
std::string with_constant(OnnxModel& model, const std::string& x, double value, Dtype dtype,
                          const std::string& name = "");

/// x with each row divided by its length: by its largest number first, so that squares stay in range.
std::string of_unit_length(OnnxModel& model, const std::string& x, const std::string& name = "");

/// Adds the output "label", [batch] int64: the column in which y is largest, the first of equal ones.
void add_largest(OnnxModel& model, const std::string& y);

/// The same for networks of which a single output says by its sign which of two classes it is: 1 where it is
/// >= 0.
void add_class(OnnxModel& model, const std::string& y, Index outputs, Dtype dtype);

}  // namespace zeroloss::internal
