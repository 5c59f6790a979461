// Any targets by the last layer's weights alone: docs/theory.md, section 16.

#include <cmath>

#include "kinds.hpp"
#include "progress.hpp"
#include "tangent.hpp"
#include "verdict.hpp"

namespace check {

namespace {

// The affine node that moves, behind which constants alone are added.
std::size_t place_of_last(const Network& network, const Object& o) {
  const std::vector<Node>& nodes = network.nodes();
  const std::size_t place = o.has("node") ? o.count("node") : nodes.size() - 1;
  if (place >= nodes.size() || nodes[place].op != "affine") {
    o.fail("the last node, or the one that is named, is not affine");
  }
  // Three by three: a constant, what was there before it, and their sum.
  for (std::size_t k = place + 1; k < nodes.size(); k += 3) {
    if (k + 2 >= nodes.size() || nodes[k].op != "constant" || nodes[k + 1].op != "take" ||
        nodes[k + 1].from != k || nodes[k + 2].op != "add" || nodes[k + 2].from != k + 1) {
      o.fail("behind the node that is named there is more than sums with constants");
    }
  }
  return place;
}

}  // namespace

// Outputs are Z A^T, Z known as doubles within `off` (Frobenius): s_min(Z) >= sqrt(lambda_min of what is
// stored) - off.
std::string check_last_layer(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(
      claim, where,
      {"kind", "text", "network", "points", "lambda_min", "targets", "radius", "step", "bias_stays", "node"});
  const Bits bits(std::max<slong>(precision, 160));
  const Points points(folder, o.text("points"));
  const Network network(folder, o.text("network"), points.dimension());
  const std::size_t place = place_of_last(network, o);
  const Node& last = network.nodes()[place];
  if (last.weight == last.bias) {
    o.fail("the last weights are the bias too");
  }
  for (const Node& node : network.nodes()) {
    for (const std::string& array : {node.weight, node.bias, node.by}) {
      if (&node != &last && !array.empty() && (array == last.weight || array == last.bias)) {
        o.fail("the last weights stand at another place too");
      }
    }
  }
  const double lambda = o.number("lambda_min");
  if (!(lambda > 0) || o.has("targets") != o.has("radius")) {
    o.fail("lambda_min is not above 0, or one of targets and radius is missing");
  }
  for (const char* key : {"radius", "step"}) {
    if (o.has(key) && !(o.number(key) > 0)) {
      o.fail(std::string(key) + " is not above 0");
    }
  }
  const Distinct distinct(points);
  const std::size_t n = distinct.size(),
                    columns = last.in + (last.biases.empty() || o.truth("bias_stays") ? 0 : 1);
  std::vector<double> z(n * columns);
  std::vector<Balls> outputs;
  Ball squares;
  {
    Progress progress("running the network", n);
    for (std::size_t i = 0; i < n; ++i) {
      progress.at(i);
      std::vector<Balls> values = network.run(points.row(distinct.first[i]));
      outputs.push_back(values.back());
      Balls& h = values[place];
      if (columns > last.in) {
        h.emplace_back(1.0);
      }
      for (std::size_t j = 0; j < columns; ++j) {
        const Ball entry = sqrt(Ball(distinct.count[i])) * h[j];
        z[i * columns + j] = entry.middle();
        squares += square(entry - Ball(entry.middle()));
      }
    }
  }
  const double off = sqrt(squares).upper();
  double root = std::sqrt(lambda) * (1 + 1e-15);
  Ball misfit;
  if (o.has("targets")) {
    misfit = length(residual_at(distinct, outputs, folder.reals(o.text("targets")), o));
    root = std::max(root, (misfit / Ball(o.number("radius"))).upper());
  }
  expect_memory(n, 8);
  const double moved = (root + off) * (1 + 1e-15);
  Symmetric gram = inner_products(n, columns, z);
  const Least least = least_eigenvalue(gram, 1, moved * moved * (1 + 1e-15));
  if (least.lower < moved * moved) {
    const double most = std::pow(std::sqrt(std::max(0.0, least.upper)) + off, 2) * (1 + 1e-15);
    if (most < lambda) {
      throw False("lambda_min(Z Z^T) <= " + up(most));
    }
    throw Open("lambda_min(Z Z^T) would have to be " + up(root * root) + ", and is at most " + up(most));
  }
  if (o.has("step")) {
    const double step = o.number("step");
    const double norm = std::sqrt(1 / step) * (1 - 1e-15) - off;
    if (!(step > 0) || !norm_at_most(n, columns, z, norm)) {
      throw Open("the step: ||Z|| is not proved to be at most " + down(norm));
    }
  }
  return "lambda_min(Z Z^T) >= " + down(root * root) +
         (o.has("targets") ? ", misfit <= " + up(misfit.upper()) : "");
}

}  // namespace check
