#pragma once
#include <vector>

#include "zeroloss/audit/audit.hpp"

/// What samples that somebody looked at, drawn at random, say of all others (theory 14).
namespace zeroloss::internal {

/// P(label wrong) of all samples by the checked ones, and the rate.
struct Recalibrated {
  Vector wrong;
  Estimate rate;
};

/// right: n, in [0, 1], what the labels alone say. At least one sample was checked.
Recalibrated recalibrate(const Vector& right, const CheckedSamples& checked);

/// Positions of samples that were not checked, whose labels are named wrong so that at most a share `most` of
/// them is right, in expectation over the draw: Benjamini and Hochberg's of the ranks of `right` among those
/// of checked samples whose labels are right. Worst first.
std::vector<Index> guaranteed(const Vector& right, const CheckedSamples& checked, double most);

/// How many guaranteed() would name after so many were `checked`, if labels are wrong with these
/// probabilities: the mean of 20 draws.
double expected_length(const Vector& right, const Vector& wrong, Index checked, double most);

}  // namespace zeroloss::internal
