#include <fmt/format.h>

#include <algorithm>

#include "present/claims_of.hpp"

// Labels that a memoriser has, as claims.
namespace zeroloss::internal {
namespace {

constexpr Index kSome = 100;  // points of a claim where all are too many

std::string claim_network(Claims& claims, const Memorizer& network) {
  Json nodes = Json::array();
  nodes.push_back(claims.affine("net", "A", network.A_0, network.b_0, false));
  if (network.blocks() > 0)
    nodes.push_back(Json{{"op", "blocks"},
                         {"weight", claims.matrix("net_blocks_U", network.U)},
                         {"bias", claims.vector("net_blocks_s", network.s)},
                         {"back", claims.matrix("net_blocks_V", network.V)},
                         {"activation", "relu"}});
  nodes.push_back(claims.affine("net", "U", network.U_out, network.s_out, false));
  nodes.push_back(Json{{"op", "activation"}, {"activation", "relu"}});
  nodes.push_back(claims.affine("net", "V", network.V_out, {}, false));
  return claims.network("net", std::move(nodes));
}

}  // namespace

void claim_memorize(Claims& claims, const Dataset& data, const MemorizeResult& r) {
  // The claim is about the network as a function, not as it is computed.
  if (r.proved_exact < r.n || !r.network || data.task != Task::classification || data.stored ||
      claims.leaves_out(8 * static_cast<double>(r.network->parameters()), "weights"))
    return;
  const bool all = claims.copies_all() || 8 * static_cast<double>(data.X.size()) <= Claims::kMost;
  std::vector<Index> rows;
  for (Index i = 0; i < data.n(); i += all ? 1 : std::max<Index>(1, data.n() / kSome)) rows.push_back(i);
  RowMatrix X = all ? data.X : RowMatrix(data.X(rows, Eigen::all));
  // A network of floats reads points as floats.
  if (r.network->precision == "float32") X = X.cast<float>().cast<double>();
  std::vector<Index> labels;
  for (const Index i : rows) labels.push_back(static_cast<Index>(data.y(i)));
  const std::string network = claim_network(claims, *r.network);
  Json& claim =
      claims.add("memorised", all ? r.conclusion
                                  : fmt::format("right at {} of the {} points", std::ssize(rows), data.n()));
  claim["network"] = network;
  claim["points"] = claims.points("data", claims.point_array("points", X), {});
  claim["labels"] = claims.integers("labels", labels);
}

}  // namespace zeroloss::internal
