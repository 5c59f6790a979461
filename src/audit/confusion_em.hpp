#pragma once
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// Labels that contradict predictions are wrong, or their classes overlap. Both explain them; how much of
/// each is said by how well labels are predicted without themselves.
namespace zeroloss::internal {

/// c x c counts of samples, class by label.
Matrix tally(const Matrix& classes, const std::vector<Index>& labels);

/// P(label k | class j) by counts, with `pseudo` samples more of each class, of which as many are wrong as of
/// all, each equally likely. The diagonal is at 1/2 or more: else classes would be renamed.
Matrix transitions(const Matrix& counts, double pseudo);

/// Logarithm of the probability of labels with these counts, one after the other, each by those before it and
/// the pseudo-samples: prod_j prod_k Gamma(pseudo p_jk + C_jk)/Gamma(pseudo p_jk) over Gamma(pseudo +
/// C_j)/Gamma(pseudo).
double log_evidence(const Matrix& counts, double pseudo);

/// A link and transitions that explain the labels together.
struct Explanation {
  Matrix link;
  double evidence = 0;  ///< logarithm of the labels' probability
};

/// The locally likeliest from `classes` on (P(class | x, label), n x c), by expectation maximisation. Its
/// evidence: each label by the link without its sample, and transitions as log_evidence has them in place of
/// the likeliest (Cheeseman & Stutz 1996). Cancelled, it ends early, and means nothing.
Explanation explain(const Matrix& F, const std::vector<Index>& labels, double sharpness, double precision,
                    double pseudo, Matrix classes, const Progress& progress = {});

}  // namespace zeroloss::internal
