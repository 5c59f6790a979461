#pragma once
#include "present/claims.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/train/fit.hpp"

/// The claims of each command's answer.
namespace zeroloss::internal {

void claim_certify(Claims& claims, const Dataset& data, const CertifyOptions& options,
                   const CertifyResult& r);

/// Of networks of one hidden layer: an exact one beside the trained, and descent that reaches one.
void claim_fit(Claims& claims, const Dataset& data, const FitResult& r);

/// Of labels and networks beside weights. Where the file is no network of layers, or what was read is only
/// near it, its labels are claims that name the file, which is not what another program reads.
void claim_prove(Claims& claims, const std::string& model, const ReadNetwork& network, const Dataset& data,
                 const ProveOptions& options, const ProveResult& r);

}  // namespace zeroloss::internal
