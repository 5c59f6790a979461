#include "graph/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "graph/broadcast.hpp"
#include "graph/outputs.hpp"
#include "graph/reduction.hpp"
#include "graph/trial.hpp"
#include "graph/window.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/graph/network.hpp"

// The operators of ONNX by steps.
namespace zeroloss::internal::graph {
namespace {

using Places = std::vector<Index>;

constexpr double kMostNumbers = 1.2e7;  // of constants and places: 100 MB

// Steps one behind the other. Numbers that functions take and return are those of steps, -1 being the point.
class StepList {
 public:
  explicit StepList(Index inputs) : inputs_(inputs) {}

  Index constant(const Vector& numbers) {
    return put({.op = Step::Op::constant, .size = numbers.size(), .b = numbers});
  }
  Index constant(double number, Index size) { return constant(Vector::Constant(size, number)); }
  Index pick(Index x, const Places& places) {
    Places same(static_cast<std::size_t>(size(x)));
    std::iota(same.begin(), same.end(), Index{0});
    if (places == same) return x;
    at(x);
    return put({.op = Step::Op::pick, .size = std::ssize(places), .places = places});
  }
  Index join(const std::vector<Index>& parts) {
    Index all = parts.front();
    for (std::size_t k = 1; k < parts.size(); ++k)
      all = with(Step::Op::join, all, parts[k], size(all) + size(parts[k]));
    return all;
  }
  Index affine(Index x, const RowMatrix& W, const Vector& b, double norm = -1) {
    at(x);
    return put({.op = Step::Op::affine, .size = W.rows(), .W = W, .b = b, .norm = norm});
  }
  /// W H + b of what places (k x p) see, of each of the groups that W, b and the columns of places have.
  Index columns(Index x, const RowMatrix& W, const Vector& b, const Places& places, Index groups,
                double norm) {
    const Index p = std::ssize(places) / W.cols();
    at(x);
    return put({.op = Step::Op::columns,
                .size = W.rows() / groups * p,
                .W = W,
                .b = b,
                .places = places,
                .columns = p,
                .groups = groups,
                .norm = norm});
  }
  /// The largest, or the sum, of what each column of places (k x p) sees.
  Index reduce(Step::Op op, Index x, const Places& places, Index p) {
    at(x);
    return put({.op = op, .size = p, .places = places, .columns = p});
  }
  Index product(Index a, Index b, Index inner, Index columns, Index made) {
    at(a);
    return put({.op = Step::Op::product, .step = b, .size = made, .inner = inner, .columns = columns});
  }
  Index add(Index a, Index b) { return with(Step::Op::add, a, b, size(a)); }
  Index times(Index a, Index b) { return with(Step::Op::times, a, b, size(a)); }
  Index over(Index a, Index b) { return with(Step::Op::over, a, b, size(a)); }
  Index minus(Index a, Index b) { return add(a, scale(b, -1)); }
  Index scale(Index a, double by) {
    at(a);
    return put({.op = Step::Op::scale, .size = size(a), .by = by});
  }
  Index phi(Index a, const std::string& name, double leak = 0) {
    at(a);
    return put({.op = Step::Op::activation, .size = size(a), .by = leak, .name = name});
  }
  Index function(Index a, const char* name) {
    at(a);
    return put({.op = Step::Op::function, .size = size(a), .name = name});
  }
  Index size(Index step) const { return step < 0 ? inputs_ : steps_[static_cast<std::size_t>(step)].size; }

  /// The list, of which this step is the last.
  std::vector<Step> finished(Index last) {
    at(last);
    if (steps_.empty()) put({.op = Step::Op::take, .size = inputs_});  // the point itself
    return std::move(steps_);
  }
  /// Gives a linear map a bias, if it is the last and has none. A mask is no bias.
  bool add_bias(Index step, const Vector& b) {
    if (step < 0 || step != last() || steps_.back().op != Step::Op::affine || steps_.back().b.size() > 0 ||
        size(step) != b.size() || !b.allFinite())
      return false;
    steps_.back().b = b;
    return true;
  }

