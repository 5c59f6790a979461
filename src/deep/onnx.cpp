#include "zeroloss/deep/onnx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "core/onnx_graph.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// What a value of the graph is, as far as it has been read. A layer is not known to be plain or residual
// before it is seen what is done with its phi(z), so that it stays with the value until then.
enum class Part {
  hidden,  // what `level` layers make of x
  affine,  // W h + b of that
  active,  // phi of that
  branch,  // U phi + bU
  half,    // z/2, and pieces of gelu: z/sqrt(2), erf of it, 1 + erf, half of that, z (1 + erf)
  gelu_z,
  gelu_erf,
  gelu_sum,
  gelu_cdf,
  gelu_product,
  gone,  // the input before it was scaled
  tail   // behind the outputs
};

// What is behind the outputs, of which the largest stays the largest.
enum class Tail {
  scores,         // a number for each output, in their order
  probabilities,  // the same between 0 and 1
  rest,           // 1 - p of a single output
  two,            // 1 - p and p of it
  label           // of the largest
};

struct Value {
  Part part = Part::hidden;
  std::size_t level = 0;
  Layer layer = {};  // affine: W, b; active: activation, scale too; branch: U, bU too
  OnnxLayer places = {};
  std::string from = {};  // active, pieces: the z; branch: the phi; tail: the outputs
  Tail tail = Tail::scores;
  std::string unscaled = {};  // branch with a factor: the one without
};

// A constant of the graph, as it is used: maybe transposed.
struct Numbers {
  const OnnxNumbers* stored;
  bool transposed = false;
  std::vector<Index> shape;

  double scalar() const { return stored->values.front(); }
  bool one() const { return stored->values.size() == 1; }
  /// One number, or the same for each of `width` units.
  bool alike(Index width) const {
    const auto& values = stored->values;
    return one() ||
           (std::ssize(values) == width && shape.back() == width &&
            std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); }));
  }
};

const std::map<std::string, std::string>& activation_ops() {
  static const std::map<std::string, std::string> ops{{"Relu", "relu"},         {"LeakyRelu", "leaky_relu"},
                                                      {"Tanh", "tanh"},         {"Sigmoid", "sigmoid"},
                                                      {"Softplus", "softplus"}, {"Erf", "erf"},
                                                      {"Gelu", "gelu"},         {"Sin", "sin"}};
  return ops;
}

