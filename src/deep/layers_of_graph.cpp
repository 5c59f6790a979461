#include "deep/layers_of_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "deep/affine.hpp"
#include "graph/broadcast.hpp"
#include "graph/evaluate.hpp"
#include "graph/outputs.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

// What the maps of the graph start from.
struct Point {
  enum class Kind {
    input,   // (x - shift - shift_low) o factor, with `constant` behind it, divided by what `by` says
    phi,     // phi(argument)
    scaled,  // times a phi, which is `argument`
    sum      // argument + other
  };
  Kind kind = Kind::input;
  const OnnxNode* node = nullptr;
  Affine argument = {}, other = {};
  std::string activation = {};
  double leak = 0.01;
  int of = 0;           // the root that phi's argument is a multiple of
  double of_times = 1;  // and which
  Vector shift = {}, shift_low = {}, factor = {};
  double constant = 0;
  enum class By { nothing, largest, length } by = By::nothing;
};

// A value of the graph: root `root`, times a number.
struct Seen {
  std::shared_ptr<const Affine> affine;
  int root = 0;
  double of_root = 1;
};

const std::map<std::string, std::string>& activation_ops() {
  static const std::map<std::string, std::string> ops{{"Relu", "relu"},         {"LeakyRelu", "leaky_relu"},
                                                      {"Tanh", "tanh"},         {"Sigmoid", "sigmoid"},
                                                      {"Softplus", "softplus"}, {"Erf", "erf"},
                                                      {"Gelu", "gelu"},         {"Sin", "sin"}};
  return ops;
}

constexpr double kRoot = 0.70710678118654752;  // of 1/2

class LayerReader {
 public:
  LayerReader(const GraphNetwork& network)
      : network_(network),
        graph_(*network.graph),
        outputs_(graph::outputs_of(graph_, network.options.output_name)),
        trial_(graph::trial_of(graph_, outputs_.scores, network.options.shape, *network.memory)) {
    for (const OnnxNode& node : graph_.nodes)
      for (const std::string& out : node.outputs) makers_[out] = &node;
  }

  OnnxNetwork read() {
    const OnnxInput& input = graph_.inputs.front();
    if (!is_float(input.type) && !is_integer(input.type))
      throw DataError(fmt::format("its input '{}' is of {}, which layers are not read of",
                                  excerpt(input.name), name_of(input.type)));
    if (is_integer(input.type))
      require_points(input.type, fmt::format("its input '{}' is of this type", excerpt(input.name)));
    points_.push_back({});
    set(input.name, {});
    for (const OnnxNode& node : graph_.nodes)
      if (std::ranges::any_of(node.outputs, [&](const std::string& out) { return varies(out); })) take(node);
    if (!trial_.problem.empty()) throw DataError(trial_.problem);
    finish();
    try {
      check(found_.network);
    } catch (const std::invalid_argument& error) {
      throw DataError(error.what());
    }
    return std::move(found_);
  }

 private:
  [[noreturn]] static void refuse(const OnnxNode& node, const std::string& why) {
    throw DataError(fmt::format("{}: {}", called(node), why));
  }

  void note(const std::string& text) {
    if (std::ranges::find(found_.notes, text) == found_.notes.end()) found_.notes.push_back(text);
  }

  // ---- values ----

  bool varies(const std::string& name) const {
    const auto found = trial_.values.find(name);
    return found != trial_.values.end() && found->second.varies;
  }
  const graph::Value& value(const std::string& name) const { return trial_.values.at(name); }
  Index size_of(const std::string& name) const { return value(name).size(); }

  void set(const std::string& name, Affine affine) {
    roots_.push_back(std::make_shared<const Affine>(std::move(affine)));
    seen_[name] = {roots_.back(), static_cast<int>(roots_.size()) - 1, 1};
  }
  // a b; where that is rounded the layers are not exactly what the file computes.
  double rounded_product(double a, double b) {
    const double ab = a * b;
    if (std::fma(a, b, -ab) != 0 || (std::abs(ab) < 1e-290 && a != 0 && b != 0)) found_.approximate = true;
    return ab;
  }
  // The root of `before` times a number.
  void set_multiple(const std::string& name, const Seen& before, Affine affine, double times) {
    seen_[name] = {std::make_shared<const Affine>(std::move(affine)), before.root,
                   rounded_product(before.of_root, times)};
  }
  void set_point(const std::string& name, Point point) {
    points_.push_back(std::move(point));
    set(name, {.point = static_cast<int>(points_.size()) - 1});
  }
  const Point& point_of(const Affine& affine) const {
    return points_[static_cast<std::size_t>(affine.point)];
  }
  bool of_input(const Affine& affine) const {
    return point_of(affine).kind == Point::Kind::input && affine.point_itself();
  }
  const Seen& seen(const OnnxNode& node, const std::string& name) const {
    const auto found = seen_.find(name);
    if (found == seen_.end())
      refuse(node, fmt::format("its input '{}' is nothing that layers are made of", excerpt(name)));
    return found->second;
  }

