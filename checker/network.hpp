#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "activation.hpp"
#include "points.hpp"

namespace check {

// One node of a network; `op` says which of the fields count.
struct Node {
  std::string op;
  std::string weight, bias, by, function;  // names of arrays, and of a function
  Balls weights, biases, back;             // exact
  bool moves = false, bias_moves = false;
  std::optional<Activation> activation;
  double number = 0;         // of scale
  std::size_t from = 0;      // another node whose output it takes, counted from 1; 0 is the point
  std::optional<Step> step;  // of subtract, multiply and append
  std::size_t in = 0, out = 0;
  // Of nodes of graphs: places of the input, inner x columns, -1 for none; or the sizes of a product's
  // matrices.
  std::vector<std::int64_t> places;
  std::size_t inner = 0, columns = 0, groups = 1;
};

class Network {
 public:
  Network(const Folder& folder, const std::string& name, std::size_t inputs);

  const std::vector<Node>& nodes() const { return nodes_; }
  std::size_t outputs() const { return nodes_.back().out; }
  const std::string& where() const { return where_; }
  // [0] is the point, [k] the output of node k - 1. Throws Open where memory does not suffice.
  std::vector<Balls> run(Balls point) const { return run(std::move(point), true); }
  Balls output(Balls point) const { return run(std::move(point), false).back(); }

 private:
  // All of them, or none that is not taken by a node behind.
  std::vector<Balls> run(Balls point, bool keep) const;

  std::string where_;
  std::vector<Node> nodes_;
  // The last node that may take each output, that of the point first, which stays to the end.
  std::vector<std::size_t> last_;
};

Balls apply_affine(const Node& node, const Balls& h);

}  // namespace check