// What may be done with the label of the largest output: it gets a name or another shape.
const std::set<std::string>& naming_ops() {
  static const std::set<std::string> ops{
      "ArrayFeatureExtractor", "Cast",    "Flatten", "Gather",   "Identity",
      "LabelEncoder",          "Reshape", "Squeeze", "Unsqueeze"};
  return ops;
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, const OnnxGraph& graph) : path_(path.string()), graph_(graph) {}

  OnnxNetwork read() {
    for (const auto& [name, numbers] : graph_.numbers) numbers_[name] = {&numbers, false, numbers.shape};
    if (graph_.inputs.size() != 1) refuse_inputs();
    const std::string& input = graph_.inputs.front().name;
    values_[input] = {};
    defined_.insert(input);
    // Of no declared shape is what gets points as rows.
    if (const auto& shape = graph_.inputs.front().shape; shape.empty() || shape.size() == 2)
      rows_.insert(input);
    for (const auto& [name, numbers] : graph_.numbers) defined_.insert(name);
    for (const OnnxNode& node : graph_.nodes) take(node);
    finish();
    require_whole_points();
    try {
      check(found_.network);
    } catch (const std::invalid_argument& error) {
      throw DataError(fmt::format("{}: {}", path_, error.what()));
    }
    return std::move(found_);
  }

 private:
  [[noreturn]] void refuse(const OnnxNode& node, const std::string& why) const {
    throw DataError(fmt::format("{}: node {} ({} -> {}): {}", path_,
                                node.name.empty() ? "without a name" : "'" + excerpt(node.name) + "'",
                                excerpt(node.op),
                                node.outputs.empty() ? "nothing" : excerpt(node.outputs.front()), why));
  }

  void note(const std::string& text) {
    if (std::find(found_.notes.begin(), found_.notes.end(), text) == found_.notes.end())
      found_.notes.push_back(text);
  }

  [[noreturn]] void refuse_inputs() const {
    std::vector<std::string> names;
    for (const OnnxInput& input : graph_.inputs) names.push_back(input.name);
    throw DataError(fmt::format("{}: a network of layers has one input; this graph asks for {}: {}", path_,
                                names.size(), excerpt(fmt::format("{}", fmt::join(names, ", ")))));
  }

  // Whatever cuts the input anew, rows stay points if each still holds all numbers of one.
  void require_whole_points() const {
    const std::vector<Index>& shape = graph_.inputs.front().shape;
    if (shape.size() < 2) return;
    Index numbers = 1;
    for (std::size_t k = 1; k < shape.size(); ++k)
      if (__builtin_mul_overflow(numbers, shape[k], &numbers)) numbers = -1;
    const Index d = found_.network.features();
    if (numbers != 0 && numbers != d)
      throw DataError(fmt::format("{}: a point of its input has {} numbers, its first layer takes {}", path_,
                                  fmt::join(shape.begin() + 1, shape.end(), " x "), d));
  }

  bool constant(const std::string& name) const { return numbers_.contains(name); }

  // ---- what the graph says ----

  // A phi(z) of which the layer is plain: behind it the network goes on with it.
  void settle_plain(const std::string& phi) {
    Value& value = values_.at(phi);
    push(value.layer, value.places, value.level, phi);
  }

  // z itself is what the network goes on with.
  void settle_identity(const std::string& z) {
    Value& value = values_.at(z);
    value.layer.activation = "identity";
    push(value.layer, value.places, value.level, z);
  }

  void push(Layer layer, OnnxLayer places, std::size_t level, const std::string& name) {
    if (level != layers().size())
      throw DataError(fmt::format("{}: '{}' does not go on with the layer before it: not a chain of layers",
                                  path_, excerpt(name)));
    layers().push_back(std::move(layer));
    found_.layers.push_back(std::move(places));
    values_[name] = {.part = Part::hidden, .level = layers().size()};
  }

  std::vector<Layer>& layers() { return found_.network.layers; }

  // A value as it is now: U phi + bU is W h + b once the layer of that phi has turned out to be plain.
  Value& now(const OnnxNode& node, const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end())
      refuse(node, fmt::format("its input '{}' is nothing that came before", excerpt(name)));
    Value& value = found->second;
    if (value.part == Part::branch)
      if (const Value& phi = values_.at(value.from); phi.part == Part::hidden) {
        Value z{.part = Part::affine, .level = phi.level};
        if (value.layer.scale != 1) {
          z.part = piece(node, value.layer.scale);
          z.from = value.unscaled;
        }
        z.layer.W = std::move(value.layer.U);
        z.layer.b = std::move(value.layer.bU);
        z.places.W = value.places.U;
        z.places.b = value.places.bU;
        value = std::move(z);
      }
    return value;
  }

  RowMatrix matrix(const OnnxNode& node, const Numbers& numbers, bool transpose, OnnxPlace& place) {
    if (numbers.shape.size() != 2) refuse(node, "its weights are not a matrix");
    const auto& stored = numbers.stored->shape;
    if (!used_.insert(numbers.stored->name).second)
      refuse(node,
             fmt::format("'{}' is used twice: shared weights are not read", excerpt(numbers.stored->name)));
    const bool turned = numbers.transposed != transpose;
    place = {numbers.stored->name, turned};
    single_ = single_ || numbers.stored->single;
    // A matrix that was reshaped stands in its own order; one that was transposed in that of the file.
    const Index rows = numbers.transposed ? stored[0] : numbers.shape[0];
    const Index columns = numbers.transposed ? stored[1] : numbers.shape[1];
    const Eigen::Map<const RowMatrix> A(numbers.stored->values.data(), rows, columns);
    return turned ? RowMatrix(A.transpose()) : RowMatrix(A);
  }

  // The same numbers for each point: [size] or [1, size].
  void row(const OnnxNode& node, const Numbers& numbers) const {
    const auto size = static_cast<Index>(numbers.stored->values.size());
    if (numbers.shape.size() > 2 || (!numbers.shape.empty() && numbers.shape.back() != size))
      refuse(node, "its numbers are not one for each feature or unit");
  }

  Vector vector(const OnnxNode& node, const Numbers& numbers, Index size, OnnxPlace& place) {
    if (static_cast<Index>(numbers.stored->values.size()) != size)
      refuse(node, fmt::format("it adds {} numbers to {}", numbers.stored->values.size(), size));
    row(node, numbers);
    if (!used_.insert(numbers.stored->name).second)
      refuse(node,
             fmt::format("'{}' is used twice: shared weights are not read", excerpt(numbers.stored->name)));
    place = {numbers.stored->name, false};
    return Eigen::Map<const Vector>(numbers.stored->values.data(), size);
  }

  // ---- operators ----

  void take(const OnnxNode& node) {
    if (node.outputs.empty()) return;
    for (const std::string& out : node.outputs)
      if (!out.empty() && !defined_.insert(out).second)
        refuse(node, fmt::format("'{}' is computed twice", excerpt(out)));
    if (!node.domain.empty() && node.domain != "ai.onnx.ml")
      refuse(node, fmt::format("an operator of '{}', not of ONNX", excerpt(node.domain)));
    if (std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](const std::string& input) { return values_.contains(input); }))
      return take_constant(node);
    if (makes_rows(node)) rows_.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& input : node.inputs)
      if (const auto found = values_.find(input); found != values_.end()) {
        if (found->second.part == Part::gone) refuse(node, "it takes the input as it was before its scaling");
        if (found->second.part == Part::tail) return take_tail(node);
      }
    if (node.inputs.front().empty()) refuse(node, "its first input is left out");
    const std::string& out = node.outputs.front();
    if (node.op == "Gemm") return linear(node, out, node.integer("transB", 0) != 0);
    if (node.op == "MatMul") return linear(node, out, false);
    if (node.op == "Add") return add(node, out);
    if (node.op == "Sub" || node.op == "Mul" || node.op == "Div") return arithmetic(node, out);
    if (node.op == "Scaler") return scaler(node, out);
    if (activation_ops().contains(node.op)) return activate(node, out);
    if (node.op == "Identity" || node.op == "Cast" || node.op == "Dropout" || node.op == "Flatten" ||
        node.op == "Reshape" || node.op == "Squeeze")
      return pass(node, out);
    if (node.op == "Shape") return;  // of which only Reshape makes use
    take_tail(node);
  }

  static bool to_float(const OnnxNode& node) {
    const std::int64_t type = node.integer("to", 0);
    return type == 1 || type == 11;
  }

  void pass(const OnnxNode& node, const std::string& out) {
    if (node.op == "Cast" && !to_float(node))
      refuse(node, "a cast to other numbers than float32 and float64");
    if (node.op == "Dropout" && node.inputs.size() > 2 && !node.inputs[2].empty()) {
      const auto training = numbers_.find(node.inputs[2]);
      if (training == numbers_.end() || !training->second.one() || training->second.scalar() != 0)
        refuse(node, "dropout as in training");
    }
    const Value value = now(node, node.inputs.front());
    if ((node.op == "Flatten" && node.integer("axis", 1) != 1) || (node.op == "Squeeze" && !is_end(out)))
      refuse(node, "points must stay rows");
    if (node.op == "Flatten" || node.op == "Reshape")
      if ((value.part != Part::hidden || value.level > 0) && !is_end(out) && !rows_.contains(out))
        refuse(node, "points must stay rows");
    alias_[out] = node.inputs.front();
    values_[out] = value;
    if (value.part == Part::active || value.part == Part::affine) follow_[node.inputs.front()].push_back(out);
  }

  // ---- whether points are rows of a matrix, and not of more dimensions ----

  // How many numbers a value has that is computed of shapes; 0: not known.
  std::size_t count(const std::string& name) const {
    if (const auto found = numbers_.find(name); found != numbers_.end())
      return found->second.stored->values.size();
    const auto found = counts_.find(name);
    return found == counts_.end() ? 0 : found->second;
  }

  void count_of(const OnnxNode& node) {
    static const std::set<std::string> same{"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
    std::size_t numbers = 0;
    if (same.contains(node.op))
      numbers = count(node.inputs.front());
    else if (node.op == "Gather" && node.inputs.size() > 1)
      numbers = count(node.inputs[1]);
    else if (node.op == "Concat" && std::ranges::all_of(node.inputs, [&](auto& i) { return count(i) > 0; }))
      for (const std::string& input : node.inputs) numbers += count(input);
    counts_[node.outputs.front()] = numbers;
  }

  bool makes_rows(const OnnxNode& node) const {
    if (node.op == "Gemm" || node.op == "Flatten") return true;
    if (node.op == "Reshape") return node.inputs.size() > 1 && count(node.inputs[1]) == 2;
    return std::ranges::all_of(
        node.inputs, [&](const std::string& i) { return !values_.contains(i) || rows_.contains(i); });
  }

  void linear(const OnnxNode& node, const std::string& out, bool transposed) {
    if (node.inputs.size() < 2 || !constant(node.inputs[1]) || constant(node.inputs[0]))
      refuse(node, "its second input must be weights of the file");
    if (node.op == "Gemm" && (node.integer("transA", 0) != 0 || node.number("alpha", 1) != 1 ||
                              (node.inputs.size() > 2 && node.number("beta", 1) != 1)))
      refuse(node, "transA must be 0, alpha and beta 1");
    OnnxPlace W_place, b_place;
    const RowMatrix W = matrix(node, numbers_.at(node.inputs[1]), !transposed, W_place);
    Vector b;
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      if (!constant(node.inputs[2])) refuse(node, "its third input must be numbers of the file");
      b = vector(node, numbers_.at(node.inputs[2]), W.rows(), b_place);
    }
    apply(node, node.inputs[0], out, W, W_place);
    if (b.size() > 0) bias(node, values_.at(out), b, b_place);
  }

  // W times a value.
  void apply(const OnnxNode& node, const std::string& input, const std::string& out, const RowMatrix& W,
             const OnnxPlace& place) {
    Value value = now(node, input);
    begun_ = true;
    if (value.part == Part::affine || (value.part == Part::active && value.layer.scale != 1)) {
      settle(input);  // U s phi is not s (U phi + bU) once bU comes
      value = values_.at(input);
    } else if (value.part == Part::branch) {  // of a plain layer, then, and a map behind its map
      settle(value.from);
      now(node, input);
      settle(input);
      value = values_.at(input);
    }
    Value next;
    next.level = value.level;
    if (value.part == Part::hidden) {
      next.part = Part::affine;
      next.layer.W = W;
      next.places.W = place;
    } else if (value.part == Part::active) {
      next = value;
      next.part = Part::branch;
      next.from = input;
      next.layer.U = W;
      next.places.U = place;
    } else {
      refuse(node, "a linear map of what is not a layer");
    }
    values_[out] = std::move(next);
  }

  // A z or phi(z) that turns out to be a layer of its own, and all names it goes by.
  void settle(const std::string& name) {
    std::string root = name;
    while (alias_.contains(root)) root = alias_.at(root);
    if (values_.at(root).part == Part::active)
      settle_plain(root);
    else if (values_.at(root).part == Part::affine)
      settle_identity(root);
    rename(root, values_.at(root));
  }
  void rename(const std::string& root, const Value& value) {
    std::vector<std::string> names{root};
    while (!names.empty()) {
      const std::string name = std::move(names.back());
      names.pop_back();
      for (const std::string& other : follow_[name]) {
        values_[other] = value;
        names.push_back(other);
      }
    }
  }

  void bias(const OnnxNode& node, Value& value, const Vector& b, const OnnxPlace& place) {
    const bool branch = value.part == Part::branch;
    if (!branch && value.part != Part::affine) refuse(node, "numbers are added to what is no linear map");
    if (value.layer.scale != 1) refuse(node, "a bias behind a factor: fold the factor into the weights");
    Vector& own = branch ? value.layer.bU : value.layer.b;
    if (own.size() > 0) refuse(node, "a second bias");
    own = b;
    (branch ? value.places.bU : value.places.b) = place;
  }

  void add(const OnnxNode& node, const std::string& out) {
    if (node.inputs.size() != 2) refuse(node, "it takes two inputs");
    const bool first = constant(node.inputs[0]);
    if (first || constant(node.inputs[1])) {
      const Numbers& numbers = numbers_.at(node.inputs[first ? 0 : 1]);
      const std::string& input = node.inputs[first ? 1 : 0];
      Value value = now(node, input);
      if (value.part == Part::gelu_erf && numbers.one() && numbers.scalar() == 1 &&
          numbers.shape.size() < 3) {
        value.part = Part::gelu_sum;
      } else if (value.part == Part::hidden && value.level == 0) {
        shift(node, -spread(node, numbers));
      } else {
        OnnxPlace place;
        const Index size = value.part == Part::branch ? value.layer.U.rows() : value.layer.W.rows();
        const Vector b = vector(node, numbers, size, place);
        bias(node, value, b, place);
      }
      values_[out] = std::move(value);
      return;
    }
    residual(node, out);
  }

  void residual(const OnnxNode& node, const std::string& out) {
    std::string base = node.inputs[0], branch = node.inputs[1];
    if (const Part part = now(node, base).part; part == Part::branch || part == Part::active) {
      // Of two that are not settled the one that the other is made of is the base.
      if (now(node, branch).part == Part::hidden) std::swap(base, branch);
    }
    const Value& h = now(node, base);
    Value value = now(node, branch);
    if (h.part != Part::hidden || (value.part != Part::branch && value.part != Part::active) ||
        value.level != h.level)
      refuse(node, "a sum must be that of a layer and phi(W h + b) of it, or U phi(W h + b) + bU");
    value.layer.residual = true;
    push(value.layer, value.places, value.level, out);
  }

  // Numbers for each feature of the input.
  Vector spread(const OnnxNode& node, const Numbers& numbers) const {
    row(node, numbers);
    return Eigen::Map<const Vector>(numbers.stored->values.data(),
                                    static_cast<Index>(numbers.stored->values.size()));
  }

  // All that comes takes the input as it is from here on.
  void replace(const OnnxNode& node) {
    if (begun_) refuse(node, "the input is scaled behind a layer that took it");
    for (auto& [name, value] : values_) value.part = Part::gone;
  }

  void shift(const OnnxNode& node, const Vector& by) {
    replace(node);
    if ((by.array() == 0).all()) return;  // Keras' Rescaling adds its offset, mostly none
    if (shift_.size() > 0 || factor_.size() > 0) refuse(node, "more than (x - shift) times factor");
    shift_ = by;
  }
  void multiply(const OnnxNode& node, const Vector& by) {
    replace(node);
    if (factor_.size() > 0) refuse(node, "more than (x - shift) times factor");
    factor_ = by;
  }

  void scaler(const OnnxNode& node, const std::string& out) {
    const auto list = [&](const char* key) -> Vector {
      const auto found = node.attributes.find(key);
      const auto* values =
          found == node.attributes.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
      if (values == nullptr) return {};
      return Eigen::Map<const Vector>(values->data(), std::ssize(*values));
    };
    const Value value = now(node, node.inputs.front());
    if (value.part != Part::hidden || value.level > 0) refuse(node, "it scales what is not the input");
    if (const Vector offset = list("offset"); offset.size() > 0) shift(node, offset);
    if (const Vector scale = list("scale"); scale.size() > 0) multiply(node, scale);
    values_[out] = value;
  }

  void arithmetic(const OnnxNode& node, const std::string& out) {
    if (node.inputs.size() != 2) refuse(node, "it takes two inputs");
    const bool first = constant(node.inputs[0]), second = constant(node.inputs[1]);
    if (!first && !second) return product(node, out);
    const Numbers& numbers = numbers_.at(node.inputs[first ? 0 : 1]);
    const std::string& input = node.inputs[first ? 1 : 0];
    Value value = now(node, input);
    if (is_probability(value) && first && node.op == "Sub") return take_tail(node);
    if (first && node.op != "Mul") refuse(node, "a constant less, or divided by, a layer");
    if (value.part == Part::hidden && value.level == 0) {
      const Vector by = spread(node, numbers);
      if (node.op == "Sub") {
        shift(node, by);
      } else if (node.op == "Mul") {
        multiply(node, by);
      } else {
        multiply(node, by.cwiseInverse());
        note("the input is multiplied by the rounded reciprocal of what the file divides it by");
      }
    } else if (!numbers.alike(width_of(value.layer)) || numbers.shape.size() > 2 || node.op == "Sub") {
      refuse(node, "only the input is scaled or shifted number by number");
    } else {
      scaled(node, value, input, node.op == "Div" ? 1 / numbers.scalar() : numbers.scalar(),
             numbers.scalar());
    }
    values_[out] = std::move(value);
  }

  // What z times a factor may be.
  Part piece(const OnnxNode& node, double factor) const {
    if (factor == 0.5) return Part::half;
    if (std::abs(factor - std::sqrt(0.5)) < 1e-7) return Part::gelu_z;
    refuse(node, "a linear map is scaled: fold the factor into its weights");
  }

  static Index width_of(const Layer& layer) { return layer.U.size() > 0 ? layer.U.rows() : layer.W.rows(); }

  void scaled(const OnnxNode& node, Value& value, const std::string& input, double factor, double written) {
    if (value.part == Part::affine) {
      value.from = input;
      value.part = piece(node, factor);
    } else if (value.part == Part::gelu_sum && factor == 0.5) {
      value.part = Part::gelu_cdf;
    } else if (value.part == Part::gelu_product && factor == 0.5) {
      gelu(node, value, std::string(value.from));
    } else if (value.part == Part::active || value.part == Part::branch) {
      if (value.layer.scale != 1) refuse(node, "a layer is scaled twice");
      value.unscaled = input;
      value.layer.scale = factor;
      if (node.op == "Div" && factor * written != 1)
        note("a layer is multiplied by the rounded reciprocal of what the file divides it by");
    } else {
      refuse(node, "what is scaled is no layer");
    }
  }

  void gelu(const OnnxNode& node, Value& value, const std::string& z) {
    Value made = now(node, z);
    if (made.part != Part::affine) refuse(node, "gelu of what is no linear map");
    made.part = Part::active;
    made.layer.activation = "gelu";
    made.from = z;
    value = std::move(made);
    note("gelu with a rounded square root of 2 is taken for gelu");
  }

  // Products of two values: silu is z sigmoid(z), gelu z (1 + erf(z/sqrt(2)))/2.
  void product(const OnnxNode& node, const std::string& out) {
    if (node.op != "Mul") refuse(node, "no part of a network of layers");
    Value a = now(node, node.inputs[0]), b = now(node, node.inputs[1]);
    std::string a_name = node.inputs[0];
    if (b.part == Part::affine || b.part == Part::half) {
      std::swap(a, b);
      a_name = node.inputs[1];
    }
    const std::string& z = a.part == Part::half ? a.from : a_name;
    if (b.from != z) refuse(node, "a product of two layers");
    if (a.part == Part::affine && b.part == Part::active && b.layer.activation == "sigmoid") {
      b.layer.activation = "silu";
      values_[out] = std::move(b);
    } else if ((b.part == Part::gelu_sum && a.part == Part::half) ||
               (b.part == Part::gelu_cdf && a.part == Part::affine)) {
      gelu(node, b, z);
      values_[out] = std::move(b);
    } else if (b.part == Part::gelu_sum && a.part == Part::affine) {
      b.part = Part::gelu_product;
      values_[out] = std::move(b);
    } else {
      refuse(node, "a product of two layers");
    }
  }

  void activate(const OnnxNode& node, const std::string& out) {
    const std::string& input = node.inputs.front();
    Value value = now(node, input);
    if (value.part == Part::branch) {
      settle(value.from);
      value = now(node, input);
    }
    if (value.part == Part::gelu_z && node.op == "Erf") {
      value.part = Part::gelu_erf;
      values_[out] = std::move(value);
      return;
    }
    if (value.part != Part::affine) refuse(node, "an activation of what is no linear map");
    if (node.op == "Gelu")
      if (const auto found = node.attributes.find("approximate"); found != node.attributes.end())
        if (const auto* how = std::get_if<std::string>(&found->second); how != nullptr && *how != "none")
          refuse(node, "gelu is read as it is defined, not approximate=" + excerpt(*how));
    value.part = Part::active;
    value.from = input;
    value.layer.activation = activation_ops().at(node.op);
    if (node.op == "LeakyRelu") value.layer.leak = node.number("alpha", static_cast<double>(0.01F));
    values_[out] = std::move(value);
  }

  // Whether these numbers are the same after the cast.
  static bool kept(const OnnxNode& node, const OnnxNumbers& numbers) {
    const std::int64_t type = node.integer("to", 0);
    return std::all_of(numbers.values.begin(), numbers.values.end(), [&](double x) {
      return type == 11 || (type == 1 && static_cast<double>(static_cast<float>(x)) == x);
    });
  }

  // Constants of constants: only what leaves the numbers as they are.
  void take_constant(const OnnxNode& node) {
    if (node.inputs.empty()) return;
    count_of(node);
    if (!constant(node.inputs.front())) return;  // what matters is found out where it is used
    Numbers numbers = numbers_.at(node.inputs.front());
    if (node.op == "Transpose" && numbers.shape.size() == 2) {
      numbers.transposed = !numbers.transposed;
      std::swap(numbers.shape[0], numbers.shape[1]);
    } else if (node.op != "Identity" && !(node.op == "Cast" && kept(node, *numbers.stored))) {
      return;
    }
    numbers_[node.outputs.front()] = numbers;
  }

  static bool is_probability(const Value& value) {
    return value.part == Part::active && value.layer.activation == "sigmoid" && value.layer.scale == 1;
  }

  // A value as something behind the outputs.
  Value tail_of(const OnnxNode& node, const std::string& name) {
    const Value& value = now(node, name);
    if (value.part == Part::tail) return value;
    if (is_probability(value)) return {.part = Part::tail, .from = value.from, .tail = Tail::probabilities};
    if ((value.part == Part::affine || value.part == Part::branch) && value.layer.scale == 1)
      return {.part = Part::tail, .from = name};
    refuse(node, "no part of a network of layers");
  }

  // What comes of tails must say the same class: anything else would be another network.
  void take_tail(const OnnxNode& node) {
    std::vector<Value> tails;
    for (const std::string& input : node.inputs)
      if (values_.contains(input)) tails.push_back(tail_of(node, input));
    Value made = tails.front();
    const bool scores = made.tail == Tail::scores || made.tail == Tail::probabilities;
    const std::int64_t axis = node.integer("axis", node.op == "ArgMax" ? 0 : -1);
    const bool along = axis == -1 || (axis == 1 && rows_.contains(node.outputs.front()));
    const bool alone = tails.size() == 1;
    const auto number = [&](std::size_t input) {
      const auto found = input < node.inputs.size() ? numbers_.find(node.inputs[input]) : numbers_.end();
      return found != numbers_.end() && found->second.one() ? found->second.scalar() : std::nan("");
    };
    const bool one = scores && outputs_of(made.from) == 1, probability = made.tail == Tail::probabilities;
    bool known = false;
    if (made.tail == Tail::label) {
      known = alone && naming_ops().contains(node.op);
      name_classes(node);
    } else if (node.op == "Softmax" || node.op == "LogSoftmax") {
      known = scores && along && !one;
      made.tail = Tail::scores;
    } else if (node.op == "Sigmoid") {
      known = made.tail == Tail::scores;
      made.tail = Tail::probabilities;
    } else if (node.op == "Identity" || (node.op == "Cast" && to_float(node))) {
      known = true;
    } else if (node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze") {
      known = is_end(node.outputs.front());
    } else if (node.op == "ArgMax" || (node.op == "TopK" && node.integer("largest", 1) == 1)) {
      known = alone && along && ((scores && !one) || made.tail == Tail::two);
      made.tail = Tail::label;
    } else if (node.op == "ZipMap") {
      known = scores || made.tail == Tail::two;
      made.tail = Tail::label;
    } else if (node.op == "Sub") {
      known = alone && one && probability && number(0) == 1;
      made.tail = Tail::rest;
    } else if (node.op == "Concat") {
      known = tails.size() == 2 && node.inputs.size() == 2 && along && tails[0].tail == Tail::rest &&
              tails[1].tail == Tail::probabilities && tails[0].from == tails[1].from;
      made.tail = Tail::two;
    } else if (node.op == "Greater" || node.op == "GreaterOrEqual") {
      known = alone && one && number(1) == (probability ? 0.5 : 0.0);
      made.tail = Tail::label;
    }
    if (!known)
      refuse(node,
             "no part of a network of layers, and behind the outputs it is not known to leave the "
             "largest the largest");
    note(fmt::format("left out behind the outputs: {}", node.op));
    for (const std::string& out : node.outputs) values_[out] = made;
  }

  Index outputs_of(const std::string& name) const {
    const Layer& layer = values_.at(name).layer;
    return values_.at(name).part == Part::branch ? layer.U.rows() : layer.W.rows();
  }

  // Labels that are not the numbers of the outputs are said.
  void name_classes(const OnnxNode& node) {
    const auto classes = numbers_.find(node.inputs.front());
    if ((node.op != "ArrayFeatureExtractor" && node.op != "Gather") || classes == numbers_.end()) return;
    const std::vector<double>& names = classes->second.stored->values;
    bool plain = true;
    for (std::size_t k = 0; k < names.size(); ++k) plain = plain && names[k] == static_cast<double>(k);
    if (!plain && names.size() <= 100)
      note(fmt::format("the file calls its classes {}", fmt::join(names, ", ")));
  }

  // ---- the end ----

  bool is_output(const std::string& name) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), name) != graph_.outputs.end();
  }

  /// An output that nothing takes: of any shape, it has the same numbers.
  bool is_end(const std::string& name) const {
    return is_output(name) && std::ranges::none_of(graph_.nodes, [&](const OnnxNode& node) {
             return std::ranges::find(node.inputs, name) != node.inputs.end();
           });
  }

  void finish() {
    OnnxNode end;
    end.op = "output";
    std::set<std::string> outputs;
    for (const std::string& name : graph_.outputs) {
      if (!values_.contains(name)) continue;
      const Value& value = now(end, name);
      if (value.part == Part::tail)
        outputs.insert(value.from);
      else if (is_probability(value))
        outputs.insert(value.from), note("left out behind the outputs: Sigmoid");
      else
        outputs.insert(name);
    }
    std::set<std::string> roots;
    for (std::string name : outputs) {
      while (alias_.contains(name)) name = alias_.at(name);
      roots.insert(name);
    }
    if (roots.size() != 1 || roots.begin()->empty())
      throw DataError(fmt::format("{}: a network of layers has one set of outputs; this graph has {}", path_,
                                  roots.size()));
    Value value = now(end, *roots.begin());
    if (value.part == Part::branch) {
      settle(value.from);
      value = now(end, *roots.begin());
    }
    if (value.part != Part::affine || value.level != layers().size())
      throw DataError(fmt::format("{}: the outputs are no linear map of the last layer", path_));
    DeepNetwork& network = found_.network;
    network.V = value.layer.W;
    network.c = value.layer.b;
    found_.output.W = value.places.W;
    found_.output.b = value.places.b;
    found_.single = single_;
    if (layers().empty()) throw DataError(fmt::format("{}: a linear map without a hidden layer", path_));
    const Index d = network.features();
    const auto all = [&](const Vector& numbers) -> Vector {
      return numbers.size() == 1 && d > 1 ? Vector::Constant(d, numbers(0)) : numbers;
    };
    network.shift = all(shift_);
    network.factor = all(factor_);
  }

  std::string path_;
  const OnnxGraph& graph_;
  OnnxNetwork found_;
  std::map<std::string, Value> values_;
  std::map<std::string, Numbers> numbers_;
  std::map<std::string, std::string> alias_;                // another name of a value
  std::map<std::string, std::vector<std::string>> follow_;  // and back
  std::set<std::string> used_;                              // weights
  Vector shift_, factor_;
  std::set<std::string> defined_;              // names that something has
  bool single_ = false, begun_ = false;        // float32 weights; a linear map took the input
  std::set<std::string> rows_;                 // values that are matrices, with a point a row
  std::map<std::string, std::size_t> counts_;  // of what is computed of shapes
};