  void require_points(OnnxType type, const std::string& by) {
    auto& types = found_.network.point_types;
    if (std::ranges::none_of(types, [&](const PointType& t) { return t.type == name_of(type); }))
      types.push_back({name_of(type), by});
  }

  // ---- constants ----

  bool used_once(const std::string& name) const {
    const auto found = graph_.uses.find(name);
    return found != graph_.uses.end() && found->second == 1;
  }

  // What a constant is of the file, as long as nothing computes with it.
  struct Origin {
    std::string stored = {};  // empty: it is computed
    bool transposed = false, own = true;
  };
  Origin origin(std::string name) const {
    Origin from;
    while (true) {
      from.own = from.own && used_once(name);
      if (graph_.numbers.contains(name)) {
        from.stored = name;
        return from;
      }
      const auto made = makers_.find(name);
      if (made == makers_.end()) return {};
      const OnnxNode& node = *made->second;
      const graph::Value& was = value(node.inputs.front());
      if (node.op == "Transpose") {
        if (!turns_nothing(node, was)) {
          if (was.shape.size() != 2) return {};
          from.transposed = !from.transposed;
        }
      } else if (!graph::keeps_numbers(node.op) && !(node.op == "Cast" && keeps(was, value(name).type))) {
        return {};
      }
      name = node.inputs.front();
    }
  }
  static bool turns_nothing(const OnnxNode& node, const graph::Value& was) {
    if (std::ranges::count_if(was.shape, [](Index size) { return size != 1; }) < 2) return true;
    const auto* order = node.find<std::vector<std::int64_t>>("perm");
    return order != nullptr && std::ranges::is_sorted(*order);
  }
  // Whether these numbers are the same in a type.
  static bool keeps(const graph::Value& numbers, OnnxType type) {
    return is_integer(numbers.type) || type == OnnxType::float64 ||
           (type == OnnxType::float32 && std::all_of(numbers.h.data(), numbers.h.data() + numbers.h.size(),
                                                     [](double x) { return x == static_cast<float>(x); }));
  }

  // Whether a constant comes of numbers that a cast rounds.
  bool narrowed(const std::string& name) const {
    std::set<std::string> before{name};  // all that it is made of, each once
    for (std::vector<std::string> open{name}; !open.empty();) {
      const std::string made = std::move(open.back());
      open.pop_back();
      const auto found = makers_.find(made);
      if (found == makers_.end()) continue;
      const OnnxNode& node = *found->second;
      if (node.op == "Cast" && !keeps(value(node.inputs.front()), value(made).type)) return true;
      for (const std::string& input : node.inputs)
        if (before.insert(input).second) open.push_back(input);
    }
    return false;
  }

  // Where the numbers stand that a node takes at this input; `turned`: as the transpose of what it has there.
  OnnxPlace place_of(const OnnxNode& node, std::size_t input, bool turned, Index size,
                     std::vector<std::string>& constants) {
    const std::string& name = node.inputs[input];
    const graph::Value& numbers = value(name);
    const Origin from = origin(name);
    found_.single = found_.single || numbers.type == OnnxType::float32;
    if (from.stored.empty()) {
      if (narrowed(name)) refuse(node, fmt::format("'{}' is rounded before it is used", excerpt(name)));
      if (!numbers.exact()) note("weights that the file computes are rounded"), found_.approximate = true;
      return {};
    }
    constants.push_back(from.stored);
    OnnxPlace place{.name = from.stored, .transposed = turned, .single = numbers.type == OnnxType::float32};
    const OnnxNumbers& stored = graph_.numbers.at(from.stored);
    if (from.own && numbers.type == stored.type && numbers.size() == size) {
      place.transposed = from.transposed != turned;
      return place;
    }
    if (numbers.size() != size && value(node.outputs.front()).shape.back() != size) return {};
    place.node = node.outputs.front();  // it gets a constant of its own
    place.input = static_cast<int>(input);
    place.shape = numbers.size() == size ? numbers.shape : std::vector<Index>{size};
    return place;
  }

