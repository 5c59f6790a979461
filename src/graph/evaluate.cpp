#include "graph/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/parallel_for.hpp"
#include "graph/attributes.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal::graph {
namespace {

Value constant_of(const OnnxNumbers& numbers) {
  Value value{.type = numbers.type, .shape = numbers.shape, .h = {}, .e = {}, .eps = {}};
  value.integers = numbers.integers;
  if (numbers.integers.empty() && !is_integer(numbers.type))
    value.h = Eigen::Map<const RowMatrix>(numbers.values.data(), 1, std::ssize(numbers.values));
  return value;
}

// Whole numbers of a type, as far as doubles have all of them.
std::pair<double, double> range_of(OnnxType type) {
  switch (type) {
    case OnnxType::boolean:
      return {0, 1};
    case OnnxType::uint8:
      return {0, 255};
    case OnnxType::int8:
      return {-128, 127};
    case OnnxType::uint16:
      return {0, 65535};
    case OnnxType::int16:
      return {-32768, 32767};
    case OnnxType::uint32:
    case OnnxType::uint64:
      return {0, 0x1p32 - 1};
    default:
      return {-0x1p31, 0x1p31 - 1};
  }
}

class Evaluator {
 public:
  Evaluator(const OnnxGraph& graph, const std::string& name, const Shape& sizes, Execution execution,
            Memory& memory)
      : graph_(graph), name_(name), sizes_(sizes), execution_(execution), memory_(memory) {
    // From the end: what is needed.
    std::set<std::string> needed{name};
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
      if (std::ranges::any_of(node->outputs, [&](const std::string& out) { return needed.contains(out); })) {
        nodes_.push_back(&*node);
        needed.insert(node->inputs.begin(), node->inputs.end());
      }
    std::ranges::reverse(nodes_);
    constexpr Index kShallow = 5;
    deep_ = std::ranges::count(nodes_, "Conv", [](const OnnxNode* node) -> const std::string& {
              return node->op;
            }) > kShallow;
    kept_.resize(nodes_.size());
    constant_.assign(nodes_.size(), false);
    for (const auto& [constant, numbers] : graph.numbers)
      if (needed.contains(constant)) constants_[constant] = constant_of(numbers);
    for (const auto& [constant, texts] : graph.texts)
      if (needed.contains(constant)) {
        Value value{.type = OnnxType::text, .shape = {std::ssize(texts)}, .h = {}, .e = {}, .eps = {}};
        value.texts = texts;
        constants_[constant] = std::move(value);
      }
    for (std::size_t k = 0; k < nodes_.size(); ++k)  // behind which it goes
      for (const std::string& input : nodes_[k]->inputs) last_[input] = k;
    last_[name] = nodes_.size();
    if (!needed.contains(graph.inputs.front().name))
      throw DataError(fmt::format("'{}' does not depend on the input", excerpt(name)));
  }

  /// The first block alone fills what nodes keep; after that any number of threads may call.
  Value operator()(const Eigen::Ref<const RowMatrix>& X, const Progress& progress) {
    std::map<std::string, Value> values;
    run(X, progress, values, false);
    const auto found = values.find(name_);
    if (found == values.end())
      throw DataError(fmt::format("'{}' is not computed of the input", excerpt(name_)));
    return std::move(found->second);
  }

  /// All values of a block, as far as it goes, and constants. The only call then.
  std::string all_values(const Eigen::Ref<const RowMatrix>& X, std::map<std::string, Value>& values) {
    std::string problem;
    try {
      run(X, {}, values, true);
    } catch (const DataError& error) {
      problem = error.what();
    }
    values.merge(constants_);
    return problem;
  }

  double largest() const { return largest_; }  ///< numbers of a value of a sample
  double most() const { return most_; }  ///< numbers with their bounds that are there together, of a sample

