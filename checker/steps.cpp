#include "steps.hpp"

#include <map>

#include "verdict.hpp"

namespace check {
namespace {

// Of what has none they are not finite.
const std::map<std::string, Ball (*)(const Ball&)> kFunctions{
    {"exp", exp}, {"log", log}, {"sqrt", of<arb_sqrt>}};

// The node, with no keys but those of its operator; nothing for another operator.
std::optional<Object> keys_of_step(const Json& json, const std::string& where, const std::string& op) {
  if (op == "take" || op == "join" || op == "add" || op == "times" || op == "over") {
    return Object(json, where, {"op", "node"});
  }
  if (op == "pick" || op == "largest" || op == "total") {
    return Object(json, where, {"op", "places"});
  }
  if (op == "columns") {
    return Object(json, where, {"op", "weight", "bias", "places", "groups"});
  }
  if (op == "product") {
    return Object(json, where, {"op", "node", "inner", "columns"});
  }
  if (op == "constant") {
    return Object(json, where, {"op", "values"});
  }
  if (op == "function") {
    return Object(json, where, {"op", "function"});
  }
  return {};
}

// k x p places in the input, or nothing: -1.
void read_places(const Folder& folder, const Object& o, Node& node, std::size_t sizes) {
  const Array& array = folder.integers(o.text("places"), sizes);
  node.inner = array.shape.size() == 2 ? array.rows() : 1;
  node.columns = array.size() / node.inner;
  node.places.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::int64_t place = array.integer(i);
    if (place < -1 || place >= static_cast<std::int64_t>(node.in)) {
      o.fail("a place is none of the input");
    }
    node.places.push_back(place);
  }
  node.out = node.columns;
}

// W, of which a column of places is the input.
void read_columns(const Folder& folder, const Object& o, Node& node) {
  read_places(folder, o, node, 2);
  node.weight = o.text("weight");
  const Array& w = folder.reals(node.weight, 2);
  if (w.columns() != node.inner) {
    o.fail("the weight takes another number of inputs than a column of places has");
  }
  const std::vector<double> numbers = w.reals();
  node.weights.assign(numbers.begin(), numbers.end());
  if (o.has("bias")) {
    node.bias = o.text("bias");
    const std::vector<double> biases = folder.reals(node.bias).reals();
    if (biases.size() != w.rows()) {
      o.fail("the bias is not of as many numbers as the weight has rows");
    }
    node.biases.assign(biases.begin(), biases.end());
  }
  node.groups = o.has("groups") ? o.count("groups") : 1;
  if (node.groups == 0 || w.rows() % node.groups != 0 || node.columns % node.groups != 0) {
    o.fail("the groups do not divide the rows of the weight and the columns of places");
  }
  node.out = w.rows() / node.groups * node.columns;
}

Ball at(const Balls& h, std::int64_t place) {
  return place < 0 ? Ball() : h[static_cast<std::size_t>(place)];
}

Balls columns_of(const Node& node, const Balls& h) {
  const std::size_t k = node.inner, all = node.columns, p = all / node.groups, m = node.out / all;
  Balls made(node.out), column(k);
  for (std::size_t c = 0; c < all; ++c) {
    for (std::size_t t = 0; t < k; ++t) {
      column[t] = at(h, node.places[t * all + c]);
    }
    const std::size_t first = c / p * m;  // row of the group's weights, and of its outputs
    for (std::size_t j = first; j < first + m; ++j) {
      Ball& sum = made[j * p + c % p];
      sum = dot(column.data(), node.weights.data() + j * k, k);
      if (!node.biases.empty()) {
        sum += node.biases[j];
      }
    }
  }
  return made;
}

// The largest, or the sum, of what each column of places sees.
Balls reduced(const Node& node, const Balls& h) {
  Balls made(node.columns);
  for (std::size_t c = 0; c < node.columns; ++c) {
    bool any = false;
    for (std::size_t t = 0; t < node.inner; ++t) {
      const std::int64_t place = node.places[t * node.columns + c];
      if (place < 0) {
        continue;
      }
      const Ball& x = h[static_cast<std::size_t>(place)];
      made[c] = !any ? x : node.op == "largest" ? max(made[c], x) : made[c] + x;
      any = true;
    }
  }
  return made;
}

// Matrices of h below each other, each times one of the other's.
Balls product_of(const Node& node, const Balls& h, const Balls& other) {
  const std::size_t k = node.inner, p = node.columns, stack = other.size() / (k * p),
                    m = h.size() / (stack * k);
  Balls made(node.out), column(k);
  for (std::size_t s = 0; s < stack; ++s) {
    for (std::size_t c = 0; c < p; ++c) {
      for (std::size_t t = 0; t < k; ++t) {
        column[t] = other[(s * k + t) * p + c];
      }
      for (std::size_t i = 0; i < m; ++i) {
        made[(s * m + i) * p + c] = dot(h.data() + (s * m + i) * k, column.data(), k);
      }
    }
  }
  return made;
}

}  // namespace