 private:
  Index last() const { return std::ssize(steps_) - 1; }
  Index put(Step step) {
    numbers_ += static_cast<double>(step.W.size() + step.b.size() + std::ssize(step.places) + step.size);
    if (numbers_ > kMostNumbers)
      throw DataError(fmt::format("as steps it has more than {:.2g} numbers", kMostNumbers));
    steps_.push_back(std::move(step));
    return last();
  }
  // The next step takes the output of this one.
  void at(Index step) {
    if (step != last()) put({.op = Step::Op::take, .step = step, .size = size(step)});
  }
  Index with(Step::Op op, Index a, Index b, Index made) {
    at(a);
    return put({.op = op, .step = b, .size = made});
  }

  const Index inputs_;
  std::vector<Step> steps_;
  double numbers_ = 0;
};

// Operators that only move numbers, those of their first input but where move() says otherwise.
bool moves(const std::string& op) {
  static const std::set<std::string> all{"ArrayFeatureExtractor",
                                         "Cast",
                                         "Concat",
                                         "Dropout",
                                         "Expand",
                                         "Flatten",
                                         "Gather",
                                         "GatherND",
                                         "Identity",
                                         "Imputer",
                                         "Pad",
                                         "Reshape",
                                         "ScatterND",
                                         "Slice",
                                         "Split",
                                         "Squeeze",
                                         "Tile",
                                         "Transpose",
                                         "Trilu",
                                         "Unsqueeze",
                                         "Where"};
  return all.contains(op);
}

class GraphSteps {
 public:
  GraphSteps(const GraphNetwork& network, Index d)
      : graph_(*network.graph),
        scores_(outputs_of(graph_, network.options.output_name).scores),
        trial_(trial_of_points(network, scores_, d)),
        memory_(*network.memory),
        steps_(d) {
    if (!trial_.problem.empty()) throw DataError(trial_.problem);
    for (const OnnxNode& node : graph_.nodes)
      for (const std::string& out : node.outputs) makers_[out] = &node;
    made_[graph_.inputs.front().name] = -1;
  }

  std::vector<Step> steps(double less) {
    std::set<std::string> needed{scores_};
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node)
      if (std::ranges::any_of(node->outputs, [&](const std::string& out) { return needed.contains(out); }))
        needed.insert(node->inputs.begin(), node->inputs.end());
    for (const OnnxNode& node : graph_.nodes)  // in their order, so that none waits for another
      if (std::ranges::any_of(node.outputs,
                              [&](const std::string& out) { return needed.contains(out) && computed(out); }))
        convert(node);
    Index last = of(scores_);
    if (less != 0) last = steps_.add(last, steps_.constant(-less, steps_.size(last)));
    return steps_.finished(last);
  }

 private:
  [[noreturn]] static void refuse(const OnnxNode& node) {
    throw DataError(called(node) + ": this operator is not known in steps");
  }

  // ---- values ----

  const Value& value(const std::string& name) const { return trial_.values.at(name); }
  const Shape& shape(const std::string& name) const { return value(name).shape; }
  // Whether its numbers are not known but by steps.
  bool computed(const std::string& name) const {
    const auto found = trial_.values.find(name);
    return found != trial_.values.end() && is_real(found->second.type) && !exact_constant(name);
  }
  bool exact_constant(const std::string& name) const {
    const Value& its = value(name);
    return !its.varies && its.exact() && its.h.size() > 0 &&
           (graph_.numbers.contains(name) || its.integers.empty());
  }

  // The node of a value; nodes that it comes of are written first.
  Index of(const std::string& name) {
    if (const auto known = made_.find(name); known != made_.end()) return known->second;
    if (exact_constant(name)) return made_[name] = steps_.constant(value(name).h.row(0));
    const auto maker = makers_.find(name);
    if (maker == makers_.end()) throw DataError(fmt::format("'{}' is no real numbers", excerpt(name)));
    convert(*maker->second);
    return made_.at(name);
  }
  void set(const OnnxNode& node, Index made) { made_[node.outputs.front()] = made; }

  Call call(const OnnxNode& node) {
    Call call{node, graph_.version, Execution::exact, {}, memory_, false, kept_};
    for (const std::string& name : node.inputs) call.inputs.push_back(name.empty() ? nullptr : &value(name));
    return call;
  }

