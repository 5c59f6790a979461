#include "zeroloss/deep/onnx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "graph/attributes.hpp"
#include "graph/label_names.hpp"
#include "storage/onnx_graph.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

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

// Post-processing behind the outputs, which keeps the argmax.
enum class Tail {
  scores,         // a number for each output, in their order
  probabilities,  // the same between 0 and 1
  rest,           // 1 - p of a single output
  two,            // 1 - p and p of it
  label,          // of the largest
  largest         // itself
};

struct Value {
  Part part = Part::hidden;
  std::size_t level = 0;
  Layer layer = {};  // affine: W, b; active: activation, scale too; branch: U, bU too
  OnnxLayer places = {};
  std::string from = {};  // active, pieces: the z; branch: the phi; tail: the outputs
  Tail tail = Tail::scores;
  std::string unscaled = {};  // branch with a factor: the one without
  std::string by = {};        // active: the node; tail: the first one that changes the outputs, if one does
  LabelNames names = {};      // label
  bool rounded = false;       // tail: the numbers are float32, and those of the outputs float64
  bool named = false;         // by the file, and not only by the number of the output
};

// A constant of the graph, as it is used: maybe transposed, or of another type.
struct Numbers {
  const OnnxNumbers* stored = nullptr;
  bool transposed = false;
  std::vector<Index> shape;
  OnnxType type = OnnxType::none;
  bool own = false;  // one node takes it, and nothing else sees what is stored