 private:
  void run(const Eigen::Ref<const RowMatrix>& X, const Progress& progress,
           std::map<std::string, Value>& values, bool keep) {
    values[graph_.inputs.front().name] = input(X);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      progress.check();
      const OnnxNode& node = *nodes_[k];
      if (constant_[k]) continue;
      take(k, node, values);
      if (!ready_) {
        double there = 0;
        for (const auto& [name, value] : values)
          there += static_cast<double>(value.h.size() + value.e.size());
        most_ = std::max(most_, there);
      }
      for (const std::string& name : node.inputs)
        if (!keep && last_.at(name) == k) values.erase(name);
    }
    ready_ = true;
  }

  Value input(const Eigen::Ref<const RowMatrix>& X) {
    const OnnxInput& input = graph_.inputs.front();
    Value value{.type = input.type, .shape = sizes_, .varies = true, .h = X, .e = {}, .eps = {}};
    require_type_of(input, X);
    if (is_integer(input.type)) return value;
    const Rounding r = rounding_of(execution_, input.type);
    if (r.exact()) return value;
    value.e.resize(X.rows(), X.cols());
    for (Index i = 0; i < X.rows(); ++i)
      for (Index k = 0; k < X.cols(); ++k) {
        const double x = X(i, k);
        const bool held =
            input.type == OnnxType::float64 ||
            (input.type == OnnxType::float32 && static_cast<double>(static_cast<float>(x)) == x);
        const bool kept = held && (x == 0 || std::abs(x) >= r.lost);
        value.e(i, k) = kept ? 0 : rounded(x, 0, std::abs(x), r).e;
      }
    settle(value);
    return value;
  }

  void take(std::size_t k, const OnnxNode& node, std::map<std::string, Value>& values) {
    Call call{node, graph_.version, execution_, {}, memory_, deep_, kept_[k]};
    bool varies = false;
    for (const std::string& name : node.inputs) {
      const Value* value = nullptr;
      if (const auto found = values.find(name); found != values.end())
        value = &found->second, varies = true;
      else if (const auto constant = constants_.find(name); constant != constants_.end())
        value = &constant->second;
      else if (!name.empty())
        call.refuse(fmt::format("its input '{}' is nothing that is known before", excerpt(name)));
      call.inputs.push_back(value);
    }
    if (!node.domain.empty() && node.domain != "ai.onnx.ml")
      call.refuse(fmt::format("an operator of '{}', not of ONNX", excerpt(node.domain)));
    const Operator* row = operator_called(node.op);
    if (row == nullptr && node.op.starts_with("TreeEnsemble"))
      call.refuse("forests and boosted trees are no networks, and are not evaluated");
    if (row == nullptr && node.op == "Scan" && graph_.producer == "zeroloss")
      call.refuse(
          "it is written by zeroloss, of a network that memorises, which was checked when it was made");
    if (row == nullptr && node.op.starts_with("Greater"))
      call.refuse("it is known as the threshold of a single output alone, at 0, or at 0.5 behind a sigmoid");
    if (row == nullptr) call.refuse("this operator is not known");
    // Its scores are those before this: nothing but labels may come of them.
    const auto* post = node.op == "LinearClassifier" ? node.find<std::string>("post_transform") : nullptr;
    if (post != nullptr && *post != "NONE" && name_ != node.outputs.back())
      call.refuse("what its post_transform makes is taken by another node");
    if (!ready_)
      if (const std::string problem = attribute_problem(node, graph_.version); !problem.empty())
        call.refuse(problem);
    std::vector<Value> made = row->enclose(call);
    if (!ready_) constant_[k] = !varies;
    for (std::size_t out = 0; out < node.outputs.size(); ++out) {
      const std::string& name = node.outputs[out];
      if (name.empty()) continue;
      if (out >= made.size()) {
        if (last_.contains(name)) call.refuse(fmt::format("its output '{}' is not read", excerpt(name)));
        continue;
      }
      if (values.contains(name) || (!ready_ && constants_.contains(name)))
        call.refuse(fmt::format("'{}' is computed twice", excerpt(name)));
      if (!ready_) largest_ = std::max(largest_, static_cast<double>(made[out].size()));
      if (constant_[k])
        constants_[name] = std::move(made[out]);
      else if (last_.contains(name))
        values[name] = std::move(made[out]);
    }
  }

