#include "network.hpp"

#include <set>

#include "kinds.hpp"
#include "steps.hpp"
#include "verdict.hpp"

namespace check {
namespace {

void read_affine(const Folder& folder, const Object& o, Node& node, std::set<std::string>& moving) {
  node.weight = o.text("weight");
  const Array& w = folder.reals(node.weight, 2);
  if (w.columns() != node.in) {
    o.fail("the weight takes another number of inputs than there are");
  }
  node.out = w.rows();
  const std::vector<double> numbers = w.reals();
  node.weights.assign(numbers.begin(), numbers.end());
  if (o.has("bias")) {
    node.bias = o.text("bias");
    const Array& b = folder.reals(node.bias);
    if (b.size() != node.out) {
      o.fail("the bias is not of as many numbers as the weight has rows");
    }
    const std::vector<double> biases = b.reals();
    node.biases.assign(biases.begin(), biases.end());
  }
  if (!o.has("trained")) {
    return;
  }
  if (!o.at("trained").is_array()) {
    o.fail("trained is not a list");
  }
  for (const Json& name : o.at("trained")) {
    if (name == "weight") {
      node.moves = true;
    } else if (name == "bias" && !node.biases.empty()) {
      node.bias_moves = true;
    } else {
      o.fail("trained names what this node does not have");
    }
    if (!moving.insert(name == "weight" ? node.weight : node.bias).second) {
      o.fail("an array that is trained stands twice");
    }
  }
}

// Reads residual blocks, whose weights stand below each other.
void read_blocks(const Folder& folder, const Object& o, Node& node) {
  const auto numbers = [&](const char* key, std::size_t columns) {
    const Array& array = folder.reals(o.text(key), columns > 1 ? 2 : 0);
    if (array.columns() != columns || array.rows() % node.in != 0) {
      o.fail(std::string(key) + " is not of blocks of as many rows as there are inputs");
    }
    const std::vector<double> all = array.reals();
    return Balls(all.begin(), all.end());
  };
  node.weight = o.text("weight"), node.bias = o.text("bias"), node.by = o.text("back");
  node.weights = numbers("weight", node.in);
  node.biases = numbers("bias", 1);
  node.back = numbers("back", node.in);
  if (node.back.size() != node.weights.size() || node.biases.size() * node.in != node.weights.size()) {
    o.fail("weight, bias and back are not of as many blocks");
  }
}

// The node, with no keys but those of its operator.
Object keys_of(const Json& json, const std::string& where, const std::string& op) {
  if (op == "affine") {
    return {json, where, {"op", "weight", "bias", "trained"}};
  }
  if (op == "activation") {
    return {json, where, {"op", "activation"}};
  }
  if (op == "blocks") {
    return {json, where, {"op", "weight", "bias", "back", "activation"}};
  }
  if (op == "append") {
    return {json, where, {"op", "value"}};
  }
  if (op == "normalize") {
    return {json, where, {"op"}};
  }
  if (op == "scale" || op == "subtract" || op == "multiply") {
    return {json, where, {"op", "by"}};
  }
  throw Open(where + ": the operator " + op + " is not known");
}

void apply_blocks(const Node& node, Balls& h) {
  const std::size_t k = node.in;
  Balls z(k);
  for (std::size_t row = 0; row < node.biases.size(); row += k) {
    for (std::size_t j = 0; j < k; ++j) {
      const Ball sum = dot(h.data(), node.weights.data() + (row + j) * k, k) + node.biases[row + j];
      z[j] = node.activation->value(sum);
    }
    for (std::size_t j = 0; j < k; ++j) {
      h[j] += dot(z.data(), node.back.data() + (row + j) * k, k);
    }
  }
}

}  // namespace

Network::Network(const Folder& folder, const std::string& name, std::size_t inputs)
    : where_("network " + name) {
  const Object whole(folder.network(name), where_, {"nodes"});
  const Json& list = whole.at("nodes");
  if (!list.is_array() || list.empty()) {
    whole.fail("nodes is not a list of one or more");
  }
  std::vector<std::size_t> sizes{inputs};
  std::set<std::string> moving, all;
  bool appended = false;
  for (const Json& json : list) {
    Node node;
    const std::string here = where_ + ": node " + std::to_string(nodes_.size());
    node.op = Object(json, here,
                     {"op", "weight", "bias", "trained", "activation", "by", "node", "value", "back",
                      "groups", "values", "places", "inner", "columns", "function"})
                  .text("op");
    node.in = node.out = sizes.back();
    if (read_step(folder, json, here, sizes, node)) {
      sizes.push_back(node.out);
      nodes_.push_back(std::move(node));
      continue;
    }
    const Object o = keys_of(json, here, node.op);
    if (node.op == "affine") {
      read_affine(folder, o, node, moving);
    } else if (node.op == "activation" || node.op == "blocks") {
      node.activation.emplace(o.at("activation"), here);
      if (node.op == "blocks") {
        read_blocks(folder, o, node);
      }
    } else if (node.op == "scale") {
      node.number = o.number("by");
    } else if (node.op == "subtract") {
      node.by = o.text("by");
      node.step = subtract_step(folder.reals(node.by), node.in, appended, here);
    } else if (node.op == "multiply") {
      node.by = o.text("by");
      node.step = multiply_step(folder.reals(node.by), node.in, here);
    } else if (node.op == "append") {
      node.step = Append{o.number("value")};
      ++node.out;
      appended = true;
    }
    sizes.push_back(node.out);
    nodes_.push_back(std::move(node));
  }
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    last_.push_back(k);  // the node behind it
    last_[nodes_[k].from] = k;
  }
  // What is trained at one place is read at no other.
  for (const Node& node : nodes_) {
    for (const std::string& array : {node.weight, node.bias, node.by}) {
      if (!array.empty() && !all.insert(array).second && moving.contains(array)) {
        throw Unreadable(where_ + ": the array " + array + " is trained and stands twice");
      }
    }
  }
}

Balls apply_affine(const Node& node, const Balls& h) {
  Balls z(node.out);
  for (std::size_t j = 0; j < node.out; ++j) {
    z[j] = dot(h.data(), node.weights.data() + j * node.in, node.in);
    if (!node.biases.empty()) {
      z[j] += node.biases[j];
    }
  }
  return z;
}

std::vector<Balls> Network::run(Balls point, bool keep) const {
  std::vector<Balls> values;
  values.reserve(nodes_.size() + 1);
  values.push_back(std::move(point));
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    std::size_t there = node.out;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!keep && last_[k] < n) {
        values[k] = {};
      }
      there += values[k].size();
    }
    if (!fits_memory(1, static_cast<double>(there) * static_cast<double>(sizeof(Ball) + precision / 8))) {
      throw Open("the size: memory does not suffice for the outputs of all nodes");
    }
    if (std::optional<Balls> made = step_of(node, values)) {
      values.push_back(*std::move(made));
      continue;
    }
    Balls h = node.op == "affine" ? apply_affine(node, values.back()) : values.back();
    if (node.op == "activation") {
      for (Ball& x : h) {
        x = node.activation->value(x);
      }
    } else if (node.op == "blocks") {
      apply_blocks(node, h);
    } else if (node.op == "scale") {
      for (Ball& x : h) {
        x *= Ball(node.number);
      }
    } else if (node.step) {
      apply(*node.step, h, where_);
    } else if (node.op == "normalize") {
      h = normalized(h, where_);
    }
    values.push_back(std::move(h));
  }
  return values;
}

}  // namespace check