  // Numbers of a constant for each number of the node's result.
  Vector spread(const OnnxNode& node, std::size_t input) const {
    const graph::Value &numbers = value(node.inputs[input]), &made = value(node.outputs.front());
    const auto places = graph::spread_places(numbers.shape, made.shape);
    Vector all(made.size());
    for (Index k = 0; k < all.size(); ++k) all(k) = numbers.h(0, places[static_cast<std::size_t>(k)]);
    return all;
  }

  // ---- operators ----

  void take(const OnnxNode& node) {
    const std::string& out = node.outputs.front();
    if (!varies(out)) refuse(node, "no part of a network of layers");
    if (node.op == "Cast") return cast(node, out);
    const OnnxType type = value(out).type;
    if (!is_float(type) && !is_integer(type))
      refuse(node, fmt::format("it gives {}, and only float32 and float64 are read as real numbers",
                               name_of(type)));
    static const std::set<std::string> scales{"Add", "Sub", "Mul", "Div"};
    const std::string& op = node.op;
    if (is_integer(type)) refuse(node, fmt::format("it computes with {}", name_of(type)));
    if (graph::keeps_numbers(op)) return pass(node, out);
    if (op == "Transpose") {
      if (!turns_nothing(node, value(node.inputs.front()))) refuse(node, "points must stay rows");
      note("each sample goes through the graph alone, as a batch of one");
      return pass(node, out);
    }
    if (op == "Gemm" || op == "MatMul") return linear(node, out);
    if (scales.contains(op) && node.inputs.size() == 2) return arithmetic(node, out);
    if (op == "Neg") return scaled(node, out, -1);
    if (op == "BatchNormalization") return normalize(node, out);
    if (op == "Scaler") return scaler(node, out);
    if (op == "Pad") return pad(node, out);
    if (op == "Abs" || op == "ReduceMax" || op == "ReduceL2") return;  // of lengths: Div looks for them
    if (const std::string phi = activation_at(node); !phi.empty()) return activate(node, out, phi);
    refuse(node, "no part of a network of layers");
  }

  void pass(const OnnxNode& node, const std::string& out) { seen_[out] = seen(node, node.inputs.front()); }

  void cast(const OnnxNode& node, const std::string& out) {
    const std::string& in = node.inputs.front();
    const OnnxType from = value(in).type, to = value(out).type;
    if (!is_float(to))
      refuse(node, fmt::format("a cast to {}: only float32 and float64 are read", name_of(to)));
    // Points have to be numbers of the types that a node makes of them.
    if (to == OnnxType::float32 && from != to && of_input(*seen(node, in).affine))
      require_points(to, called(node) + " rounds to this type");
    pass(node, out);
  }

