#pragma once
#include "network/prepare.hpp"
#include "train/fit_options.hpp"

/// The weights that training of an output begins with.
namespace zeroloss::internal {

/// Throws std::invalid_argument for a start that does not go with the options, DataError for one that does
/// not fit the data.
void check_start(const CheckedOptions& options, const Dataset& data, const TrainingSet& set);

/// Those of output `index` with targets y at the points X: as drawn, or as given (check_start was passed).
/// Throws std::invalid_argument where they leave the range of the precision.
TwoLayer first_weights(const CheckedOptions& options, const RowMatrix& X, const Vector& y, Index index);

}  // namespace zeroloss::internal