  // Of a value that is spread to the shape of the node's result.
  Index spread(const OnnxNode& node, std::size_t input) {
    const std::string& name = node.inputs[input];
    const Shape &own = shape(name), &to = shape(node.outputs.front());
    return own == to ? of(name) : steps_.pick(of(name), spread_places(own, to));
  }

  // ---- functions of one number ----

  Index relu(Index x) { return steps_.phi(x, "relu"); }
  Index constant_like(Index x, double number) { return steps_.constant(number, steps_.size(x)); }
  Index plus(Index x, double number) { return number == 0 ? x : steps_.add(x, constant_like(x, number)); }
  Index scaled(Index x, double by) { return by == 1 ? x : steps_.scale(x, by); }
  Index below(Index x) { return steps_.scale(relu(steps_.scale(x, -1)), -1); }  // min(x, 0)
  Index larger(Index a, Index b) { return steps_.add(a, relu(steps_.minus(b, a))); }
  Index smaller(Index a, Index b) { return steps_.minus(a, relu(steps_.minus(a, b))); }
  Index absolute(Index x) { return steps_.add(relu(x), relu(steps_.scale(x, -1))); }
  Index clamped(Index x, double low, double high) {
    if (std::isfinite(high)) x = smaller(x, constant_like(x, high));
    return std::isfinite(low) ? larger(x, constant_like(x, low)) : x;
  }
  Index hard_sigmoid(Index x, double alpha, double beta) {
    return clamped(plus(steps_.scale(x, alpha), beta), 0, 1);
  }
  // x above 0, a (e^(x/b) - 1) below.
  Index exponential_below(Index x, double a, double b) {
    const Index z = below(x), part = b == 1 ? z : steps_.over(z, constant_like(z, b));
    return steps_.add(relu(x), scaled(plus(steps_.function(part, "exp"), -1), a));
  }

  bool function_of_one(const OnnxNode& node) {
    static const std::map<std::string, const char*> kNamed{
        {"Relu", "relu"},         {"Sigmoid", "sigmoid"}, {"Tanh", "tanh"}, {"Erf", "erf"},
        {"Softplus", "softplus"}, {"Sin", "sin"},         {"Gelu", "gelu"}, {"Swish", "silu"}};
    const std::string& op = node.op;
    const auto number = [&](const char* key, double otherwise) { return node.number(key, otherwise); };
    if (const auto named = kNamed.find(op); named != kNamed.end()) {
      const auto* how = node.find<std::string>("approximate");
      const bool by_tanh = how != nullptr && *how == "tanh";
      set(node, steps_.phi(of(node.inputs[0]), by_tanh ? "gelu_tanh" : named->second));
      return true;
    }
    if (op == "LeakyRelu") {
      const double leak = number("alpha", static_cast<double>(0.01F));
      set(node, steps_.phi(of(node.inputs[0]), "leaky_relu", leak));
    } else if (op == "Elu") {
      set(node, exponential_below(of(node.inputs[0]), number("alpha", 1), 1));
    } else if (op == "Celu") {
      set(node, exponential_below(of(node.inputs[0]), number("alpha", 1), number("alpha", 1)));
    } else if (op == "Selu") {
      const double alpha = number("alpha", static_cast<double>(1.67326319217681884765625F)),
                   gamma = number("gamma", static_cast<double>(1.05070102214813232421875F));
      set(node, steps_.scale(exponential_below(of(node.inputs[0]), alpha, 1), gamma));
    } else if (op == "HardSigmoid") {
      set(node,
          hard_sigmoid(of(node.inputs[0]), number("alpha", static_cast<double>(0.2F)), number("beta", 0.5)));
    } else if (op == "HardSwish") {
      const Index x = of(node.inputs[0]), sixth = steps_.over(x, constant_like(x, 6));
      set(node, steps_.times(x, clamped(plus(sixth, 0.5), 0, 1)));
    } else if (op == "Mish") {
      const Index x = of(node.inputs[0]);
      set(node, steps_.times(x, steps_.phi(steps_.phi(x, "softplus"), "tanh")));
    } else if (op == "Softsign") {
      const Index x = of(node.inputs[0]);
      set(node, steps_.over(x, plus(absolute(x), 1)));
    } else if (op == "Neg") {
      set(node, steps_.scale(of(node.inputs[0]), -1));
    } else if (op == "Abs") {
      set(node, absolute(of(node.inputs[0])));
    } else if (op == "Exp" || op == "Log" || op == "Sqrt") {
      set(node, steps_.function(of(node.inputs[0]), op == "Exp" ? "exp" : op == "Log" ? "log" : "sqrt"));
    } else if (op == "Reciprocal") {
      const Index x = of(node.inputs[0]);
      set(node, steps_.over(constant_like(x, 1), x));
    } else if (op == "Clip") {
      const Call its = call(node);
      const double low = its.has(1) ? its.number(1) : number("min", -kInfinite),
                   high = its.has(2) ? its.number(2) : number("max", kInfinite);
      set(node, clamped(of(node.inputs[0]), low, high));
    } else if (op == "Pow") {
      power(node);
    } else {
      return false;
    }
    return true;
  }

