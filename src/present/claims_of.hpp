#pragma once
#include "present/claims.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/linear/linear.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/train/fit.hpp"
#include "zeroloss/width/width.hpp"

/// The claims of each command's answer.
namespace zeroloss::internal {

void claim_certify(Claims& claims, const Dataset& data, const CertifyOptions& options,
                   const CertifyResult& r);

/// Equal points with different targets, of which `groups` are.
void claim_conflicts(Claims& claims, const std::string& points, const Dataset& data,
                     const std::vector<std::vector<Sample>>& groups, const std::string& text);

/// An exact network beside the trained, and descent that reaches one; or that there is none.
void claim_fit(Claims& claims, const Dataset& data, const FitOptions& options, const FitResult& r);

/// Claims of rows about these points, all samples: that networks narrower than `too_few` are so, at points of
/// this rank, and that gradient descent from pairs fits these labels, or any, to this accuracy.
void claim_rows(Claims& claims, const std::string& points, const Dataset& data,
                const std::string& activation_name, bool center, bool normalize,
                const std::vector<WidthRow>& rows, Index rank, double accuracy);
/// Claims of the theorems about random weights at these points, all samples, whose lambda is verified.
void claim_theorems(Claims& claims, const std::string& points, const Dataset& data,
                    const std::string& activation_name, const std::vector<Guarantee>& guarantees);
/// All of them, the network that was found, and widths that are enough with biases; or that no width is.
void claim_width(Claims& claims, const Dataset& data, const WidthOptions& options, const WidthResult& r);

/// The claim that a network of classes is right at every point, or at some of them where all are too many.
void claim_memorize(Claims& claims, const Dataset& data, const MemorizeResult& r);

/// Claims of the exact factorisations at the last depth.
void claim_linear(Claims& claims, const LinearResult& r);

/// A network of nodes, by its name.
struct ClaimedGraph {
  std::string name;
  double products = 0;  ///< that a sample takes
  Index last = -1;      ///< the node that is the last linear map, if nothing but constants is added behind it
  Index last_inputs = 0;
  bool last_bias = false;
};

/// A graph at points of d numbers as a network of nodes, what it computes in exact arithmetic; `less` is
/// subtracted from its outputs. Throws DataError, naming the node, where that is not written.
ClaimedGraph claim_graph(Claims& claims, const std::string& name, const GraphNetwork& network, Index d,
                         double less);

/// Of labels and networks beside weights. Where a graph is not written as nodes, what is said of it are
/// claims that name the file, which is not what another program reads.
void claim_prove(Claims& claims, const std::string& model, const ReadNetwork& network, const Dataset& data,
                 const ProveOptions& options, const ProveResult& r);

}  // namespace zeroloss::internal
