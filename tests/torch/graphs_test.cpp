#include "zeroloss/torch/graphs.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "graph/graphs.hpp"
#include "graph/steps.hpp"
#include "torch/cuda.hpp"
#include "zeroloss/graph/network.hpp"

// Graphs on a device, the processor and, where there is one, a GPU: what it encloses and what this process
// encloses with longer sums have to meet, and the former's bounds are not much wider than the latter's.
namespace zeroloss::internal::graph {
namespace {

using test::Graph;

GraphNetwork network_of(Graph& graph) {
  for (const OnnxNode& node : graph.graph.nodes)
    for (const std::string& input : node.inputs) ++graph.graph.uses[input];
  for (const std::string& output : graph.graph.outputs) ++graph.graph.uses[output];
  GraphNetwork network;
  network.name = "the graph";
  network.graph = std::make_shared<const OnnxGraph>(graph.graph);
  network.memory = std::make_shared<Memory>();
  return network;
}

class GraphsOn : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("cuda") && cuda::devices() == 0) GTEST_SKIP() << "no GPU";
  }

  GraphOutputs outputs(const GraphNetwork& network, const RowMatrix& X) {
    return torch_graphs(GetParam())->outputs(steps_of(network, X.cols(), 0), X, progress);
  }

  /// `wider`: how many times as wide as those of this process the bounds may be. Both are made of the same
  /// formulas; sums of this process have 64-bit mantissas, so that of what few operations have made its share
  /// is smaller: 8 is what a look at these graphs allows.
  void expect_enclosed(const GraphNetwork& network, const RowMatrix& X, double wider) {
    const GraphOutputs here = enclosed_outputs(network, X, "exact", progress);
    const GraphOutputs found = outputs(network, X);
    GraphOutputs fine = here;  // the nearest to real arithmetic that there is
    std::vector<Index> all(static_cast<std::size_t>(X.rows()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Index>(i);
    refine(network, X, all, fine, progress);
    ASSERT_EQ(found.f.rows(), here.f.rows());
    ASSERT_EQ(found.f.cols(), here.f.cols());
    for (Index i = 0; i < X.rows(); ++i)
      for (Index k = 0; k < found.f.cols(); ++k) {
        if (!std::isfinite(fine.error(i, k))) {
          EXPECT_FALSE(std::isfinite(found.error(i, k))) << "sample " << i << ", output " << k;
          continue;
        }
        EXPECT_LE(std::abs(found.f(i, k) - fine.f(i, k)), found.error(i, k) + fine.error(i, k))
            << "sample " << i << ", output " << k;
        EXPECT_LE(found.error(i, k), wider * here.error(i, k) + 0x1p-1000)
            << "sample " << i << ", output " << k;
      }
  }
  void expect_enclosed(Graph& graph, double wider = 8, Index n = 5) {
    expect_enclosed(network_of(graph), test::drawn_points(n, graph.d(), 3), wider);
  }

  Progress progress;
};

INSTANTIATE_TEST_SUITE_P(Torch, GraphsOn, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(GraphsOn, LinearMaps) {
  Graph graph({6});
  graph.numbers("W", {6, 4}, test::drawn(24, 1)).numbers("b", {4}, test::drawn(4, 2));
  graph.node("Gemm", {"x", "W", "b"}, {"y"});
  expect_enclosed(graph);
  Graph times({6});
  times.numbers("W", {4, 6}, test::drawn(24, 1)).numbers("b", {4}, test::drawn(4, 2));
  times.node("Gemm", {"x", "W", "b"}, {"y"}, {{"transB", test::whole(1)}, {"alpha", 0.3}, {"beta", -1.7}});
  expect_enclosed(times);
}

TEST_P(GraphsOn, Convolutions) {
  for (const std::int64_t groups : {1, 2, 4}) {
    Graph graph({4, 5, 4});
    graph.numbers("K", {8, 4 / groups, 3, 2}, test::drawn(8 * 4 / static_cast<Index>(groups) * 6, 4))
        .numbers("b", {8}, test::drawn(8, 5));
    graph
        .node("Conv", {"x", "K", "b"}, {"z"},
              {{"group", test::whole(groups)},
               {"pads", test::Integers{1, 0, 0, 1}},
               {"strides", test::Integers{1, 2}}})
        .node("LeakyRelu", {"z"}, {"y"}, {{"alpha", 0.2}});
    expect_enclosed(graph);
  }
}

// As the networks of `zeroloss conv`: the image is standardized, blocks have a path beside them.
TEST_P(GraphsOn, ResidualNetworks) {
  Graph graph({3, 8, 8});
  graph.numbers("least", {}, {0.01}).integers("pads", {0, 0, 0, 0, 0, 3, 0, 0});
  graph.node("ReduceMean", {"x"}, {"mean"}, {{"axes", test::Integers{1, 2, 3}}})
      .node("Sub", {"x", "mean"}, {"centred"})
      .node("Mul", {"centred", "centred"}, {"squares"})
      .node("ReduceMean", {"squares"}, {"variance"}, {{"axes", test::Integers{1, 2, 3}}})
      .node("Sqrt", {"variance"}, {"deviation"})
      .node("Max", {"deviation", "least"}, {"kept"})
      .node("Div", {"centred", "kept"}, {"h0"});
  graph.graph.version = 13;
  std::string last = "h0";
  const auto conv = [&](const std::string& from, const std::string& to, Index m, Index k,
                        std::int64_t stride) {
    const std::string kernel = "K of " + to;
    std::vector<double> drawn = test::drawn(m * k * 9, static_cast<unsigned>(m + k));
    for (double& w : drawn) w *= 0.2;
    graph.numbers(kernel, {m, k, 3, 3}, drawn);
    graph.node("Conv", {from, kernel}, {to},
               {{"pads", test::Integers{1, 1, 1, 1}}, {"strides", test::Integers{stride, stride}}});
  };
  for (int block = 1; block <= 4; ++block) {
    const std::string name = std::to_string(block);
    const Index channels = block < 3 ? 3 : 6;
    const std::int64_t stride = block == 3 ? 2 : 1;
    conv(last, "a" + name, channels, block == 3 ? 3 : channels, stride);
    graph.node("Relu", {"a" + name}, {"r" + name});
    conv("r" + name, "b" + name, channels, channels, 1);
    if (block == 3) {
      graph
          .node("AveragePool", {last}, {"pooled"},
                {{"kernel_shape", test::Integers{2, 2}}, {"strides", test::Integers{2, 2}}})
          .node("Pad", {"pooled", "pads"}, {"wider"});
      last = "wider";
    }
    graph.node("Add", {last, "b" + name}, {"h" + name});
    last = "h" + name;
  }
  graph.numbers("V", {6, 5}, test::drawn(30, 9));
  graph
      .node("ReduceMean", {last}, {"features"},
            {{"axes", test::Integers{2, 3}}, {"keepdims", test::whole(0)}})
      .node("MatMul", {"features", "V"}, {"y"});
  expect_enclosed(graph, 8, 300);  // more than a block of samples
}

TEST_P(GraphsOn, PoolsSumsAndQuotients) {
  Graph graph({2, 4, 4});
  graph.numbers("scale", {2, 1, 1}, {0.7, -1.3}).numbers("less", {1}, {6});
  graph
      .node("MaxPool", {"x"}, {"top"},
            {{"kernel_shape", test::Integers{3, 3}}, {"pads", test::Integers{1, 1, 1, 1}}})
      .node("Mul", {"top", "scale"}, {"scaled"})
      .node("Mul", {"scaled", "x"}, {"product"})
      .node("Sub", {"product", "less"}, {"below"})
      .node("Div", {"scaled", "below"}, {"ratio"})
      .node("GlobalAveragePool", {"ratio"}, {"y"});
  expect_enclosed(graph);
  Graph moved({6});
  moved.integers("shape", {1, 2, 3}).integers("axes", {0, 2, 1}, {3});
  moved.node("Reshape", {"x", "shape"}, {"table"})
      .node("Transpose", {"table"}, {"turned"}, {{"perm", test::Integers{0, 2, 1}}})
      .node("Concat", {"turned", "turned"}, {"twice"}, {{"axis", test::whole(1)}})
      .node("ReduceMax", {"twice"}, {"y"}, {{"axes", test::Integers{1}}, {"keepdims", test::whole(0)}});
  moved.graph.version = 13;
  expect_enclosed(moved);
}

// Nothing is known where a number leaves the doubles or may be divided by 0.
TEST_P(GraphsOn, KnowWhereNothingIsKnown) {
  Graph graph({2});
  graph.numbers("W", {2, 2}, {1e200, 1e200, 1, 1});
  graph.node("MatMul", {"x", "W"}, {"z"}).node("Mul", {"z", "z"}, {"y"});
  RowMatrix X(2, 2);
  X << 1, 1, 1e-200, 0;
  const GraphOutputs found = outputs(network_of(graph), X);
  EXPECT_TRUE((found.error.row(0).array() == std::numeric_limits<double>::infinity()).all());
  EXPECT_TRUE(found.error.row(1).allFinite());
  Graph ratio({2});
  ratio.numbers("one", {2}, {1, 1}).node("Div", {"one", "x"}, {"y"});
  X << 0, 1, 2, 3;
  const GraphOutputs ratios = outputs(network_of(ratio), X);
  EXPECT_FALSE(std::isfinite(ratios.error(0, 0)));
  EXPECT_LE(std::abs(ratios.f(1, 1) - 1.0 / 3), ratios.error(1, 1) + 0x1p-54);  // 1/3 is rounded here
}

TEST_P(GraphsOn, NumbersAtTheEndsOfDoubles) {
  Graph graph({3});
  graph.numbers("W", {3, 2}, {1e-170, 1, -1e-170, 1, 1e-300, 1});
  graph.node("MatMul", {"x", "W"}, {"z"}).node("Relu", {"z"}, {"y"});
  RowMatrix X(3, 3);
  X << 1e-170, 1e-160, 0, 1e150, 1e150, 1e-308, 0, 0, 0;
  expect_enclosed(network_of(graph), X, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(outputs(network_of(graph), X).error.allFinite());
  // What vanishes in a product must not come back by a quotient.
  Graph ratio({2});
  ratio.numbers("A", {2, 1}, {1, 0}).numbers("B", {2, 1}, {0, 1}).numbers("C", {1}, {1e-229});
  ratio.node("MatMul", {"x", "A"}, {"a"})
      .node("MatMul", {"x", "B"}, {"b"})
      .node("Mul", {"b", "C"}, {"small"})
      .node("Div", {"a", "small"}, {"y"});
  X.resize(3, 2);
  X << 1e-319, 1.1, 1, 3e-90, 5e-324, 0.3;
  expect_enclosed(network_of(ratio), X, std::numeric_limits<double>::infinity());
}

TEST_P(GraphsOn, LeaksOfAnySlope) {
  for (const double slope : {-3.0, -0.5, 0.0, 1.0, 7.0}) {
    Graph graph({5});
    graph.numbers("W", {5, 5}, test::drawn(25, 6)).numbers("V", {5, 2}, test::drawn(10, 7));
    graph.node("MatMul", {"x", "W"}, {"z"})
        .node("LeakyRelu", {"z"}, {"h"}, {{"alpha", slope}})
        .node("MatMul", {"h", "V"}, {"y"});
    expect_enclosed(graph, 8, 40);
  }
}

// Windows that see a number several times, by a map whose norm nobody knows, and in sums.
TEST_P(GraphsOn, OverlapsCount) {
  Graph graph({2, 6});
  graph.numbers("K", {3, 2, 4}, test::drawn(24, 8)).numbers("L", {2, 3, 3}, test::drawn(18, 9));
  graph.node("Conv", {"x", "K"}, {"a"}, {{"pads", test::Integers{3, 3}}})
      .node("Conv", {"a", "L"}, {"b"})
      .node("AveragePool", {"b"}, {"y"}, {{"kernel_shape", test::Integers{4}}});
  const GraphNetwork network = network_of(graph);
  const RowMatrix X = test::drawn_points(5, graph.d(), 3);
  expect_enclosed(network, X, 8);
  std::vector<Step> steps = steps_of(network, X.cols(), 0);
  for (Step& step : steps) step.norm = -1;
  const GraphOutputs known = outputs(network, X),
                     without = torch_graphs(GetParam())->outputs(steps, X, progress);
  EXPECT_TRUE((known.error.array() <= without.error.array()).all());
  EXPECT_TRUE((without.error.array() <= 100 * known.error.array()).all());  // of 24 numbers' Frobenius norm
}

TEST_P(GraphsOn, RefusesWhatItDoesNotKnow) {
  Graph graph({2});
  graph.node("Tanh", {"x"}, {"y"});
  const GraphNetwork network = network_of(graph);
  const RowMatrix X = RowMatrix::Ones(1, 2);
  EXPECT_THROW(
      {
        try {
          outputs(network, X);
        } catch (const DataError& error) {
          EXPECT_STREQ(error.what(), "tanh is not evaluated on a device: leave out `device`");
          throw;
        }
      },
      DataError);
}

TEST_P(GraphsOn, EndsWhereItIsAskedTo) {
  Graph graph({2});
  graph.node("Relu", {"x"}, {"y"});
  const std::atomic<bool> stop = true;
  progress = Progress({}, &stop);
  EXPECT_THROW(outputs(network_of(graph), RowMatrix::Ones(3, 2)), Interrupted);
}

// An engine that computes something else is found out at the first sample.
TEST(GraphEngines, AreComparedWithThisProcess) {
  class Wrong final : public GraphEngine {
   public:
    explicit Wrong(double off) : off_(off) {}
    std::string name() const override { return "a wrong engine"; }
    GraphOutputs outputs(const std::vector<Step>&, const Eigen::Ref<const RowMatrix>& X,
                         Progress&) const override {
      return {(2 * X).array() + off_, Matrix::Constant(X.rows(), X.cols(), 1e-15), {}};
    }

   private:
    const double off_;
  };
  Graph graph({2});
  graph.numbers("two", {2}, {2, 2}).node("Mul", {"x", "two"}, {"y"});
  GraphNetwork network = network_of(graph);
  Progress silent;
  network.engine = std::make_shared<Wrong>(0);
  EXPECT_EQ(enclosed_outputs(network, RowMatrix::Ones(2, 2), "exact", silent).f(1, 1), 2);
  network.engine = std::make_shared<Wrong>(1e-12);
  EXPECT_THROW(enclosed_outputs(network, RowMatrix::Ones(2, 2), "exact", silent), BackendError);
  // What it says is about real arithmetic; executions are of this process.
  EXPECT_EQ(enclosed_outputs(network, RowMatrix::Ones(2, 2), "float32", silent).f(1, 1), 2);
}

}  // namespace
}  // namespace zeroloss::internal::graph
