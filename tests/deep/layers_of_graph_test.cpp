#include "deep/layers_of_graph.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/graphs.hpp"
#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/storage/onnx.hpp"

// Which graphs are networks of layers, however their maps are written.
namespace zeroloss {
namespace {

using internal::OnnxType;
using internal::graph::Shape;
using internal::graph::test::drawn_points;
using internal::graph::test::Graph;
using internal::graph::test::whole;

internal::graph::test::Doubles normals(Index count, unsigned seed) {
  return internal::graph::test::drawn(count, seed);
}

GraphNetwork network_of(const Graph& g) {
  GraphNetwork network;
  network.name = "g.onnx";
  network.graph = std::make_shared<const internal::OnnxGraph>([&] {
    internal::OnnxGraph graph = g.graph;
    for (const internal::OnnxNode& node : graph.nodes)
      for (const std::string& input : node.inputs) ++graph.uses[input];
    return graph;
  }());
  network.memory = std::make_shared<internal::graph::Memory>();
  return network;
}
OnnxNetwork read(const Graph& g) { return internal::layers_of_graph(network_of(g)); }

// The layers compute what the graph does. Roundings of folds and of the root of 2 count 1e-6: a number that
// is read wrongly is off by more.
OnnxNetwork expect_same(const Graph& g) {
  OnnxNetwork found = read(g);
  check(found.network);
  const RowMatrix X = drawn_points(12, g.d(), 3);
  const auto graph = g.at(X);
  const Matrix f = predict(found.network, X), off = (f - graph.f).cwiseAbs();
  const Matrix allowed = graph.error + 2 * test::rounding(found.network, X);
  const double fold = found.approximate ? 1e-6 * (1 + f.cwiseAbs().maxCoeff()) : 0;
  EXPECT_LE((off - allowed).maxCoeff(), fold);
  EXPECT_GT(f.cwiseAbs().maxCoeff(), 1e-3);  // they are no zeros
  return found;
}

// x (3) -> z (4) by A, and a last map by C.
Graph begun(const Shape& shape = {3}) {
  Graph g(shape);
  g.numbers("A", {3, 4}, normals(12, 1)).numbers("a", {4}, normals(4, 2)).numbers("C", {4, 2}, normals(8, 5));
  return g;
}
Graph& ended(Graph& g, const std::string& h) { return g.node("MatMul", {h, "C"}, {"y"}); }
Graph& normalized(Graph& g, const std::string& from, const std::string& to) {
  g.numbers(to + " s", {4}, normals(4, 11)).numbers(to + " B", {4}, normals(4, 12));
  g.numbers(to + " m", {4}, normals(4, 13)).numbers(to + " v", {4}, {0.5, 1, 2, 0.25});
  return g.node("BatchNormalization", {from, to + " s", to + " B", to + " m", to + " v"}, {to});
}

TEST(LayersOfGraph, BatchNormalizationIsFolded) {
  Graph before = begun();
  before.node("MatMul", {"x", "A"}, {"z0"}).node("Add", {"z0", "a"}, {"z"});
  normalized(before, "z", "n").node("Relu", {"n"}, {"h"});
  Graph behind = begun();
  behind.node("Gemm", {"x", "A", "a"}, {"z"}).node("Relu", {"z"}, {"h0"});
  normalized(behind, "h0", "h");
  for (Graph* g : {&before, &behind}) {
    const OnnxNetwork found = expect_same(ended(*g, "h"));
    EXPECT_TRUE(found.folded);
    EXPECT_TRUE(found.approximate);
    EXPECT_EQ(found.network.depth(), 1);
  }
}

TEST(LayersOfGraph, ScalesAndShiftsOfEveryKind) {
  const auto scaled = [](double by, bool divided = false) {
    Graph g = begun();
    g.numbers("by", {1}, {by}).node("MatMul", {"x", "A"}, {"z0"});
    g.node(divided ? "Div" : "Mul", {"z0", "by"}, {"z1"}).node("Add", {"z1", "a"}, {"z"});
    return ended(g.node("Relu", {"z"}, {"h"}), "h");
  };
  EXPECT_FALSE(expect_same(scaled(0.5)).approximate);
  EXPECT_TRUE(expect_same(scaled(0.3)).approximate);
  EXPECT_TRUE(expect_same(scaled(3, true)).approximate);
  Graph gemm = begun();
  gemm.node("Gemm", {"x", "A", "a"}, {"z"}, {{"alpha", 2.0}, {"beta", -0.5}}).node("Tanh", {"z"}, {"h"});
  EXPECT_FALSE(expect_same(ended(gemm, "h")).approximate);
  Graph each = begun();
  each.numbers("by", {1, 4}, normals(4, 8)).node("MatMul", {"x", "A"}, {"z0"}).node("Relu", {"z0"}, {"h0"});
  each.node("Mul", {"h0", "by"}, {"h1"}).node("Neg", {"h1"}, {"h2"}).node("Sub", {"h2", "a"}, {"h"});
  EXPECT_TRUE(expect_same(ended(each, "h")).folded);
  Graph turned = begun();
  turned.node("MatMul", {"x", "A"}, {"z0"}).node("Sub", {"a", "z0"}, {"z"}).node("Relu", {"z"}, {"h"});
  expect_same(ended(turned, "h"));
  EXPECT_MESSAGE(DataError, read(scaled(0, true)), "it divides by 0");
  EXPECT_MESSAGE(DataError, read(scaled(INFINITY)), "its factor is not finite");
  Graph end = begun();
  end.numbers("by", {}, {3}).node("MatMul", {"x", "A"}, {"z"}).node("Relu", {"z"}, {"h"});
  expect_same(end.node("MatMul", {"h", "C"}, {"y0"}).node("Div", {"y0", "by"}, {"y"}));
}

TEST(LayersOfGraph, TheInputIsScaled) {
  const auto of = [](const std::vector<std::string>& ops) {
    Graph g = begun();
    g.numbers("s", {3}, normals(3, 21)).numbers("t", {3}, {0.5, 3, 0.1});
    std::string at = "x";
    for (std::size_t k = 0; k < ops.size(); ++k) {
      g.node(ops[k], {at, k % 2 == 0 ? "s" : "t"}, {"x" + std::to_string(k)});
      at = "x" + std::to_string(k);
    }
    return ended(g.node("Gemm", {at, "A", "a"}, {"z"}).node("Relu", {"z"}, {"h"}), "h");
  };
  const OnnxNetwork standard = expect_same(of({"Sub", "Div"}));
  EXPECT_EQ(standard.network.shift.size(), 3);
  EXPECT_EQ(standard.network.factor.size(), 3);
  EXPECT_FALSE(standard.folded);
  for (const auto& ops : std::vector<std::vector<std::string>>{
           {"Mul"}, {"Add", "Mul"}, {"Mul", "Add"}, {"Sub", "Mul", "Add", "Mul"}, {"Div", "Div", "Sub"}})
    expect_same(of(ops));
}

TEST(LayersOfGraph, ReluAndItsLeakAreWrittenInSeveralWays) {
  const auto with = [](const std::string& op, const std::vector<std::string>& inputs) {
    Graph g = begun();
    g.numbers("zero", {}, {0}).numbers("slope", {1}, {0.25}).node("Gemm", {"x", "A", "a"}, {"z"});
    g.numbers("float's largest", {}, {3.4028235e38});
    g.node("Mul", {"z", "slope"}, {"leaky z"}).node(op, inputs, {"h"});
    return ended(g, "h");
  };
  EXPECT_EQ(expect_same(with("Clip", {"z", "zero"})).network.layers[0].activation, "relu");
  EXPECT_EQ(expect_same(with("Max", {"z", "zero"})).network.layers[0].activation, "relu");
  EXPECT_EQ(expect_same(with("Max", {"zero", "z"})).network.layers[0].activation, "relu");
  EXPECT_EQ(expect_same(with("PRelu", {"z", "slope"})).network.layers[0].leak, 0.25);
  for (const auto& inputs : {std::vector<std::string>{"z", "leaky z"}, {"leaky z", "z"}})
    EXPECT_EQ(expect_same(with("Max", inputs)).network.layers[0].leak, 0.25);
  // Doubles go on beyond that.
  EXPECT_MESSAGE(DataError, read(with("Clip", {"z", "zero", "float's largest"})),
                 "node 'the Clip' (Clip -> h)");
  EXPECT_MESSAGE(DataError, read(with("Clip", {"z", "zero", "slope"})), "node 'the Clip' (Clip -> h)");
  EXPECT_MESSAGE(DataError, read(with("Max", {"z", "slope"})), "node 'the Max' (Max -> h)");
  EXPECT_MESSAGE(DataError, read(with("Min", {"z", "zero"})), "node 'the Min' (Min -> h)");
}

TEST(LayersOfGraph, SiluAndGeluAreWrittenOut) {
  Graph silu = begun();
  silu.node("Gemm", {"x", "A", "a"}, {"z"}).node("Sigmoid", {"z"}, {"p"}).node("Mul", {"p", "z"}, {"h"});
  EXPECT_EQ(expect_same(ended(silu, "h")).network.layers[0].activation, "silu");
  const std::vector<std::vector<std::array<std::string, 3>>> orders{
      {{"Mul", "z", "q"}, {"Mul", "h0", "half"}},   // (z q)/2
      {{"Mul", "z", "half"}, {"Mul", "h0", "q"}},   // (z/2) q
      {{"Mul", "half", "q"}, {"Mul", "z", "h0"}}};  // z (q/2)
  for (const auto& order : orders) {
    Graph g = begun();
    g.numbers("half", {}, {0.5}).numbers("root", {}, {std::sqrt(2.0)}).numbers("one", {}, {1});
    g.node("Gemm", {"x", "A", "a"}, {"z"}).node("Div", {"z", "root"}, {"w"}).node("Erf", {"w"}, {"e"});
    g.node("Add", {"e", "one"}, {"q"}).node(order[0][0], {order[0][1], order[0][2]}, {"h0"});
    g.node(order[1][0], {order[1][1], order[1][2]}, {"h"});
    EXPECT_EQ(expect_same(ended(g, "h")).network.layers[0].activation, "gelu");
  }
  Graph steeper = begun();
  steeper.numbers("by", {}, {1.702}).node("Gemm", {"x", "A", "a"}, {"z"}).node("Mul", {"z", "by"}, {"w"});
  steeper.node("Sigmoid", {"w"}, {"p"}).node("Mul", {"z", "p"}, {"h"});
  EXPECT_MESSAGE(DataError, read(ended(steeper, "h")), "(Mul -> h)", "a product of two layers");
}

TEST(LayersOfGraph, WeightsStandOnTheLeft) {
  Graph g({3, 1});
  g.numbers("A", {4, 3}, normals(12, 1))
      .numbers("a", {4, 1}, normals(4, 2))
      .numbers("C", {2, 4}, normals(8, 3));
  g.node("MatMul", {"A", "x"}, {"z0"}).node("Add", {"z0", "a"}, {"z"}).node("Relu", {"z"}, {"h"});
  EXPECT_FALSE(expect_same(g.node("MatMul", {"C", "h"}, {"y"})).folded);
  Graph parts({3, 2});  // two columns of a sample, each mapped
  parts.numbers("A", {4, 3}, normals(12, 1)).numbers("C", {2, 4}, normals(8, 3));
  parts.node("MatMul", {"A", "x"}, {"z"}).node("Relu", {"z"}, {"h"}).node("MatMul", {"C", "h"}, {"y"});
  EXPECT_MESSAGE(DataError, read(parts), "(MatMul -> z)", "points must stay rows");
}

// Such a graph is evaluated as what it is.
TEST(LayersOfGraph, ProductsOfTwoValuesAndWithVectorsAreNoLayers) {
  Graph two({4});
  two.numbers("A", {4, 4}, normals(16, 1)).numbers("B", {4, 16}, normals(64, 2)).integers("square", {4, 4});
  two.node("MatMul", {"x", "A"}, {"z"}).node("Relu", {"z"}, {"h"}).node("MatMul", {"h", "B"}, {"m"});
  two.node("Reshape", {"m", "square"}, {"M"}).node("MatMul", {"h", "M"}, {"y"});
  EXPECT_MESSAGE(DataError, read(two), "multiplies two values of the sample");
  Graph vector({4});
  vector.numbers("v", {4}, normals(4, 3)).integers("row", {1, 1});
  vector.node("MatMul", {"x", "v"}, {"s"}).node("Reshape", {"s", "row"}, {"y"});
  EXPECT_MESSAGE(DataError, read(vector), "its weights are no matrix");
}

TEST(LayersOfGraph, ResidualLayersWithFactors) {
  const auto branch = [](const std::vector<std::array<std::string, 3>>& nodes) {
    Graph g = begun();
    g.numbers("W", {4, 5}, normals(20, 31))
        .numbers("U", {5, 4}, normals(20, 32))
        .numbers("b", {4}, normals(4, 33));
    g.numbers("by", {}, {0.3}).node("Gemm", {"x", "A", "a"}, {"z"}).node("Tanh", {"z"}, {"h"});
    g.node("MatMul", {"h", "W"}, {"w"}).node("Relu", {"w"}, {"p"});
    for (std::size_t k = 0; k < nodes.size(); ++k)
      g.node(nodes[k][0], {nodes[k][1], nodes[k][2]}, {"r" + std::to_string(k)});
    return ended(g, "r" + std::to_string(nodes.size() - 1));
  };
  const OnnxNetwork plain = expect_same(
      branch({{"MatMul", "p", "U"}, {"Add", "r0", "b"}, {"Mul", "r1", "by"}, {"Add", "h", "r2"}}));
  EXPECT_EQ(plain.network.layers[1].scale, 0.3);
  EXPECT_FALSE(plain.approximate);
  EXPECT_TRUE(
      expect_same(branch({{"MatMul", "p", "U"}, {"Mul", "r0", "by"}, {"Add", "r1", "b"}, {"Add", "r2", "h"}}))
          .approximate);
  EXPECT_TRUE(
      expect_same(branch({{"Mul", "p", "by"}, {"MatMul", "r0", "U"}, {"Add", "r1", "b"}, {"Add", "h", "r2"}}))
          .approximate);
  expect_same(branch({{"MatMul", "p", "U"}, {"Sub", "h", "r0"}}));
  EXPECT_MESSAGE(DataError, read(branch({{"Mul", "w", "w"}})), "a product of two layers");
  // Its other part is not what the branch is made of.
  EXPECT_MESSAGE(DataError, read(branch({{"MatMul", "p", "U"}, {"Add", "r0", "z"}})), "(Add -> r1)",
                 "a sum must be");
}

TEST(LayersOfGraph, PointsAreDividedByTheirLength) {
  Graph g = begun();
  g.node("Abs", {"x"}, {"sizes"}).node("ReduceMax", {"sizes"}, {"largest"}, {{"keepdims", whole(1)}});
  g.node("Div", {"x", "largest"}, {"x1"}).node("ReduceL2", {"x1"}, {"length"}, {{"keepdims", whole(1)}});
  Graph half = g;
  g.node("Div", {"x1", "length"}, {"x2"}).node("Gemm", {"x2", "A", "a"}, {"z"}).node("Relu", {"z"}, {"h"});
  EXPECT_TRUE(expect_same(ended(g, "h")).network.unit);
  half.node("Gemm", {"x1", "A", "a"}, {"z"}).node("Relu", {"z"}, {"h"});
  EXPECT_MESSAGE(DataError, read(ended(half, "h")), "it divides points by their largest number");
}

// Shapes are found where the file leaves them open.
TEST(LayersOfGraph, OpenSizesAreThoseOfTheWeights) {
  Graph g = begun();
  g.numbers("mean", {3}, normals(3, 41)).node("Sub", {"x", "mean"}, {"x1"});
  g.node("Gemm", {"x1", "A", "a"}, {"z"}).node("Relu", {"z"}, {"h"});
  ended(g, "h").graph.inputs.front().shape = {0, 0};
  EXPECT_EQ(read(g).network.features(), 3);
  g.graph.inputs.front().shape = {};
  EXPECT_EQ(read(g).network.features(), 3);
  g.graph.inputs.front().shape = {0, 0, 0};
  EXPECT_MESSAGE(DataError, read(g), "say `shape`");
}

// Weights that the file rounds are others than it holds; tied ones are not two layers'.
TEST(LayersOfGraph, ConstantsAreWhatTheFileComputes) {
  Graph g({2});
  g.numbers("A", {2, 2}, {0.1, 0.2, 0.3, 0.4}).numbers("C", {2, 2}, {1, 2, 3, 4});
  g.node("Cast", {"A"}, {"A1"}, {{"to", whole(1)}}).node("Cast", {"A1"}, {"A2"}, {{"to", whole(11)}});
  g.node("MatMul", {"x", "A2"}, {"z"}).node("Relu", {"z"}, {"h"});
  EXPECT_MESSAGE(DataError, read(ended(g, "h")), "(MatMul -> z)", "'A2' is rounded before it is used");
  Graph tied({2});
  tied.numbers("A", {2, 2}, {0.1, 0.2, 0.3, 0.4}).numbers("C", {2, 2}, {1, 2, 3, 4});
  tied.node("MatMul", {"x", "A"}, {"z"}).node("Relu", {"z"}, {"h0"});
  tied.node("Transpose", {"A"}, {"B"}).node("MatMul", {"h0", "B"}, {"w"}).node("Relu", {"w"}, {"h"});
  EXPECT_MESSAGE(DataError, read(ended(tied, "h")), "'A' is used twice: shared weights are not read");
}

// s (a x_1 - (a - 3) x_2) at (1, 1) is 3 s. Folded, both weights are rounded to multiples of 2, which the
// layers' own errors know nothing of.
TEST(LayersOfGraph, WhatIsProvedIsOfTheFileWhereFoldingRounds) {
  const double a = 6755399441055747, s = 1.7, folded = s * a - s * (a - 3);
  ASSERT_GT(std::abs(folded - 3 * s), 0.5);
  const double half = (folded + 3 * s) / 2;
  Graph g({2});
  g.numbers("W", {2, 1}, {a, -(a - 3)})
      .numbers("s", {1}, {s})
      .numbers("V", {1, 1}, {1})
      .numbers("c", {1}, {-half});
  g.node("MatMul", {"x", "W"}, {"z"}).node("Mul", {"z", "s"}, {"sz"}).node("Relu", {"sz"}, {"h"});
  g.node("MatMul", {"h", "V"}, {"Vh"}).node("Add", {"Vh", "c"}, {"y"});
  ReadNetwork read;
  read.graph = network_of(g);
  read.onnx = internal::layers_of_graph(*read.graph);
  read.network = read.onnx->network;
  Progress silent;

  Dataset data;
  data.X = RowMatrix::Ones(1, 2);
  data.task = Task::regression;
  data.y = Vector::Constant(1, folded - half);  // what the layers say
  const ProveResult targets = prove(read, data, {}, silent);
  EXPECT_TRUE(targets.near_file);
  EXPECT_GE(targets.networks.front().largest_error, std::abs(folded - 3 * s) * (1 - 1e-9));

  data.task = Task::classification;
  data.class_names = {"below", "above"};
  for (const bool above : {false, true}) {
    data.y = Vector::Constant(1, above ? 1 : 0);
    const ProvedNetwork given = prove(read, data, {}, silent).networks.front();
    const bool truth = 3 * s - half > 0;
    EXPECT_EQ(above == truth ? given.wrong : given.right, 0);
  }
}

using LayersOfFiles = test::TempFolder;

// What the library exports, with all that stands before its layers, is read again.
TEST_F(LayersOfFiles, OwnExportsAreRead) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    DeepNetwork network = test::random_network(seed, {.features = 3,
                                                      .outputs = 1 + static_cast<Index>(seed % 3),
                                                      .activations = {"tanh", "relu", "leaky_relu", "sin"}});
    if (seed % 2 == 0) network.shift = drawn_points(1, network.features(), seed).row(0).transpose();
    if (seed % 4 == 0) network.shift_low = network.shift * 0x1p-60;
    if (seed % 3 == 0) {
      network.constant = 0.5;
      Layer& first = network.layers.front();
      if (first.residual) continue;  // it would need a width more
      first.W.conservativeResize(Eigen::NoChange, first.W.cols() + 1);
      first.W.col(first.W.cols() - 1).setOnes();
    }
    network.unit = seed % 5 == 0;
    export_onnx(path("own.onnx"), network);
    const OnnxNetwork found = read_onnx(path("own.onnx"));
    EXPECT_EQ(found.network.constant, network.constant);
    EXPECT_EQ(found.network.unit, network.unit);
    EXPECT_EQ(found.network.shift_low, network.shift_low);
    const RowMatrix X = test::random_rows(10, network.features(), 5);
    const Matrix off = (predict(found.network, X) - predict(network, X)).cwiseAbs();
    // Folds are rounded, once a weight.
    EXPECT_LE((off - 4 * test::rounding(network, X)).maxCoeff(), 0);
  }
}

}  // namespace
}  // namespace zeroloss
