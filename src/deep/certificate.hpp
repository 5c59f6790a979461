#pragma once
#include <optional>
#include <string>
#include <vector>

#include "deep/evaluate.hpp"
#include "zeroloss/deep/certificate.hpp"

/// certify_network and verified_outputs in parts, for those who need a network's norms and values at the
/// points for both.
namespace zeroloss::internal {

/// Why no certificate of N equations is tried; empty if there is no such reason.
std::string obstacle_to_certificate(const DeepNetwork& network, const Moving& moving, Index N);

/// What certify_network says, from an evaluation at the points of the equations with root_counts() of them;
/// memory (require_gram_memory) and obstacles are for the caller to ask for.
DeepCertificate certify(const DeepNetwork& network, const std::vector<verified::LayerNorms>& norms,
                        verified::DeepEvaluation e, const DeepEquations& equations, Progress& progress);

/// Whether a few of the equations show already that certify() would prove nothing: then h and the rest of a
/// certificate that says so, but for misfit and reason. Nothing where they do not show it, or are not fewer
/// by far than all. A lower bound: of all equations h is no smaller.
std::optional<DeepCertificate> refuted_by_some(const DeepNetwork& network,
                                               const std::vector<verified::LayerNorms>& norms,
                                               const DeepEquations& equations, Progress& progress);

/// Why h, at least this, is too large for such a misfit.
std::string reason_of_h(double h, double misfit);

/// Outputs of an evaluation at the points X.
VerifiedOutputs outputs_of(const DeepNetwork& network, const std::vector<verified::LayerNorms>& norms,
                           const Eigen::Ref<const RowMatrix>& X, const verified::DeepEvaluation& e);

/// Outputs at any number of points, a block of which is in memory at a time.
VerifiedOutputs outputs_in_blocks(const DeepNetwork& network, const std::vector<verified::LayerNorms>& norms,
                                  const Eigen::Ref<const RowMatrix>& X, Progress& progress);

}  // namespace zeroloss::internal
