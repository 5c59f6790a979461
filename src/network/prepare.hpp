#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/separation.hpp"
#include "zeroloss/network/network.hpp"

/// What certify and fit do to a data set before they look at it, and networks to what they are asked about.
namespace zeroloss::internal {

/// The points (x - c)/||x - c|| that proofs are about, as doubles; which of them coincide is decided exactly.
struct UnitPoints {
  Dataset data;   ///< unit rows, within unit_row_error(d) of the points; `records` filled in
  Center center;  ///< c; empty if nothing is subtracted
  Standardization standardization;  ///< x is what this makes of the data; empty: the data as they are
  Coincidences coincide;
};

/// What is done to the points first: nothing where they are to be taken as they are.
const Standardization& standardization_for(const Dataset& data, bool normalize);

/// The points x, exactly: those of `data` where nothing is done to them, else `made`.
const RowMatrix& exact_points(const Dataset& data, const Standardization& standardization, RowMatrix& made);

/// Throws DataError for bad data and, without normalisation, for a row whose length is off 1 by more than
/// 1e-12.
UnitPoints unit_points(const Dataset& data, bool center, bool normalize);

/// Whether rows have one label or target; true without labels.
bool labels_agree(const Dataset& data, const std::vector<Index>& rows);
std::vector<Sample> samples(const Dataset& data, const std::vector<Index>& rows);

/// Equal points with different labels, a group each.
std::vector<std::vector<Sample>> conflicting_samples(const UnitPoints& points);

/// The nearest pair of different points within 1e-6, or of those with different targets if there are any.
std::optional<SamplePair> nearest(const UnitPoints& points);

/// What is trained on: every sample; and what is to be proved: an equation for each distinct point.
struct TrainingSet {
  Dataset points;
  Matrix Y;                         ///< targets, a column an output
  Center center;                    ///< what was subtracted; empty if nothing was
  Standardization standardization;  ///< and what was done before
  /// Equal points with different labels; a row a label is distinct.
  std::vector<std::vector<Sample>> conflicts;
  std::vector<Index> distinct;        ///< rows of points, ascending; empty if all are
  Vector counts;                      ///< how often each of them occurs; empty if all are distinct
  RowMatrix distinct_X;               ///< those rows; empty if all are distinct
  std::optional<SamplePair> nearest;  ///< two different points that are hard to tell apart

  Index n_distinct = 0;  ///< points; conflicting targets give more equations than points

  const RowMatrix& X() const { return counts.size() > 0 ? distinct_X : points.X; }  ///< distinct points
  Vector y(Index output) const;                                                     ///< their targets
};

/// Throws as unit_points, and DataError for data without targets or with targets whose squares leave the
/// range of numbers.
TrainingSet training_set(const Dataset& data, bool center, bool normalize);

/// Points as the neurons of a network see them: standardised, centred, of unit length. Throws DataError for
/// bad data, naming the records of rows without a length.
void prepare(Dataset& points, const Network& network);
void prepare(Dataset& points, const Center& center, const Standardization& standardization, bool normalize);

/// Keeps the given rows, which are ascending, in place.
void keep(Dataset& data, const std::vector<Index>& rows);

SamplePair sample_pair(const Dataset& data, const Pair& pair);

/// "samples 3 (label a) and 5 (label b) are different points, but no farther apart than 2.3e-16 once they are
/// divided by their lengths", rounded up.
std::string nearness(const SamplePair& pair, Index d);

/// Two samples of the first group of equal points with different labels; and how many more groups there are.
std::string conflict_text(const std::vector<std::vector<Sample>>& conflicts);
std::string more_conflicts(const std::vector<std::vector<Sample>>& conflicts);

/// ||y||, rounded up.
double norm_above(const Vector& y);

}  // namespace zeroloss::internal
