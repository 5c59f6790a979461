#pragma once
#include <string>
#include <vector>

#include "zeroloss/audit/audit.hpp"

/// What people said of labels: a csv as a page of `zeroloss report` saves it, or as drawn.csv was filled in.
/// Columns `sample` (the 0-based record), `decision` (keep or right; relabel, drop or wrong; empty where
/// nothing was decided) and, if it is there, `label`, which has to be that of the data.
namespace zeroloss {

/// Of samples that `draw` named, all of them: columns `drawn` and `seed` say of which draw. Throws DataError
/// for another file, other labels, samples that were not drawn or have no decision.
CheckedSamples read_checked(const std::string& path, const Dataset& data);

/// Positions of the samples whose labels were left as they are, ascending. Throws DataError for another file
/// or other labels.
std::vector<Index> read_accepted(const std::string& path, const Dataset& data);

}  // namespace zeroloss
