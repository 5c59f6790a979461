#pragma once
#include <string>

#include "zeroloss/theory/certify.hpp"

namespace zeroloss::internal {

/// What to know and do after certify, a line each: what to expect of unseen points, which width, how many
/// steps, which labels are the hardest. Empty where no network can fit the labels.
std::string advice_text(const Dataset& data, const CertifyOptions& options, const CertifyResult& result);

/// "14.6 % wrong by leave-one-out; by guessing the most frequent class, 60.1 %"; `how` stands behind
/// leave-one-out.
std::string unseen_advice(const Dataset& data, double error, double guessing, const std::string& how);

}  // namespace zeroloss::internal