  double scalar() const { return stored->values.front(); }
  bool one() const { return stored->values.size() == 1; }
  /// One number, or the same for each of `width` units.
  bool alike(Index width) const {
    const auto& values = stored->values;
    if (values.empty()) return false;
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

// Sizes that a Reshape may name beside numbers: that of the batch, and one that is not known.
constexpr Index kBatch = -2, kOpen = -3;

class Reader {
 public:
  Reader(const std::filesystem::path& path, const OnnxGraph& graph) : path_(path.string()), graph_(graph) {}

  OnnxNetwork read() {
    if (const std::string problem = version_problem(graph_.version); !problem.empty())
      throw DataError(fmt::format("{}: {}", path_, problem));
    for (const auto& [name, numbers] : graph_.numbers)
      numbers_[name] = {
          .stored = &numbers, .shape = numbers.shape, .type = numbers.type, .own = used_once(name)};
    if (graph_.inputs.size() != 1) refuse_inputs();
    const auto& [input, sizes, type] = graph_.inputs.front();
    if (!is_float(type) && !is_integer(type))
      throw DataError(fmt::format("{}: its input '{}' is of {}, which is not read", path_, excerpt(input),
                                  name_of(type)));
    values_[input] = {};
    types_[input] = type;
    single_ = type == OnnxType::float32;  // whoever runs it rounds points
    defined_.insert(input);
    // Of no declared shape is what gets points as rows.
    if (sizes.empty() || sizes.size() == 2) rows_.insert(input);
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
  static std::string called(const OnnxNode& node) {
    return fmt::format("node {} ({} -> {})",
                       node.name.empty() ? "without a name" : "'" + excerpt(node.name) + "'",
                       excerpt(node.op), node.outputs.empty() ? "nothing" : excerpt(node.outputs.front()));
  }

  // The end of a message on a file that zeroloss has exported: where its network can be read, if at all.
  std::string own_file(const OnnxNode& node) const {
    if (graph_.producer != "zeroloss" || node.op == "Conv") return "";
    if (node.op == "Scan")
      return "; it was written by zeroloss, of a network that memorises, which was checked when it was made";
    return "; it was written by zeroloss, of a model.safetensors, which can be read, as can its run folder";
  }

  [[noreturn]] void refuse(const OnnxNode& node, const std::string& why) const {
    throw DataError(fmt::format("{}: {}: {}{}", path_, called(node), why, own_file(node)));
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
    for (const auto& [node, size] : cuts_)
      if (size != found_.network.features()) refuse(*node, "points must stay rows");
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

  bool used_once(const std::string& name) const {
    const auto found = graph_.uses.find(name);
    return found != graph_.uses.end() && found->second == 1;
  }

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

  // Where numbers stand that this input of a node takes; `turned`: as the transpose of what the layer has.
  OnnxPlace place_of(const OnnxNode& node, int input, bool turned) {
    const Numbers& numbers = numbers_.at(node.inputs[static_cast<std::size_t>(input)]);
    const std::string& name = numbers.stored->name;
    if (!used_.insert(name).second)
      refuse(node, fmt::format("'{}' is used twice: shared weights are not read", excerpt(name)));
    found_.single = found_.single || numbers.type == OnnxType::float32;
    OnnxPlace place{.name = name, .transposed = turned, .single = numbers.type == OnnxType::float32};
    if (numbers.own && numbers.type == numbers.stored->type) {
      place.transposed = numbers.transposed != turned;
    } else {  // it gets a constant of its own
      place.node = node.outputs.front();
      place.input = input;
      place.shape = numbers.shape;
    }
    return place;
  }

  RowMatrix matrix(const OnnxNode& node, int input, bool transpose, OnnxPlace& place) {
    const Numbers& numbers = numbers_.at(node.inputs[static_cast<std::size_t>(input)]);
    if (numbers.shape.size() != 2) refuse(node, "its weights are not a matrix");
    const auto& stored = numbers.stored->shape;
    place = place_of(node, input, transpose);
    const Eigen::Map<const RowMatrix> A(numbers.stored->values.data(), stored[0], stored[1]);
    return numbers.transposed != transpose ? RowMatrix(A.transpose()) : RowMatrix(A);
  }

  // The same numbers for each point: [size] or [1, size].
  void row(const OnnxNode& node, const Numbers& numbers) const {
    const auto size = static_cast<Index>(numbers.stored->values.size());
    if (numbers.shape.size() > 2 || (!numbers.shape.empty() && numbers.shape.back() != size))
      refuse(node, "its numbers are not one for each feature or unit");
  }

  Vector vector(const OnnxNode& node, int input, Index size, OnnxPlace& place) {
    const Numbers& numbers = numbers_.at(node.inputs[static_cast<std::size_t>(input)]);
    if (static_cast<Index>(numbers.stored->values.size()) != size)
      refuse(node, fmt::format("it adds {} numbers to {}", numbers.stored->values.size(), size));
    row(node, numbers);
    place = place_of(node, input, false);
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
    if (const std::string problem = attribute_problem(node, graph_.version); !problem.empty())
      refuse(node, problem);
    if (std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](const std::string& input) { return values_.contains(input); }))
      return take_constant(node);
    take_types(node);
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
    if (node.op == "Cast") return cast(node, out);
    if (node.op == "Identity" || node.op == "Dropout" || node.op == "Flatten" || node.op == "Reshape" ||
        node.op == "Squeeze")
      return pass(node, out);
    if (node.op == "Shape") return shape_of(node);  // of which only Reshape makes use
    take_tail(node);
  }

  // ---- types ----

  static OnnxType cast_type(const OnnxNode& node) { return static_cast<OnnxType>(node.integer("to", 0)); }
  static bool to_float(const OnnxNode& node) { return is_float(cast_type(node)); }

  // What is read is real arithmetic: integers divide and overflow in another way. No constant is empty.
  void take_types(const OnnxNode& node) {
    OnnxType type = OnnxType::none;
    for (const std::string& input : node.inputs)
      if (const auto found = types_.find(input); found != types_.end()) type = found->second;
    if (computes(node.op) && !is_float(type))
      refuse(node, fmt::format("it computes with {}, and only float32 and float64 are read as real numbers",
                               name_of(type)));
    for (const std::string& input : node.inputs) {
      const auto value = types_.find(input);
      const auto numbers = numbers_.find(input);
      if (numbers != numbers_.end() && numbers->second.stored->values.empty())
        refuse(node, fmt::format("'{}' has no numbers", excerpt(input)));
      const OnnxType other = value != types_.end()       ? value->second
                             : numbers != numbers_.end() ? numbers->second.type
                                                         : type;
      if (computes(node.op) && other != type)
        refuse(node, fmt::format("it mixes {} and {}", name_of(type), name_of(other)));
    }
    single_ = single_ || (type == OnnxType::float32 && computes(node.op)) || node.op == "Scaler";
    for (const std::string& out : node.outputs)
      types_[out] = node.op == "Cast" ? cast_type(node) : node.op == "Scaler" ? OnnxType::float32 : type;
  }

  // Whether a value is the input as it came, whose numbers are those of the points.
  bool untouched(const Value& value) const {
    return value.part == Part::hidden && value.level == 0 && shift_.size() == 0 && factor_.size() == 0;
  }

  // Points have to be numbers of the input's type, where that is one of integers, and of the type that a node
  // makes of them.
  void require_points(const OnnxNode& node, OnnxType from, OnnxType to) {
    const auto require = [&](OnnxType type, const std::string& by) {
      auto& types = found_.network.point_types;
      if (std::ranges::none_of(types, [&](const PointType& t) { return t.type == name_of(type); }))
        types.push_back({name_of(type), by});
    };
    if (is_integer(from))
      require(from, fmt::format("its input '{}' is of this type", excerpt(graph_.inputs.front().name)));
    if (to == OnnxType::float32 && from != to) require(to, called(node) + " rounds to this type");
  }

  bool only_erf_takes(const std::string& name) const {
    return !is_output(name) && std::ranges::all_of(graph_.nodes, [&](const OnnxNode& node) {
      return node.op == "Erf" || std::ranges::find(node.inputs, name) == node.inputs.end();
    });
  }

  void cast(const OnnxNode& node, const std::string& out) {
    const OnnxType from = types_.at(node.inputs.front()), to = cast_type(node);
    if (!to_float(node))
      refuse(node, fmt::format("a cast to {}: only float32 and float64 are read", name_of(to)));
    Value value = now(node, node.inputs.front());
    if (untouched(value)) {
      require_points(node, from, to);
    } else if (from == OnnxType::float64 && to == OnnxType::float32 && only_erf_takes(out)) {
      found_.approximate = true;
      note("erf in float32 is taken for erf");  // ONNX Runtime has no other one
    } else if (from == OnnxType::float64 && to == OnnxType::float32) {
      if (value.part != Part::affine && value.part != Part::branch)
        refuse(node, "it rounds to float32 what was computed in float64");
      return take_tail(node);  // of outputs alone, then
    }
    pass(node, out);
  }

  void pass(const OnnxNode& node, const std::string& out) {
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
    if (node.op == "Reshape" && !is_end(out)) require_rows(node, value);
    alias_[out] = node.inputs.front();
    values_[out] = value;
    if (value.part == Part::active || value.part == Part::affine) follow_[node.inputs.front()].push_back(out);
  }

  // ---- whether points are rows of a matrix, and not of more dimensions ----

  using Sizes = std::vector<Index>;

  // Numbers that are computed of shapes, as far as they are known: null where their count is not.
  const Sizes* sizes(const std::string& name) {
    if (const auto found = sizes_.find(name); found != sizes_.end()) return &found->second;
    const auto found = numbers_.find(name);
    if (found == numbers_.end() || !is_integer(found->second.type)) return nullptr;
    const auto& integers = found->second.stored->integers;
    return &(sizes_[name] = Sizes(integers.begin(), integers.end()));
  }

  // Those from `start` to before `end`, counted from behind where they are negative.
  static Sizes between(const Sizes& all, Index start, Index end) {
    const Index n = std::ssize(all);
    const auto place = [n](Index k) { return std::clamp<Index>(k < 0 ? k + n : k, 0, n); };
    return place(start) < place(end) ? Sizes(all.begin() + place(start), all.begin() + place(end)) : Sizes{};
  }

  // A value has its points along the first dimension.
  void shape_of(const OnnxNode& node) {
    constexpr std::size_t kMany = 9;  // of a value whose dimensions are not counted
    const std::string& input = node.inputs.front();
    Sizes all(rows_.contains(input) ? 2 : kMany, kOpen);
    if (input == graph_.inputs.front().name && !graph_.inputs.front().shape.empty()) {
      all = graph_.inputs.front().shape;
      std::ranges::replace(all, Index{0}, kOpen);
    }
    all.front() = kBatch;
    sizes_[node.outputs.front()] =
        between(all, node.integer("start", 0), node.integer("end", std::ssize(all)));
  }

  void follow_sizes(const OnnxNode& node) {
    static const std::set<std::string> same{"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
    const Sizes* first = sizes(node.inputs.front());
    if (first == nullptr) return;
    Sizes made;
    if (same.contains(node.op)) {
      made = *first;
    } else if (node.op == "Gather" && node.inputs.size() > 1 && sizes(node.inputs[1]) != nullptr) {
      for (const Index k : *sizes(node.inputs[1])) {
        const Index place = k < 0 ? k + std::ssize(*first) : k;
        const bool there = 0 <= place && place < std::ssize(*first);
        made.push_back(there ? (*first)[static_cast<std::size_t>(place)] : kOpen);
      }
    } else if (node.op == "Slice" && node.inputs.size() == 4 && sizes(node.inputs[1]) != nullptr &&
               sizes(node.inputs[2]) != nullptr && sizes(node.inputs[1])->size() == 1 &&
               sizes(node.inputs[2])->size() == 1) {  // along its one axis, in steps of 1
      made = between(*first, sizes(node.inputs[1])->front(), sizes(node.inputs[2])->front());
    } else if (node.op == "Concat") {
      for (const std::string& input : node.inputs) {
        const Sizes* part = sizes(input);
        if (part == nullptr) return;
        made.insert(made.end(), part->begin(), part->end());
      }
    } else {
      return;
    }
    sizes_[node.outputs.front()] = std::move(made);
  }

  Index width_of(const Value& value) {
    if (value.part == Part::hidden) return layers()[value.level - 1].outputs();
    return width_of(value.layer);
  }

  // A Reshape keeps points apart where it leaves the batch as it is, or gives each point all of its numbers.
  void require_rows(const OnnxNode& node, const Value& value) {
    const Sizes* shape = node.inputs.size() > 1 ? sizes(node.inputs[1]) : nullptr;
    if (shape == nullptr || shape->empty()) refuse(node, "the shape that it gives cannot be followed");
    if (node.integer("allowzero", 0) != 0 && std::ranges::count(*shape, Index{0}) > 0)
      refuse(node, "a shape without numbers");
    const auto& declared = graph_.inputs.front().shape;
    const Index first = shape->front();
    if (first == kBatch || first == 0 || (!declared.empty() && first == declared.front())) return;
    if (first == 1 && shape->size() == 2 && shape->back() == -1) return;  // of one point at a time
    Index size = 1;
    for (std::size_t k = 1; k < shape->size(); ++k)
      if ((*shape)[k] <= 0 || __builtin_mul_overflow(size, (*shape)[k], &size))
        refuse(node, "points must stay rows");
    if (first != -1) refuse(node, "points must stay rows");
    if (value.part == Part::hidden && value.level == 0)
      cuts_.emplace_back(&node, size);
    else if (size != width_of(value))
      refuse(node, "points must stay rows");
  }

  bool makes_rows(const OnnxNode& node) {
    if (node.op == "Gemm" || node.op == "Flatten") return true;
    if (node.op == "Reshape") {
      const Sizes* shape = node.inputs.size() > 1 ? sizes(node.inputs[1]) : nullptr;
      return shape != nullptr && shape->size() == 2;
    }
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
    const RowMatrix W = matrix(node, 1, !transposed, W_place);
    Vector b;
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      if (!constant(node.inputs[2])) refuse(node, "its third input must be numbers of the file");
      b = vector(node, 2, W.rows(), b_place);
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
    follow(root, values_.at(root));
  }
  void follow(const std::string& root, const Value& value) {
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
        const Vector b = vector(node, first ? 0 : 1, size, place);
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
    const OnnxType from = types_.at(node.inputs.front());
    if (from == OnnxType::float64) refuse(node, "it rounds to float32 what it computes of float64");
    require_points(node, from, OnnxType::float32);
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
    found_.approximate = true;
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
    value.by = called(node);
    value.layer.activation = activation_ops().at(node.op);
    if (node.op == "LeakyRelu") value.layer.leak = node.number("alpha", static_cast<double>(0.01F));
    values_[out] = std::move(value);
  }

  // Whether these numbers are the same after the cast.
  static bool kept(const OnnxNode& node, const OnnxNumbers& numbers) {
    return cast_type(node) == OnnxType::float64 ||
           (cast_type(node) == OnnxType::float32 && std::ranges::all_of(numbers.values, [](double x) {
              return static_cast<double>(static_cast<float>(x)) == x;
            }));
  }

  // Whether a transposition of a matrix is one.
  bool turns(const OnnxNode& node) const {
    const auto* order = node.find<std::vector<std::int64_t>>("perm");
    if (order == nullptr || *order == std::vector<std::int64_t>{1, 0}) return true;
    if (*order != std::vector<std::int64_t>{0, 1}) refuse(node, "its perm is no order of two dimensions");
    return false;
  }

  // Constants of constants: only what leaves the numbers as they are.
  void take_constant(const OnnxNode& node) {
    if (node.inputs.empty()) return;
    follow_sizes(node);
    if (!constant(node.inputs.front())) return;  // what matters is found out where it is used
    Numbers numbers = numbers_.at(node.inputs.front());
    if (node.op == "Transpose" && numbers.shape.size() == 2) {
      if (turns(node)) {
        numbers.transposed = !numbers.transposed;
        std::swap(numbers.shape[0], numbers.shape[1]);
      }
    } else if (node.op == "Cast" && kept(node, *numbers.stored)) {
      numbers.type = cast_type(node);
    } else if (node.op != "Identity") {
      return;
    }
    numbers.own = numbers.own && used_once(node.outputs.front());
    numbers_[node.outputs.front()] = numbers;
  }

  static bool is_probability(const Value& value) {
    return value.part == Part::active && value.layer.activation == "sigmoid" && value.layer.scale == 1;
  }

  // A value as something behind the outputs.
  Value tail_of(const OnnxNode& node, const std::string& name) {
    const Value& value = now(node, name);
    if (value.part == Part::tail) return value;
    if (is_probability(value)) {
      note("left out behind the outputs: Sigmoid");
      return {.part = Part::tail, .from = value.from, .tail = Tail::probabilities, .by = value.by};
    }
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
      return found != numbers_.end() && found->second.one() && !is_half(found->second.type)
                 ? found->second.scalar()
                 : std::nan("");
    };
    const bool one = scores && outputs_of(made.from) == 1, probability = made.tail == Tail::probabilities;
    bool known = false;
    const Tail before = made.tail;
    if (before == Tail::label) {
      known = alone && rename(node, made);
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
    } else if (node.op == "ArgMax" ||
               (node.op == "TopK" && node.integer("largest", 1) == 1 && node.integer("sorted", 1) == 1)) {
      known = alone && along && ((scores && !one) || made.tail == Tail::two);
      made.tail = Tail::label;
    } else if (node.op == "ZipMap") {
      known = (scores && !one) || made.tail == Tail::two;
      if (known) zip(node, made);
      made.tail = Tail::label;
    } else if (node.op == "Sub") {
      known = alone && one && probability && number(0) == 1;
      made.tail = Tail::rest;
    } else if (node.op == "Concat") {
      known = tails.size() == 2 && node.inputs.size() == 2 && along && tails[0].tail == Tail::rest &&
              tails[1].tail == Tail::probabilities && tails[0].from == tails[1].from;
      made.tail = Tail::two;
    } else if (node.op == "Greater" || node.op == "GreaterOrEqual") {
      known = alone && one && values_.contains(node.inputs.front()) && number(1) == (probability ? 0.5 : 0.0);
      made.tail = Tail::label;
    }
    if (!known && tails.front().rounded)
      refuse(node, fmt::format("it takes what {} has rounded to float32: that is read of outputs alone",
                               tails.front().by));
    if (!known)
      refuse(node, fmt::format("no part of a network of layers, and behind {} it is not known to leave the "
                               "largest the largest",
                               made.by.empty() ? "the outputs" : made.by));
    const bool same = node.op == "Identity" || node.op == "Reshape" || node.op == "Flatten" ||
                      node.op == "Squeeze" || (node.op == "Cast" && cast_type(node) != OnnxType::float32) ||
                      (node.op == "Cast" && types_.at(node.inputs.front()) == OnnxType::float32);
    made.rounded = made.rounded || (node.op == "Cast" && !same);
    if (made.by.empty() && !same) made.by = called(node);
    if (made.tail == Tail::label && made.names.empty()) made.names = numbered(classes_of(made));
    note(fmt::format("left out behind the outputs: {}", node.op));
    for (const std::string& out : node.outputs) values_[out] = made;
    if (node.op == "TopK") values_[node.outputs.front()].tail = Tail::largest;
  }

  Index outputs_of(const std::string& name) const {
    const Layer& layer = values_.at(name).layer;
    return values_.at(name).part == Part::branch ? layer.U.rows() : layer.W.rows();
  }
  Index classes_of(const Value& tail) const { return std::max<Index>(outputs_of(tail.from), 2); }

  // ---- what classes are called ----

  bool rename(const OnnxNode& node, Value& label) const {
    static const std::set<std::string> lists{"ArrayFeatureExtractor", "Gather"};
    if (lists.contains(node.op) == values_.contains(node.inputs.front())) return false;
    std::string problem;
    label.names = renamed(node, graph_, label.names, problem);
    if (!problem.empty()) refuse(node, problem);
    label.named = label.named || lists.contains(node.op) || node.op == "LabelEncoder";
    return true;
  }

  void zip(const OnnxNode& node, Value& scores) const {
    std::string problem;
    scores.names = zipped(node, classes_of(scores), problem);
    if (!problem.empty()) refuse(node, problem);
    scores.named = true;
  }

  // They are those of the network, and said where they are not the numbers of the outputs.
  void name_classes(const Value& label) {
    if (!label.named) return;
    if (names_.empty()) names_ = label.names;
    if (names_ != label.names)
      throw DataError(fmt::format("{}: it calls its classes {}, and also {}", path_, excerpt(names_),
                                  excerpt(label.names)));
    found_.network.class_names = names_;
    found_.network.task = Task::classification;
    if (names_ != numbered(std::ssize(names_)) && names_.size() <= 100)
      note(fmt::format("the file calls its classes {}", fmt::join(names_, ", ")));
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
    bool themselves = false;  // whether the outputs are one of those of the graph
    std::string behind;
    for (const std::string& name : graph_.outputs) {
      if (!values_.contains(name)) continue;
      const Value& value = now(end, name);
      const bool tail = value.part == Part::tail, probability = is_probability(value);
      outputs.insert(tail || probability ? value.from : name);
      if (probability) note("left out behind the outputs: Sigmoid");
      if (tail && value.tail == Tail::label) name_classes(value);
      const std::string by = tail || probability ? value.by : "";
      themselves = themselves || by.empty();
      if (behind.empty()) behind = by;
    }
    if (!themselves) found_.network.behind = behind;
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
    if (layers().empty()) throw DataError(fmt::format("{}: a linear map without a hidden layer", path_));
    const Index d = network.features();
    const auto all = [&](const Vector& numbers) -> Vector {
      return numbers.size() == 1 && d > 1 ? Vector::Constant(d, numbers(0)) : numbers;
    };
    network.shift = all(shift_);
    network.factor = all(factor_);
    network.single = single_ || found_.single;
  }

  std::string path_;
  const OnnxGraph& graph_;
  OnnxNetwork found_;
  std::map<std::string, Value> values_;
  std::map<std::string, Numbers> numbers_;
  std::map<std::string, std::string> alias_;                // another name of a value
  std::map<std::string, std::vector<std::string>> follow_;  // and back
  std::set<std::string> used_;                              // weights
  bool single_ = false;                                     // whether points are rounded to float32, or sums
  Vector shift_, factor_;
  std::set<std::string> defined_;                        // names that something has
  bool begun_ = false;                                   // a linear map took the input
  std::set<std::string> rows_;                           // values that are matrices, with a point a row
  std::map<std::string, Sizes> sizes_;                   // what is computed of shapes
  std::vector<std::pair<const OnnxNode*, Index>> cuts_;  // nodes that give each point so many numbers
  std::map<std::string, OnnxType> types_;                // of values
  LabelNames names_;                                     // of the outputs
};

// The numbers of a tensor as the file is to store them, and what they are after that.
template <class Tensor>
void put(const Tensor& tensor, const OnnxPlace& place, std::vector<OnnxChange>& changes, Tensor& rounded) {
  rounded = tensor;
  if (tensor.size() == 0) return;
  if (place.single)
    rounded = tensor.unaryExpr([](double x) { return static_cast<double>(static_cast<float>(x)); });
  const RowMatrix stored = place.transposed ? RowMatrix(rounded.transpose()) : RowMatrix(rounded);
  OnnxChange& change =
      changes.emplace_back(OnnxChange{.node = place.node,
                                      .input = place.input,
                                      .shape = place.shape,
                                      .type = place.single ? OnnxType::float32 : OnnxType::float64,
                                      .values = {stored.data(), stored.data() + stored.size()}});
  if (place.node.empty()) change.constant = place.name;
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

bool equal(const DeepNetwork& a, const DeepNetwork& b) {
  const auto same = [](const Layer& x, const Layer& y) {
    return x.W == y.W && x.b == y.b && x.U == y.U && x.bU == y.bU;
  };
  return differ_in_weights_alone(a, b) && a.V == b.V && a.c == b.c && a.class_names == b.class_names &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), same);
}

// What was written, as it is found there.
DeepNetwork written(const std::filesystem::path& source, const std::filesystem::path& path,
                    const DeepNetwork& meant) {
  std::string why = "it holds another network";
  try {
    DeepNetwork found = read_onnx(path).network;
    if (equal(found, meant)) return found;
  } catch (const DataError& error) {
    why = error.what();
  }
  throw DataError(
      fmt::format("{}: other weights cannot be put into this graph: {} was written, read again and {}",
                  source.string(), path.string(), why));
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
  std::vector<OnnxChange> changes;
  DeepNetwork rounded = network;
  for (std::size_t l = 0; l < like.layers.size(); ++l) {
    const Layer& from = network.layers[l];
    const OnnxLayer& place = like.layers[l];
    Layer& to = rounded.layers[l];
    put(from.W, place.W, changes, to.W);
    put(from.b, place.b, changes, to.b);
    put(from.U, place.U, changes, to.U);
    put(from.bU, place.bU, changes, to.bU);
  }
  put(network.V, like.output.W, changes, rounded.V);
  put(network.c, like.output.b, changes, rounded.c);
  rounded.class_names = like.network.class_names;  // no others are written
  check(rounded);
  write_onnx_like(source, changes, path);
  return written(source, path, rounded);
}

}  // namespace zeroloss
