#pragma once
#include <string>

#include "zeroloss/theory/certify.hpp"

namespace zeroloss::internal {

/// What to do with certify's answer, a line each: which width, which step and how many of them, which labels
/// to look at. Empty where no network can fit the labels.
std::string advice_text(const CertifyOptions& options, const CertifyResult& result);

}  // namespace zeroloss::internal