  void power(const OnnxNode& node) {
    const Call its = call(node);
    const double exponent = is_integer(its.input(1).type) && its.input(1).size() == 1
                                ? static_cast<double>(its.integers(1).front())
                                : its.number(1);
    const Index x = of(node.inputs[0]);
    if (exponent == 0.5) return set(node, steps_.function(x, "sqrt"));
    if (exponent == -0.5) return set(node, steps_.over(constant_like(x, 1), steps_.function(x, "sqrt")));
    Index made = x;
    for (int k = 1; k < static_cast<int>(exponent); ++k) made = steps_.times(made, x);
    set(node, made);
  }

  // ---- number by number ----

  bool of_several(const OnnxNode& node) {
    const std::string& op = node.op;
    static const std::set<std::string> kAll{"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "PRelu"};
    if (!kAll.contains(op)) return false;
    if (op == "Add")  // the bias of a linear map
      for (const std::size_t k : {0U, 1U}) {
        const std::string &map = node.inputs[1 - k], &b = node.inputs[k];
        // Others may see the map by another name: that of a Reshape, say.
        const auto maker = makers_.find(map);
        if (!exact_constant(b) || exact_constant(map) || graph_.uses.at(map) != 1 || maker == makers_.end() ||
            maker->second->op != "MatMul" || shape(map) != shape(node.outputs.front()) ||
            value(b).size() != value(map).size())
          continue;
        const Index last = of(map);
        if (steps_.add_bias(last, value(b).h.row(0))) return set(node, last), true;
      }
    Index made = spread(node, 0);
    for (std::size_t k = 1; k < node.inputs.size(); ++k) {
      const Index next = spread(node, k);
      if (op == "Add" || op == "Sum")
        made = steps_.add(made, next);
      else if (op == "Sub")
        made = steps_.minus(made, next);
      else if (op == "Mul")
        made = steps_.times(made, next);
      else if (op == "Div")
        made = steps_.over(made, next);
      else if (op == "Max")
        made = larger(made, next);
      else if (op == "Min")
        made = smaller(made, next);
      else  // slopes
        made = steps_.add(relu(made), steps_.times(below(made), next));
    }
    set(node, made);
    return true;
  }

  // ---- linear maps ----

  // Returns the norm of a node's map that its evaluation found; -1 where it found none.
  double norm_of(const OnnxNode& node) const {
    const auto found = memory_.norms.find(&node);
    return found == memory_.norms.end() ? -1 : found->second;
  }

  // Rows of k numbers, each by W (m x k), or by what is B (k x m); `norm` is that of W.
  Index rows_by(Index x, const std::string& B, bool transposed, double norm) {
    const Shape& sizes = shape(B);
    const Index k = sizes[transposed ? 1 : 0], m = sizes[transposed ? 0 : 1], rows = steps_.size(x) / k;
    if (exact_constant(B) && rows == 1) {
      const Eigen::Map<const RowMatrix> stored(value(B).h.data(), sizes[0], sizes[1]);
      return steps_.affine(x, transposed ? RowMatrix(stored) : RowMatrix(stored.transpose()), {}, norm);
    }
    Index b = of(B);
    if (transposed) b = steps_.pick(b, turned(m, k));
    return steps_.product(x, b, k, m, rows * m);
  }
  // Where the numbers of a rows x columns matrix are in its transpose.
  static Places turned(Index rows, Index columns) {
    Places places;
    for (Index j = 0; j < columns; ++j)
      for (Index i = 0; i < rows; ++i) places.push_back(i * columns + j);
    return places;
  }

  void gemm(const OnnxNode& node) {
    Index x = of(node.inputs[0]);
    const Shape& sizes = shape(node.inputs[0]);
    if (node.integer("transA", 0) != 0) x = steps_.pick(x, turned(sizes[0], sizes[1]));
    const double alpha = node.number("alpha", 1), norm = alpha == 1 ? norm_of(node) : -1;
    Index made = rows_by(x, node.inputs[1], node.integer("transB", 0) != 0, norm);
    made = scaled(made, alpha);
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      const double beta = node.number("beta", 1);
      const std::string& b = node.inputs[2];
      const bool plain = beta == 1 && exact_constant(b) && value(b).size() == steps_.size(made);
      if (!plain || !steps_.add_bias(made, value(b).h.row(0)))
        made = steps_.add(made, scaled(spread(node, 2), beta));
    }
    set(node, made);
  }