bool read_step(const Folder& folder, const Json& json, const std::string& where,
               const std::vector<std::size_t>& sizes, Node& node) {
  const std::optional<Object> keys = keys_of_step(json, where, node.op);
  if (!keys) {
    return false;
  }
  const Object& o = *keys;
  const bool two = node.op == "take" || node.op == "join" || node.op == "add" || node.op == "times" ||
                   node.op == "over" || node.op == "product";
  if (two) {
    const Json& from = o.at("node");
    if (!from.is_number_integer() || from.get<std::int64_t>() < -1 ||
        from.get<std::int64_t>() >= static_cast<std::int64_t>(sizes.size()) - 1) {
      o.fail("node is not the number of an earlier one");
    }
    node.from = static_cast<std::size_t>(from.get<std::int64_t>() + 1);
  }
  const std::size_t other = sizes[node.from];
  if (node.op == "take") {
    node.out = other;
  } else if (node.op == "constant") {
    node.by = o.text("values");
    const std::vector<double> numbers = folder.reals(node.by, 0, true).reals();
    node.weights.assign(numbers.begin(), numbers.end());
    node.out = numbers.size();
  } else if (node.op == "join") {
    node.out = node.in + other;
  } else if (node.op == "pick") {
    read_places(folder, o, node, 1);
  } else if (node.op == "columns") {
    read_columns(folder, o, node);
  } else if (node.op == "largest" || node.op == "total") {
    read_places(folder, o, node, 2);
    for (std::size_t c = 0; c < node.columns && node.op == "largest"; ++c) {
      std::size_t none = 0;
      for (std::size_t t = 0; t < node.inner; ++t) {
        none += node.places[t * node.columns + c] < 0 ? 1 : 0;
      }
      if (none == node.inner) {
        o.fail("there is no largest number of none");
      }
    }
  } else if (node.op == "product") {
    node.inner = o.count("inner"), node.columns = o.count("columns");
    const std::size_t matrix = node.inner * node.columns;
    if (matrix == 0 || other % matrix != 0 || node.in % (other / matrix * node.inner) != 0) {
      o.fail("the two parts of a product are no matrices of these sizes");
    }
    node.out = node.in / node.inner * node.columns;
  } else if (node.op == "function") {
    node.function = o.text("function");
    if (!kFunctions.contains(node.function)) {
      o.fail("the function " + node.function + " is not known");
    }
  } else if (other != node.in) {  // of add, times and over
    o.fail("the two parts are not of one size");
  }
  constexpr std::size_t kMost = std::size_t{1} << 28;
  if (node.out > kMost) {
    o.fail("its output has more than 2^28 numbers");
  }
  return true;
}

std::optional<Balls> step_of(const Node& node, const std::vector<Balls>& values) {
  const Balls &h = values.back(), &other = values[node.from];
  if (node.op == "take") {
    return other;
  }
  if (node.op == "constant") {
    return node.weights;
  }
  if (node.op == "pick") {
    Balls made(node.out);
    for (std::size_t j = 0; j < node.out; ++j) {
      made[j] = at(h, node.places[j]);
    }
    return made;
  }
  if (node.op == "columns") {
    return columns_of(node, h);
  }
  if (node.op == "largest" || node.op == "total") {
    return reduced(node, h);
  }
  if (node.op == "product") {
    return product_of(node, h, other);
  }
  const bool pair = node.op == "add" || node.op == "times" || node.op == "over";
  if (!pair && node.op != "join" && node.op != "function") {
    return {};
  }
  Balls made = h;
  if (node.op == "join") {
    made.insert(made.end(), other.begin(), other.end());
  }
  for (std::size_t j = 0; j < made.size(); ++j) {
    if (node.op == "add") {
      made[j] += other[j];
    } else if (node.op == "times") {
      made[j] *= other[j];
    } else if (node.op == "over") {
      made[j] /= other[j];
    } else if (node.op == "function") {
      made[j] = kFunctions.at(node.function)(h[j]);
    }
  }
  return made;
}

}  // namespace check
