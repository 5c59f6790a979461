#pragma once
#include <vector>

#include "zeroloss/data/dataset.hpp"

/// Predictions of somebody's model beside the audit's own (theory 14).
namespace zeroloss::internal {

/// Throws DataError for probabilities of other samples or classes, or that are none.
void check_probabilities(const Dataset& data, const char* who);

/// Classes are softmax(own F + given log(P + 0.001)).
struct Blend {
  double own = 0, given = 0;  ///< >= 0

  /// n x c probabilities.
  Matrix operator()(const Matrix& F, const RowMatrix& P) const;
};

/// The likeliest for these labels. F: n x c outputs, each without its own sample; P: n x c probabilities.
/// Throws Interrupted.
Blend fit_blend(const Matrix& F, const RowMatrix& P, const std::vector<Index>& labels,
                const Progress& progress = {});

}  // namespace zeroloss::internal