  void matmul(const OnnxNode& node) {
    const std::string &A = node.inputs[0], &B = node.inputs[1];
    const Shape &a = shape(A), &b = shape(B);
    if (b.size() == 2 && a.size() > 1 && value(A).varies)
      return set(node, rows_by(of(A), B, false, norm_of(node)));
    // Stacks of matrices, spread over the axes in front.
    const Index m = a.size() == 1 ? 1 : a[a.size() - 2], k = a.back(), p = b.size() == 1 ? 1 : b.back();
    const auto front = [](const Shape& all) {
      return Shape(all.begin(),
                   all.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, all.size())));
    };
    const Value one{.shape = front(a), .h = {}, .e = {}, .eps = {}},
        other{.shape = front(b), .h = {}, .e = {}, .eps = {}};
    const Shape ahead = spread_shape(call(node), {&one, &other});
    const auto stack = [&](Index x, const Shape& own, Index size) {
      Places places;
      for (const Index s : spread_places(own, ahead))
        for (Index t = 0; t < size; ++t) places.push_back(s * size + t);
      return steps_.pick(x, places);
    };
    const Index left = stack(of(A), front(a), m * k), right = stack(of(B), front(b), k * p);
    set(node, steps_.product(left, right, k, p, count_of(ahead) * m * p));
  }

  void convolution(const OnnxNode& node) {
    const Call its = call(node);
    const std::string &X = node.inputs[0], &W = node.inputs[1];
    const bool biased = its.has(2);
    if (!exact_constant(W) || (biased && !exact_constant(node.inputs[2]))) refuse(node);
    const Shape &x = shape(X), &w = shape(W);
    const Windows windows = windows_of(its, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()});
    const Index groups = node.integer("group", 1), outputs = w[0] / groups, channels = w[1];
    const Index size = count_of(x) / x[1], terms = channels * windows.cells;
    // Of each group its windows, channel by channel and cell by cell, beside those of the groups before.
    const Index p = windows.count;
    Places places(static_cast<std::size_t>(terms * groups * p));
    for (Index g = 0; g < groups; ++g)
      for (Index c = 0; c < channels; ++c)
        for (Index q = 0; q < std::ssize(windows.places); ++q) {
          const Index place = windows.places[static_cast<std::size_t>(q)], row = c * windows.cells + q / p;
          places[static_cast<std::size_t>((row * groups + g) * p + q % p)] =
              place < 0 ? -1 : (g * channels + c) * size + place;
        }
    const Eigen::Map<const RowMatrix> kernels(value(W).h.data(), groups * outputs, terms);
    const Vector b = biased ? Vector(value(node.inputs[2]).h.row(0)) : Vector();
    set(node, steps_.columns(of(X), kernels, b, places, groups, norm_of(node)));
  }

  // Of ai.onnx.ml.
  void linear(const OnnxNode& node, std::size_t output) {
    const auto numbers = [&](const char* key) {
      const auto* list = node.find<std::vector<double>>(key);
      return list == nullptr ? Vector() : Vector(Eigen::Map<const Vector>(list->data(), std::ssize(*list)));
    };
    const Vector coefficients = numbers("coefficients");
    const Index x = of(node.inputs[0]), d = steps_.size(x), m = coefficients.size() / d;
    made_[node.outputs[output]] =
        steps_.affine(x, Eigen::Map<const RowMatrix>(coefficients.data(), m, d), numbers("intercepts"));
  }

  void scaler(const OnnxNode& node) {
    const Index x = of(node.inputs[0]), size = steps_.size(x), last = shape(node.inputs[0]).back();
    const auto numbers = [&](const char* key, double otherwise) {
      const auto* list = node.find<std::vector<double>>(key);
      Vector all = Vector::Constant(size, otherwise);
      if (list != nullptr && !list->empty())
        for (Index k = 0; k < size; ++k)
          all(k) = (*list)[list->size() == 1 ? 0 : static_cast<std::size_t>(k % last)];
      return steps_.constant(all);
    };
    const Index offset = numbers("offset", 0), scale = numbers("scale", 1);
    set(node, steps_.times(steps_.minus(x, offset), scale));
  }

  // ---- what is taken together ----

  // Places of the numbers of each group, below each other.
  static Places places_of(const Reduction& groups) {
    Places places(groups.group.size()), filled(static_cast<std::size_t>(groups.count), 0);
    for (std::size_t k = 0; k < groups.group.size(); ++k) {
      const Index g = groups.group[k], row = filled[static_cast<std::size_t>(g)]++;
      places[static_cast<std::size_t>(row * groups.count + g)] = static_cast<Index>(k);
    }
    return places;
  }
  Index total(Index x, const Reduction& groups) {
    return steps_.reduce(Step::Op::total, x, places_of(groups), groups.count);
  }
  Index mean(Index x, const Reduction& groups) {
    const Index sum = total(x, groups);
    return steps_.over(sum, constant_like(sum, static_cast<double>(groups.each)));
  }
  // A number of each group, for each number of x.
  Index back(Index x, const Reduction& groups) { return steps_.pick(x, groups.group); }

  bool reduction(const OnnxNode& node) {
    const std::string& op = node.op;
    if (!op.starts_with("Reduce")) return false;
    const Index x = of(node.inputs[0]);
    const Reduction groups = reduction_of(call(node), value(node.inputs[0]));
    if (op == "ReduceSum") {
      set(node, total(x, groups));
    } else if (op == "ReduceMean") {
      set(node, mean(x, groups));
    } else if (op == "ReduceMax") {
      set(node, steps_.reduce(Step::Op::largest, x, places_of(groups), groups.count));
    } else if (op == "ReduceMin") {
      set(node,
          steps_.scale(steps_.reduce(Step::Op::largest, steps_.scale(x, -1), places_of(groups), groups.count),
                       -1));
    } else if (op == "ReduceSumSquare" || op == "ReduceL2") {
      const Index squares = total(steps_.times(x, x), groups);
      set(node, op == "ReduceL2" ? steps_.function(squares, "sqrt") : squares);
    } else {
      refuse(node);
    }
    return true;
  }

  void softmax(const OnnxNode& node) {
    const Value& its = value(node.inputs[0]);
    const Call here = call(node);
    const bool old = graph_.version < 13;
    const std::size_t rank = its.shape.size(), axis = here.axis(node.integer("axis", old ? 1 : -1), rank);
    std::set<std::size_t> axes{axis};
    if (old)
      for (std::size_t a = axis; a < rank; ++a) axes.insert(a);
    const Reduction groups(here, its, axes, true);
    const Index x = of(node.inputs[0]), exponentials = steps_.function(x, "exp"),
                sum = total(exponentials, groups);
    set(node, node.op == "Softmax" ? steps_.over(exponentials, back(sum, groups))
                                   : steps_.minus(x, back(steps_.function(sum, "log"), groups)));
  }

  void pooling(const OnnxNode& node) {
    const Call its = call(node);
    const Shape& x = shape(node.inputs[0]);
    const Index channels = x[1], size = count_of(x) / channels;
    Windows windows;
    if (node.op.starts_with("Global")) {
      windows.cells = size;
      windows.places.resize(static_cast<std::size_t>(size));
      std::iota(windows.places.begin(), windows.places.end(), Index{0});
      windows.within = {size};
    } else {
      windows = windows_of(its, {x.begin() + 2, x.end()}, {});
    }
    Places places;  // cells x (channels, windows)
    for (Index cell = 0; cell < windows.cells; ++cell)
      for (Index c = 0; c < channels; ++c)
        for (Index k = 0; k < windows.count; ++k) {
          const Index place = windows.places[static_cast<std::size_t>(cell * windows.count + k)];
          places.push_back(place < 0 ? -1 : c * size + place);
        }
    const Index all = channels * windows.count, of_x = of(node.inputs[0]);
    if (node.op.ends_with("MaxPool")) return set(node, steps_.reduce(Step::Op::largest, of_x, places, all));
    Vector counts = Vector::Zero(all);
    for (std::size_t k = 0; k < places.size(); ++k)
      if (places[k] >= 0) counts(static_cast<Index>(k) % all) += 1;
    if (node.integer("count_include_pad", 0) != 0)
      for (Index k = 0; k < all; ++k)
        counts(k) = static_cast<double>(windows.within[static_cast<std::size_t>(k % windows.count)]);
    const Index sums = steps_.reduce(Step::Op::total, of_x, places, all);
    set(node, steps_.over(sums, steps_.constant(counts)));
  }

  // ---- normalisations ----

  // A number of each channel, for each number of x.
  Index of_channels(const std::string& name, const Shape& x) {
    const Index channels = x[1], size = count_of(x) / channels;
    Places places;
    for (Index k = 0; k < channels * size; ++k) places.push_back(k / size);
    return steps_.pick(of(name), places);
  }

  void batch_normalization(const OnnxNode& node) {
    const Shape& x = shape(node.inputs[0]);
    const double epsilon = node.number("epsilon", static_cast<double>(1e-5F));
    const Index centred = steps_.minus(of(node.inputs[0]), of_channels(node.inputs[3], x));
    const Index deviation = steps_.function(plus(of_channels(node.inputs[4], x), epsilon), "sqrt");
    const Index scaled = steps_.over(steps_.times(centred, of_channels(node.inputs[1], x)), deviation);
    set(node, steps_.add(scaled, of_channels(node.inputs[2], x)));
  }

  Index standardized(const OnnxNode& node, const Reduction& groups) {
    const Index x = of(node.inputs[0]), centred = steps_.minus(x, back(mean(x, groups), groups));
    const Index variance = plus(mean(steps_.times(centred, centred), groups),
                                node.number("epsilon", static_cast<double>(1e-5F)));
    return steps_.over(centred, back(steps_.function(variance, "sqrt"), groups));
  }

  void layer_normalization(const OnnxNode& node) {
    const Value& x = value(node.inputs[0]);
    const Call its = call(node);
    std::set<std::size_t> axes;
    for (std::size_t a = its.axis(node.integer("axis", -1), x.shape.size()); a < x.shape.size(); ++a)
      axes.insert(a);
    const Reduction groups(its, x, axes, true);
    Places places;
    for (Index k = 0; k < x.size(); ++k) places.push_back(k % groups.each);
    Index made = steps_.times(standardized(node, groups), steps_.pick(of(node.inputs[1]), places));
    if (its.has(2)) made = steps_.add(made, steps_.pick(of(node.inputs[2]), places));
    set(node, made);
  }

  void instance_normalization(const OnnxNode& node) {
    const Value& x = value(node.inputs[0]);
    std::set<std::size_t> axes;
    for (std::size_t a = 2; a < x.shape.size(); ++a) axes.insert(a);
    const Index made = steps_.times(standardized(node, Reduction(call(node), x, axes, true)),
                                    of_channels(node.inputs[1], x.shape));
    set(node, steps_.add(made, of_channels(node.inputs[2], x.shape)));
  }

  void normalizer(const OnnxNode& node) {
    const auto* norm = node.find<std::string>("norm");
    const Value& its = value(node.inputs[0]);
    const Reduction groups(call(node), its, {its.shape.size() - 1}, true);
    const Index x = of(node.inputs[0]);
    const bool l1 = norm != nullptr && *norm == "L1";
    const Index sum = total(l1 ? absolute(x) : steps_.times(x, x), groups);
    set(node, steps_.over(x, back(l1 ? sum : steps_.function(sum, "sqrt"), groups)));
  }

  // ---- moves ----

  // Where each number goes is asked of the operator itself, at numbers above all that it may put between
  // them.
  void move(const OnnxNode& node) {
    constexpr double kFirst = 0x1p40;
    Call its = call(node);
    const auto fills = [&] { return std::abs(its.has(2) ? its.number(2) : node.number("value", 0)); };
    if (node.op == "Pad" && !(fills() < kFirst)) refuse(node);
    std::vector<std::size_t> moved{0};
    if (node.op == "Where") moved = {1, 2};
    if (node.op == "ScatterND") moved = {0, 2};
    if (node.op == "Concat") {
      moved.resize(node.inputs.size());
      std::iota(moved.begin(), moved.end(), std::size_t{0});
    }
    std::vector<Value> numbered;
    std::vector<Index> parts;
    Index count = 0;
    numbered.reserve(moved.size());
    for (const std::size_t k : moved) {
      const Shape& own = shape(node.inputs[k]);
      Value one{.type = OnnxType::float64, .shape = own, .varies = true, .h = {}, .e = {}, .eps = {}};
      one.h.resize(1, count_of(own));
      for (double& number : one.h.row(0)) number = kFirst + static_cast<double>(count++);
      numbered.push_back(std::move(one));
      its.inputs[k] = &numbered.back();
      parts.push_back(of(node.inputs[k]));
    }
    const std::vector<Value> made = operator_called(node.op)->enclose(its);
    const Index all = steps_.join(parts);
    for (std::size_t k = 0; k < made.size() && k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      Places places;
      Vector fill = Vector::Zero(made[k].h.cols());  // of Pad
      for (Index q = 0; q < fill.size(); ++q) {
        const double number = made[k].h(0, q);
        const bool moved_there = number >= kFirst;
        places.push_back(moved_there ? static_cast<Index>(number - kFirst) : -1);
        if (!moved_there) fill(q) = number;
      }
      const Index picked = steps_.pick(all, places);
      made_[node.outputs[k]] = fill.isZero(0) ? picked : steps_.add(picked, steps_.constant(fill));
    }
  }

  void convert(const OnnxNode& node) {
    const std::string& op = node.op;
    if (moves(op)) return move(node);
    if (function_of_one(node) || of_several(node) || reduction(node)) return;
    if (op == "Gemm") return gemm(node);
    if (op == "MatMul") return matmul(node);
    if (op == "Conv") return convolution(node);
    if (op == "LinearRegressor") return linear(node, 0);
    if (op == "LinearClassifier") return linear(node, 1);
    if (op == "Scaler") return scaler(node);
    if (op == "Softmax" || op == "LogSoftmax") return softmax(node);
    if (op.ends_with("Pool")) return pooling(node);
    if (op == "BatchNormalization") return batch_normalization(node);
    if (op == "LayerNormalization") return layer_normalization(node);
    if (op == "InstanceNormalization") return instance_normalization(node);
    if (op == "Normalizer") return normalizer(node);
    refuse(node);
  }

  const OnnxGraph& graph_;
  const std::string scores_;
  const Trial trial_;
  Memory& memory_;
  Kept kept_;  // of calls that keep nothing
  StepList steps_;
  std::map<std::string, const OnnxNode*> makers_;
  std::map<std::string, Index> made_;  // the node of a value
};

}  // namespace

std::vector<Step> steps_of(const GraphNetwork& network, Index d, double less) {
  return GraphSteps(network, d).steps(less);
}

}  // namespace zeroloss::internal::graph
