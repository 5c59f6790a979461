#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "present/claims_of.hpp"
#include "present/common.hpp"

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

// Whether the network reaches these outputs as a function, too, and not as it is computed alone: blocks
// magnify what is rounded before them, by 1e4 and more where points are next to each other. What is computed
// in doubles, of floats too, has to be closer to them by far than `within`, in which it is then claimed.
bool reached_as_a_function(const Memorizer& network, const MemorizeResult& r, const RowMatrix& X,
                           const Matrix& wanted, double within) {
  if (!(r.min_margin > 0) || !X.allFinite()) return false;
  Memorizer precise = network;
  precise.precision = "float64";
  const double off = (predict(precise, X) - wanted).cwiseAbs().maxCoeff();
  return network.precision == "float32" ? off < within / 4 : off < within / 1000;
}

// The outputs that are wanted: unit vectors of classes, or numbers.
Matrix wanted_outputs(const Dataset& data, const std::vector<Index>& rows, Index outputs) {
  Matrix wanted = Matrix::Zero(std::ssize(rows), outputs);
  for (Index i = 0; i < wanted.rows(); ++i) {
    const double y = data.y(rows[static_cast<std::size_t>(i)]);
    if (data.task == Task::classification)
      wanted(i, static_cast<Index>(y)) = 1;
    else
      wanted(i, 0) = y;
  }
  return wanted;
}

}  // namespace

void claim_memorize(Claims& claims, const Dataset& data, const MemorizeResult& r) {
  const bool classes = data.task == Task::classification;
  if (r.status != MemorizeStatus::memorized || !r.network || (!classes && r.r != 1) || data.stored ||
      claims.leaves_out(8 * static_cast<double>(r.network->parameters()), "weights"))
    return;
  const bool all = 8 * static_cast<double>(data.X.size()) <= Claims::kMost;
  std::vector<Index> rows;
  for (Index i = 0; i < data.n(); i += all ? 1 : std::max<Index>(1, data.n() / kSome)) rows.push_back(i);
  RowMatrix X = all ? data.X : RowMatrix(data.X(rows, Eigen::all));
  // A network of floats reads points as floats.
  if (r.network->precision == "float32") X = X.cast<float>().cast<double>();
  const Matrix wanted = wanted_outputs(data, rows, r.r);
  const double largest = wanted.cwiseAbs().maxCoeff(),
               within = classes ? 1 : (r.network->precision == "float32" ? 1e-3 : 1e-6) * largest;
  if (!reached_as_a_function(*r.network, r, X, wanted, within)) return;
  const std::string network = claim_network(claims, *r.network);
  const std::string what =
      !all       ? fmt::format("right at {} of the {} points", std::ssize(rows), data.n())
      : !classes ? fmt::format("{} targets are reached to within {} in the mean", data.n(), above(within, 3))
                 : r.conclusion;
  Json& claim = claims.add(classes ? "memorised" : "misfit", what);
  claim["network"] = network;
  claim["points"] = claims.points("data", claims.matrix("points", X), {});
  if (classes) {
    std::vector<Index> labels;
    for (const Index i : rows) labels.push_back(static_cast<Index>(data.y(i)));
    claim["labels"] = claims.integers("labels", labels);
  } else {
    claim["targets"] = claims.matrix("targets", wanted);
    claim["at_most"] = hexadecimal(within * std::sqrt(static_cast<double>(wanted.rows())));
  }
}

}  // namespace zeroloss::internal