// The numbers of a tensor as the file stores them, and what they are after that.
template <class Tensor>
void put(const Tensor& tensor, const OnnxPlace& place, bool single,
         std::map<std::string, std::vector<double>>& numbers, Tensor& rounded) {
  rounded = tensor;
  if (tensor.size() == 0) return;
  if (single) rounded = tensor.unaryExpr([](double x) { return static_cast<double>(static_cast<float>(x)); });
  const RowMatrix stored = place.transposed ? RowMatrix(rounded.transpose()) : RowMatrix(rounded);
  numbers[place.name].assign(stored.data(), stored.data() + stored.size());
}

template <class Tensor>
bool same_shape(const Tensor& a, const Tensor& b) {
  return a.rows() == b.rows() && a.cols() == b.cols();
}

bool differ_in_weights_alone(const Layer& a, const Layer& b) {
  return same_shape(a.W, b.W) && same_shape(a.b, b.b) && same_shape(a.U, b.U) && same_shape(a.bU, b.bU) &&
         a.activation == b.activation && (a.activation != "leaky_relu" || a.leak == b.leak) &&
         a.residual == b.residual && a.scale == b.scale;
}

bool differ_in_weights_alone(const DeepNetwork& a, const DeepNetwork& b) {
  const auto same = [](const Vector& x, const Vector& y) { return x.size() == y.size() && x == y; };
  return same(a.shift, b.shift) && same(a.shift_low, b.shift_low) && same(a.factor, b.factor) &&
         a.constant == b.constant && a.unit == b.unit && same_shape(a.V, b.V) && same_shape(a.c, b.c) &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const Layer& x, const Layer& y) { return differ_in_weights_alone(x, y); });
}

}  // namespace

OnnxNetwork read_onnx(const std::filesystem::path& path) {
  const OnnxGraph graph = read_onnx_graph(path);
  return Reader(path, graph).read();
}

DeepNetwork write_like(const std::filesystem::path& source, const OnnxNetwork& like,
                       const DeepNetwork& network, const std::filesystem::path& path) {
  check(network);
  if (!differ_in_weights_alone(network, like.network))
    throw std::invalid_argument("write_like: the network has other layers than the file");
  std::map<std::string, std::vector<double>> numbers;
  DeepNetwork rounded = network;
  for (std::size_t l = 0; l < like.layers.size(); ++l) {
    const Layer& from = network.layers[l];
    const OnnxLayer& place = like.layers[l];
    Layer& to = rounded.layers[l];
    put(from.W, place.W, like.single, numbers, to.W);
    put(from.b, place.b, like.single, numbers, to.b);
    put(from.U, place.U, like.single, numbers, to.U);
    put(from.bU, place.bU, like.single, numbers, to.bU);
  }
  put(network.V, like.output.W, like.single, numbers, rounded.V);
  put(network.c, like.output.b, like.single, numbers, rounded.c);
  check(rounded);
  write_onnx_like(source, numbers, path);
  return rounded;
}

}  // namespace zeroloss
