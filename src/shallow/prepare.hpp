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

/// Keeps the given rows, which are ascending, in place.
void keep(Dataset& data, const std::vector<Index>& rows);

/// Two samples of the first group of equal points with different labels; and how many more groups there are.
std::string conflict_text(const std::vector<std::vector<Sample>>& conflicts);
std::string more_conflicts(const std::vector<std::vector<Sample>>& conflicts);

/// ||y||, rounded up.
double norm_above(const Vector& y);

}  // namespace zeroloss