  const OnnxGraph& graph_;
  const std::string name_;
  const Shape sizes_;
  const Execution execution_;
  Memory& memory_;
  bool deep_ = false;
  std::vector<const OnnxNode*> nodes_;
  std::vector<Kept> kept_;
  std::map<std::string, Value> constants_;
  std::map<std::string, std::size_t> last_;
  std::vector<bool> constant_;  // nodes that need no sample
  bool ready_ = false;          // constants are computed, and what nodes keep
  double largest_ = 1, most_ = 0;
};

}  // namespace

void require_type_of(const OnnxInput& input, const Eigen::Ref<const RowMatrix>& X) {
  if (!is_integer(input.type) || X.size() == 0) return;
  const auto [least, most] = range_of(input.type);
  if ((X.array() != X.array().round()).any() || X.minCoeff() < least || X.maxCoeff() > most)
    throw DataError(fmt::format("its input '{}' is of {}, and not all numbers of the points are",
                                excerpt(input.name), name_of(input.type)));
}

Trial values_at_zero(const OnnxGraph& graph, const std::string& name, const Shape& sizes, Memory& memory) {
  const std::lock_guard alone(memory.alone);
  const SerialBlas serial;
  Trial trial{sizes, {}, {}};
  Evaluator evaluator(graph, name, sizes, Execution::exact, memory);
  trial.problem = evaluator.all_values(RowMatrix::Zero(1, count_of(sizes)), trial.values);
  return trial;
}

Enclosures enclosures(const OnnxGraph& graph, const std::string& name, const Shape& sizes,
                      const Eigen::Ref<const RowMatrix>& X, Execution execution, Memory& memory,
                      Progress& progress) {
  const std::lock_guard alone(memory.alone);
  const SerialBlas serial;
  Evaluator evaluator(graph, name, sizes, execution, memory);
  const Index n = X.rows();
  progress.stage("outputs", static_cast<double>(n));
  Enclosures all;
  const auto keep = [&](Index row, const Value& value) {
    auto h = all.f.middleRows(row, value.h.rows()), e = all.error.middleRows(row, value.h.rows());
    h = value.h;
    if (!value.exact()) e = value.e;
    e = ((h.array() - h.array()) == 0).select(e, kInfinite);  // constants may be infinite or NaN
  };
  const Value first = evaluator(X.topRows(1), progress);
  if (!first.varies || !is_real(first.type))
    throw DataError(fmt::format("'{}' is no numbers", excerpt(name)));
  all.type = first.type;
  all.shape = first.shape;
  require_memory(16.0 * static_cast<double>(n) * static_cast<double>(first.size()),
                 fmt::format("'{}' of {}", excerpt(name), count(n, "sample", "samples")), "use fewer points");
  all.f.resize(n, first.size());
  all.error.setZero(n, first.size());
  keep(0, first);
  progress.advance(1);
  // Samples together: products of matrices want many, caches few.
  const Index together = std::clamp<Index>(static_cast<Index>(0x1p20 / evaluator.largest()), 1, 256);
  const Index blocks = (n - 1 + together - 1) / together;
  const auto at_once = static_cast<double>(std::min<Index>(blocks, thread_count()));
  require_memory(8 * evaluator.most() * static_cast<double>(together) * at_once,
                 fmt::format("a block of {}", count(together, "sample", "samples")),
                 "the graph makes too much of a sample");
  constexpr Index kAround = 16;  // blocks between reports
  for (Index done = 0; done < blocks; done += kAround) {
    const Index count = std::min(kAround, blocks - done);
    const auto rows = [&](Index block) { return std::min(together, n - 1 - block * together); };
    parallel_for(count, [&](Index k) {
      const Index block = done + k, row = 1 + block * together;
      keep(row, evaluator(X.middleRows(row, rows(block)), progress));
    });
    progress.advance(static_cast<double>((count - 1) * together + rows(done + count - 1)));
  }
  return all;
}

}  // namespace zeroloss::internal::graph