  void linear(const OnnxNode& node, const std::string& out) {
    const bool left = !varies(node.inputs[0]);
    const std::size_t weights = left ? 0 : 1;
    const std::string& in = node.inputs[1 - weights];
    const graph::Value &W = value(node.inputs[weights]), &x = value(in);
    if (varies(node.inputs[weights])) refuse(node, "it multiplies two values of the sample");
    if (W.shape.size() != 2) refuse(node, "its weights are no matrix");
    const bool gemm = node.op == "Gemm";
    const auto asked = [&](const char* key) { return gemm && node.integer(key, 0) != 0; };
    // W of W x, or W^T of x W; all numbers of the sample along the axis that is summed.
    const bool turned = left ? asked("transA") : !asked("transB");
    const Index k = turned ? W.shape[0] : W.shape[1];
    if (k != x.size()) refuse(node, "it maps parts of a sample one by one: points must stay rows");
    Stored<RowMatrix> map;
    std::vector<std::string> constants;
    map.place = place_of(node, weights, turned, W.size(), constants);
    const Eigen::Map<const RowMatrix> stored(W.h.data(), W.shape[0], W.shape[1]);
    map.values = turned ? RowMatrix(stored.transpose()) : RowMatrix(stored);
    Affine made = *seen(node, in).affine;
    if (const auto before = layer_point(seen(node, in)))
      made = {.point = *before};
    else if (made.mapped())
      made = as_layer(seen(node, in), point(node, "identity", made, seen(node, in)));
    else if (point_of(made).kind == Point::Kind::phi && made.scaled_alone() && made.times != 1)
      made = as_layer(seen(node, in), rescaled(node, std::move(made)));
    made.map(std::move(map));
    made.constants = std::move(constants);
    if (const double alpha = gemm ? node.number("alpha", 1) : 1; alpha != 1) {
      made.times = alpha;
      made.settle(made.W.values.rows());
    }
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      Stored<Vector> b{.values = spread(node, 2), .place = {}};
      b.place = place_of(node, 2, false, b.values.size(), made.constants);
      if (const double beta = node.number("beta", 1); beta != 1) {
        b.values *= beta;
        b.place = {};
        made.folded = true;
        made.rounded = made.rounded || !power_of_two(beta);
      }
      made.add(std::move(b));
    }
    set(out, std::move(made));
  }

  // A new point, which a map can be taken of: phi of a multiple of a root.
  Affine point(const OnnxNode& node, const std::string& activation, Affine argument, const Seen& of) {
    argument.settle(argument.W.values.rows());
    points_.push_back({.kind = Point::Kind::phi,
                       .node = &node,
                       .argument = std::move(argument),
                       .activation = activation,
                       .of = of.root,
                       .of_times = of.of_root});
    return {.point = static_cast<int>(points_.size()) - 1};
  }
  Affine rescaled(const OnnxNode& node, Affine phi) {
    points_.push_back({.kind = Point::Kind::scaled, .node = &node, .argument = std::move(phi)});
    return {.point = static_cast<int>(points_.size()) - 1};
  }

  // A map, or a phi times a number, that a map is taken of: a layer of its own from there on.
  Affine as_layer(const Seen& value, Affine made) {
    layer_points_[{value.root, value.of_root}] = made.point;
    return made;
  }
  std::optional<int> layer_point(const Seen& value) const {
    const auto found = layer_points_.find({value.root, value.of_root});
    return found == layer_points_.end() ? std::optional<int>() : found->second;
  }

  void arithmetic(const OnnxNode& node, const std::string& out) {
    const bool first = !varies(node.inputs[0]), second = !varies(node.inputs[1]);
    if (!first && !second) return node.op == "Add" || node.op == "Sub" ? sum(node, out) : product(node, out);
    const std::size_t constant = first ? 0 : 1;
    const std::string& in = node.inputs[1 - constant];
    if (size_of(in) != size_of(out)) refuse(node, "it makes more numbers of a sample");
    Vector by = spread(node, constant);
    const Seen before = seen(node, in);
    Affine made = *before.affine;
    if (node.op == "Add" || node.op == "Sub") {
      if (first && node.op == "Sub")
        made.multiply(Vector::Constant(by.size(), -1));
      else if (of_input(made) && shift(out, before, node.op == "Sub" ? by : Vector(-by)))
        return;
      OnnxPlace place = place_of(node, constant, false, by.size(), made.constants);
      if (node.op == "Sub") {
        if (second) by = -by;
        place = {};
        made.folded = true;
      }
      made.add({std::move(by), std::move(place)});
      return set(out, std::move(made));
    }
    if (first && node.op == "Div") refuse(node, "a constant divided by a layer");
    bool exact = true;
    if (node.op == "Div") {
      if ((by.array() == 0).any()) refuse(node, "it divides by 0");
      exact = std::all_of(by.begin(), by.end(), power_of_two);
      by = by.cwiseInverse();
    }
    if (!by.allFinite())
      refuse(node,
             node.op == "Div" ? "it divides by a number that is too small" : "its factor is not finite");
    found_.approximate = found_.approximate || !exact;  // a reciprocal is rounded
    const bool alike = (by.array() == by(0)).all();
    if (of_input(made) && point_of(made).factor.size() == 0 && plain(made)) {
      if (!exact) note("the input is multiplied by the rounded reciprocal of what the file divides it by");
      Point factored = point_of(made);
      factored.factor = by;
      return set_point(out, std::move(factored));
    }
    made.reciprocal = made.reciprocal || !exact;
    made.multiply(by);
    if (!alike) return set(out, std::move(made));
    set_multiple(out, before, std::move(made), by(0));
  }
  // Neither a constant stands behind it nor is it divided.
  bool plain(const Affine& affine) const {
    return point_of(affine).constant == 0 && point_of(affine).by == Point::By::nothing;
  }

  void scaled(const OnnxNode& node, const std::string& out, double by) {
    const Seen before = seen(node, node.inputs.front());
    Affine made = *before.affine;
    made.multiply(Vector::Constant(size_of(out), by));
    set_multiple(out, before, std::move(made), by);
  }

  // The input less a constant, or less what that lost when it was rounded; false: it is no such thing.
  bool shift(const std::string& out, const Seen& before, const Vector& by) {
    Point moved = point_of(*before.affine);
    if ((by.array() == 0).all()) {  // Keras' Rescaling adds its offset, mostly none
      seen_[out] = before;
      return true;
    }
    if (moved.factor.size() > 0 || !plain(*before.affine)) return false;
    const bool low = moved.shift.size() > 0 && moved.shift_low.size() == 0 &&
                     (by.array().abs() <= 2 * u * moved.shift.array().abs()).all();
    if (moved.shift.size() > 0 && !low) return false;
    (low ? moved.shift_low : moved.shift) = by;
    set_point(out, std::move(moved));
    return true;
  }

  void sum(const OnnxNode& node, const std::string& out) {
    const auto term = [&](std::size_t k) -> Affine {
      const Seen& value = seen(node, node.inputs[k]);
      if (const auto layer = layer_point(value)) return {.point = *layer};
      return *value.affine;
    };
    Affine a = term(0), b = term(1);
    if (node.op == "Sub") b.multiply(Vector::Constant(size_of(out), -1));
    if (size_of(node.inputs[0]) != size_of(out) || size_of(node.inputs[1]) != size_of(out))
      refuse(node, "it makes more numbers of a sample");
    set_point(out,
              {.kind = Point::Kind::sum, .node = &node, .argument = std::move(a), .other = std::move(b)});
  }

  // Products of two values: silu is z sigmoid(z), gelu z (1 + erf(z/sqrt(2)))/2.
  void product(const OnnxNode& node, const std::string& out) {
    if (node.op == "Div" && unit_length(node, out)) return;
    if (node.op != "Mul") refuse(node, "no part of a network of layers");
    for (const std::size_t first : {0U, 1U}) {
      const Seen &z = seen(node, node.inputs[first]), &q = seen(node, node.inputs[1 - first]);
      const Point& phi = point_of(*q.affine);
      if (phi.kind != Point::Kind::phi || phi.of != z.root || q.affine->mapped() ||
          q.affine->diagonal.size() > 0)
        continue;
      const Affine& root = *roots_[static_cast<std::size_t>(z.root)];
      const Vector& one = q.affine->b.values;
      if (!root.mapped()) refuse(node, "a product of what is no linear map");
      if (phi.node->op == "Sigmoid" && phi.of_times == 1 && one.size() == 0) {
        Affine made = point(node, "silu", root, {{}, z.root, 1});
        made.times = rounded_product(z.of_root, q.affine->times);
        return set(out, std::move(made));
      }
      if (phi.node->op == "Erf" && std::abs(phi.of_times - kRoot) < 1e-7 && one.size() > 0 &&
          (one.array() == 1).all()) {
        Affine made = point(node, "gelu", root, {{}, z.root, 1});
        made.times = 2 * z.of_root * q.affine->times;
        found_.approximate = true;
        note("gelu with a rounded square root of 2 is taken for gelu");
        return set(out, std::move(made));
      }
    }
    refuse(node, "a product of two layers");
  }

  const OnnxNode* maker(const std::string& name, const char* op) const {
    const auto found = makers_.find(name);
    return found != makers_.end() && found->second->op == op ? found->second : nullptr;
  }

  // Points divided by their length: first by their largest number, so that squares stay in range.
  bool unit_length(const OnnxNode& node, const std::string& out) {
    const auto of_all = [&](const OnnxNode* reduced) {
      return reduced != nullptr && size_of(reduced->outputs.front()) == 1;
    };
    const OnnxNode* largest = maker(node.inputs[1], "ReduceMax");
    if (of_all(largest)) {
      const OnnxNode* sizes = maker(largest->inputs.front(), "Abs");
      if (sizes == nullptr || sizes->inputs.front() != node.inputs[0]) return false;
      return divide(node, out, Point::By::largest);
    }
    const OnnxNode* length = maker(node.inputs[1], "ReduceL2");
    if (!of_all(length) || length->inputs.front() != node.inputs[0]) return false;
    return divide(node, out, Point::By::length);
  }
  bool divide(const OnnxNode& node, const std::string& out, Point::By by) {
    const Affine& points = *seen(node, node.inputs[0]).affine;
    if (!of_input(points) || point_of(points).by == Point::By::length) return false;
    Point divided = point_of(points);
    divided.by = by;
    set_point(out, std::move(divided));
    return true;
  }

  // A feature more, which is the same for all points.
  void pad(const OnnxNode& node, const std::string& out) {
    const Affine& points = *seen(node, node.inputs.front()).affine;
    const Index d = size_of(node.inputs.front());
    if (!of_input(points) || !plain(points) || size_of(out) != d + 1 ||
        (node.find<std::string>("mode") != nullptr && *node.find<std::string>("mode") != "constant") ||
        value(out).h(0, d) == 0 || value(out).shape.back() != d + 1)
      refuse(node, "no part of a network of layers");
    Point padded = point_of(points);
    padded.constant = value(out).h(0, d);
    set_point(out, std::move(padded));
  }

  void normalize(const OnnxNode& node, const std::string& out) {
    const Index size = size_of(out);
    const auto numbers = [&](std::size_t input) -> Vector { return value(node.inputs[input]).h.row(0); };
    if (value(node.inputs[1]).size() != size) refuse(node, "it normalises more than a number each");
    const Vector factor = numbers(1).cwiseQuotient(
        (numbers(4).array() + node.number("epsilon", static_cast<double>(1e-5F))).sqrt().matrix());
    Affine made = *seen(node, node.inputs.front()).affine;
    made.multiply(factor);
    made.add({numbers(2) - numbers(3).cwiseProduct(factor), {}});
    made.folded = made.rounded = true;
    set(out, std::move(made));
  }

  void scaler(const OnnxNode& node, const std::string& out) {
    const std::string& in = node.inputs.front();
    const Affine& points = *seen(node, in).affine;
    if (!of_input(points) || !plain(points) ||
        point_of(points).shift.size() + point_of(points).factor.size() > 0)
      refuse(node, "it scales what is not the input");
    if (value(in).type != OnnxType::float32)
      require_points(OnnxType::float32, called(node) + " rounds to this type");
    const Index d = size_of(in);
    const auto list = [&](const char* key) -> Vector {
      const auto* values = node.find<std::vector<double>>(key);
      if (values == nullptr || values->empty()) return {};
      if (values->size() == 1) return Vector::Constant(d, values->front());
      return Eigen::Map<const Vector>(values->data(), std::ssize(*values));
    };
    Point made = point_of(points);
    made.shift = list("offset");
    made.factor = list("scale");
    set_point(out, std::move(made));
  }

  // ---- activations ----

  bool constant_number(const OnnxNode& node, std::size_t input, double expected) const {
    if (node.inputs.size() <= input || node.inputs[input].empty() || varies(node.inputs[input])) return false;
    const graph::Value& numbers = value(node.inputs[input]);
    return numbers.size() > 0 && numbers.exact() && (numbers.h.array() == expected).all();
  }

  // The phi that a node is, or nothing.
  std::string activation_at(const OnnxNode& node) const {
    if (const auto found = activation_ops().find(node.op); found != activation_ops().end()) {
      if (node.op == "Gelu")
        if (const auto* how = node.find<std::string>("approximate"); how != nullptr && *how != "none")
          refuse(node, "gelu is read as it is defined, not approximate=" + excerpt(*how));
      return found->second;
    }
    if (node.op == "Clip") {
      // A bound above this cuts off no number of the type.
      const double largest = value(node.inputs[0]).type == OnnxType::float64 ? 1.7e308 : 3e38;
      const bool inputs = node.inputs.size() > 1;
      const bool from_0 = inputs ? constant_number(node, 1, 0)
                                 : node.find<double>("min") != nullptr && node.number("min", 1) == 0;
      const bool below = node.inputs.size() > 2 && !node.inputs[2].empty()
                             ? !varies(node.inputs[2]) && value(node.inputs[2]).h.minCoeff() > largest
                             : node.number("max", graph::kInfinite) > largest;
      return from_0 && below ? "relu" : "";
    }
    if (node.op == "Max" && node.inputs.size() == 2)
      for (const std::size_t zero : {0U, 1U})
        if (constant_number(node, zero, 0)) return "relu";
    if (node.op == "PRelu" || multiple_of_max(node)) return "leaky_relu";
    return "";
  }

  // Which input of max(z, a z), with 0 <= a < 1, is a z; nothing where it is another Max.
  std::optional<std::size_t> multiple_of_max(const OnnxNode& node) const {
    if (node.op != "Max" || node.inputs.size() != 2) return {};
    for (const std::size_t k : {1U, 0U}) {
      const auto z = seen_.find(node.inputs[1 - k]), az = seen_.find(node.inputs[k]);
      if (z != seen_.end() && az != seen_.end() && z->second.root == az->second.root &&
          z->second.of_root == 1 && az->second.of_root >= 0 && az->second.of_root < 1)
        return k;
    }
    return {};
  }

  double leak_of(const OnnxNode& node) const {
    if (node.op == "LeakyRelu") return node.number("alpha", static_cast<double>(0.01F));
    if (node.op == "Max") return seen_.at(node.inputs[multiple_of_max(node).value()]).of_root;
    const graph::Value& slopes = value(node.inputs[1]);
    if (varies(node.inputs[1]) || (slopes.h.array() != slopes.h(0, 0)).any())
      refuse(node, "units with slopes of their own");
    return slopes.h(0, 0);
  }

  void activate(const OnnxNode& node, const std::string& out, const std::string& phi) {
    const bool second = !varies(node.inputs[0]) || multiple_of_max(node) == 0U;
    const std::string& in = node.inputs[node.op == "Max" && second ? 1 : 0];
    const Seen& z = seen(node, in);
    if (!z.affine->mapped()) refuse(node, "an activation of what is no linear map");
    Affine made = point(node, phi, *z.affine, z);
    if (phi == "leaky_relu") points_.back().leak = leak_of(node);
    set(out, std::move(made));
  }

  // ---- the chain ----

  void use(const OnnxNode* node, const Affine& affine) {
    for (const std::string& name : affine.constants)
      if (!used_.insert(name).second) {
        const std::string why = fmt::format("'{}' is used twice: shared weights are not read", excerpt(name));
        if (node == nullptr) throw DataError(why);
        refuse(*node, why);
      }
    if (affine.folded) {
      note(affine.rounded ? "scales and shifts beside linear maps are folded into them, and rounded there"
                          : "scales and shifts beside linear maps are folded into them");
    }
    if (affine.reciprocal)
      note("a layer is multiplied by the rounded reciprocal of what the file divides it by");
    found_.approximate = found_.approximate || affine.rounded;
  }

  static OnnxPlace place_if(const auto& stored) {
    return stored.values.size() > 0 ? stored.place : OnnxPlace{};
  }

  void put(Layer layer, OnnxLayer places) {
    found_.folded = found_.folded || !stands(layer.W, places.W) || !stands(layer.b, places.b) ||
                    !stands(layer.U, places.U) || !stands(layer.bU, places.bU);
    layers_.push_back(std::move(layer));
    places_.push_back(std::move(places));
  }

  // The layer that ends in this point, from which the network goes on with another one.
  const Point* layer_of(const Point& end) {
    const Point* point = &end;
    Layer layer;
    OnnxLayer places;
    const auto take_phi = [&](const Point& phi) {
      use(phi.node, phi.argument);
      layer.activation = phi.activation;
      layer.leak = phi.leak;
      layer.W = phi.argument.W.values;
      layer.b = phi.argument.b.values;
      places.W = place_if(phi.argument.W);
      places.b = place_if(phi.argument.b);
    };
    if (point->kind == Point::Kind::scaled) {
      use(point->node, point->argument);
      layer.scale = point->argument.times;
      point = &point_of(point->argument);
    }
    if (point->kind == Point::Kind::phi) {
      take_phi(*point);
      const Point& before = point_of(point->argument);
      put(std::move(layer), std::move(places));
      return &before;
    }
    // h + s (U phi(W h + b) + bU), or h + s phi(W h + b): of two points the base is what the other is made
    // of.
    for (const bool swapped : {false, true}) {
      const Affine &base = swapped ? point->other : point->argument,
                   &branch = swapped ? point->argument : point->other;
      if (!base.point_itself()) continue;
      const Point* phi = &point_of(branch);
      double inner = 1;
      if (phi->kind == Point::Kind::scaled) {
        inner = phi->argument.times;
        phi = &point_of(phi->argument);
      }
      if (phi->kind != Point::Kind::phi || phi->argument.point != base.point) continue;
      if (!branch.mapped() && (branch.diagonal.size() > 0 || inner != 1)) continue;
      Affine last = branch;
      if (inner != 1) {  // U s phi
        last.W.values *= inner;
        last.W.place = {};
        last.folded = true;
        last.rounded = last.rounded || !power_of_two(inner);
      }
      use(point->node, last);
      take_phi(*phi);
      layer.residual = true;
      layer.scale = last.times;
      layer.U = last.W.values;
      layer.bU = last.b.values;
      places.U = place_if(last.W);
      places.bU = place_if(last.b);
      put(std::move(layer), std::move(places));
      return &point_of(base);
    }
    refuse(*point->node, "a sum must be that of a layer and phi(W h + b) of it, or U phi(W h + b) + bU");
  }

  void finish() {
    const auto end = seen_.find(outputs_.scores);
    if (end == seen_.end() || !end->second.affine->mapped())
      throw DataError("the outputs are no linear map of the last layer");
    Affine last = *end->second.affine;
    last.settle(last.W.values.rows());
    use(nullptr, last);
    DeepNetwork& network = found_.network;
    network.V = last.W.values;
    network.c = last.b.values;
    found_.output.W = place_if(last.W);
    found_.output.b = place_if(last.b);
    found_.folded = !stands(network.V, found_.output.W) || !stands(network.c, found_.output.b);
    const Point* point = &point_of(last);
    while (point->kind != Point::Kind::input) point = layer_of(*point);
    if (layers_.empty()) throw DataError("a linear map without a hidden layer");
    network.layers = {std::make_move_iterator(layers_.rbegin()), std::make_move_iterator(layers_.rend())};
    found_.layers = {std::make_move_iterator(places_.rbegin()), std::make_move_iterator(places_.rend())};
    network.shift = point->shift;
    network.shift_low = point->shift_low;
    network.factor = point->factor;
    network.constant = point->constant;
    if (point->by == Point::By::largest) throw DataError("it divides points by their largest number");
    network.unit = point->by == Point::By::length;
    network.single = std::ranges::any_of(trial_.values, [](const auto& one) {
      return one.second.varies && one.second.type == OnnxType::float32;
    });
    name_classes();
    network.behind = outputs_.behind;
    if (found_.folded)
      note("what is written has the weights of these layers, and is a graph of its own, not the file's");
    found_.notes.insert(found_.notes.end(), outputs_.notes.begin(), outputs_.notes.end());
  }

  static bool stands(const auto& tensor, const OnnxPlace& place) {
    return tensor.size() == 0 || !place.name.empty();
  }

  void name_classes() {
    const Index K = found_.network.outputs();
    outputs_.require_all(value(outputs_.scores).shape, [&](const std::string& name) {
      const graph::Trial trial = graph::values_at_zero(graph_, name, trial_.sizes, *network_.memory);
      if (!trial.problem.empty()) throw DataError(trial.problem);
      return trial.values.at(name).shape;
    });
    if (!outputs_.labels) return;
    std::vector<std::string> names = outputs_.class_names(graph_, K);
    if (!outputs_.named) return;
    found_.network.class_names = names;
    found_.network.task = Task::classification;
    if (names != numbered(std::ssize(names)) && names.size() <= 100)
      note(fmt::format("the file calls its classes {}", fmt::join(names, ", ")));
  }

  const GraphNetwork& network_;
  const OnnxGraph& graph_;
  const graph::Outputs outputs_;
  const graph::Trial trial_;
  OnnxNetwork found_;
  std::map<std::string, const OnnxNode*> makers_;
  std::map<std::string, Seen> seen_;
  std::vector<std::shared_ptr<const Affine>> roots_;
  std::map<std::pair<int, double>, int> layer_points_;
  std::vector<Point> points_;
  std::set<std::string> used_;  // weights
  std::vector<Layer> layers_;   // from the last to the first
  std::vector<OnnxLayer> places_;
};

}  // namespace

OnnxNetwork layers_of_graph(const GraphNetwork& graph) { return LayerReader(graph).read(); }

}  // namespace zeroloss::internal
