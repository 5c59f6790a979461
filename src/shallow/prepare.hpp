#pragma once
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"
#include "zeroloss/shallow/suspects.hpp"

/// What certify and fit do to a data set before they look at it.
namespace zeroloss {

/// Rows of unit length, centred first if asked for; `records` filled in. Throws DataError for bad data and,
/// without normalisation, for a row whose length is off 1 by more than 1e-12. `mean` receives what was
/// subtracted.
Dataset unit_points(const Dataset& data, bool center, bool normalize, Vector* mean = nullptr);

/// What is trained on: unit rows, equal points with equal labels once.
struct TrainingSet {
  Dataset points;
  Matrix Y;                                    ///< targets, a column an output
  Vector mean;                                 ///< what was subtracted; empty if nothing was
  std::vector<std::vector<Sample>> conflicts;  ///< equal points with different labels; a row a label is kept
};

/// Throws as unit_points, and DataError for data without targets or with targets whose squares leave the
/// range of numbers.
TrainingSet training_set(const Dataset& data, bool center, bool normalize);

/// Keeps the given rows, which are ascending, in place.
void keep(Dataset& data, const std::vector<Index>& rows);

/// Two samples of the first group of equal points with different labels; and how many more groups there are.
std::string conflict_text(const std::vector<std::vector<Sample>>& conflicts);
std::string more_conflicts(const std::vector<std::vector<Sample>>& conflicts);

/// ||y||, rounded up.
double norm_above(const Vector& y);

}  // namespace zeroloss
