#pragma once
#include <vector>

#include "audit/logit_calibration.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// Labels that contradict predictions are wrong, or their classes overlap. Both explain them; how much of
/// each is said by how well labels are predicted without themselves.
namespace zeroloss::internal {

constexpr int kMostTurns = 40;  ///< of an explanation

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
class Explaining {
 public:
  Explaining(const LogitCalibration& link, const std::vector<Index>& labels, double pseudo, Matrix classes);

  void turn(int most, const Progress& progress);  ///< so many times more, or until the likelihood stays
  /// n c^3 multiply-adds; `nearly`: n c^2, by logits_nearly_without().
  double evidence(bool nearly, const Progress& progress) const;
  Explanation explanation(const Progress& progress) const { return {B_, evidence(false, progress)}; }

 private:
  const LogitCalibration* link_;
  const std::vector<Index>* labels_;
  double pseudo_, before_;
  Matrix classes_, B_, T_;
  bool ended_ = false;
};

/// One alone, to its end.
Explanation explain(const Matrix& F, const std::vector<Index>& labels, double sharpness, double precision,
                    double pseudo, Matrix classes, const Progress& progress = {});

}  // namespace zeroloss::internal
