#pragma once
#include "present/claims.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/linear/linear.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/train/fit.hpp"
#include "zeroloss/width/width.hpp"

/// The claims of each command's answer.
namespace zeroloss::internal {

void claim_certify(Claims& claims, const Dataset& data, const CertifyOptions& options,
                   const CertifyResult& r);

/// Of networks of one hidden layer: an exact one beside the trained, and descent that reaches one.
void claim_fit(Claims& claims, const Dataset& data, const FitResult& r);

/// The claim that networks narrower than the row `too_few`, if there is one, are too few at points of this
/// rank.
void claim_too_few(Claims& claims, const std::string& points, const std::string& activation_name,
                   const std::vector<WidthRow>& rows, Index rank);
/// The claim of width's row `too_few`.
void claim_width(Claims& claims, const Dataset& data, const WidthOptions& options, const WidthResult& r);

/// Claims of the exact factorisations at the last depth.
void claim_linear(Claims& claims, const LinearResult& r);

/// Of labels and networks beside weights. Where the file is no network of layers, or what was read is only
/// near it, its labels are claims that name the file, which is not what another program reads.
void claim_prove(Claims& claims, const std::string& model, const ReadNetwork& network, const Dataset& data,
                 const ProveOptions& options, const ProveResult& r);

}  // namespace zeroloss::internal
