#include "graph/last_layer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/graphs.hpp"

// Which products the outputs of a graph are affine in, and with which factors.
namespace zeroloss::internal::graph::test {
namespace {

TEST(Multiple, CountsWhatIsRounded) {
  const auto expect = [](const Multiple& found, double by, int roundings) {
    EXPECT_EQ(found.by, by);
    EXPECT_EQ(found.roundings, roundings);
  };
  expect(Multiple{}.times(-2).times(0.75), -1.5, 0);
  expect(Multiple{}.times(0.1).times(-1), -0.1, 0);
  expect(Multiple{}.times(0.1).times(0.3), 0.1 * 0.3, 1);
  expect(Multiple{}.divided_by(4), 0.25, 0);
  expect(Multiple{}.divided_by(3), 1.0 / 3, 1);
  expect(Multiple{}.divided_by(3).times(3), 1, 2);  // one more than needed: the product is rounded as well
  expect(Multiple{}.times(0).times(5), 0, 0);
  // What the products of rounded factors lose may be lost itself.
  expect(Multiple{}.times(0x1p-500).times(0x1p-500), 0x1p-1000, 1);
  EXPECT_TRUE(std::isnan(Multiple{}.times(0x1.6p-537).times(0x1p-536).by));
  for (const double none : {static_cast<double>(INFINITY), std::nan("")})
    EXPECT_TRUE(std::isnan(Multiple{}.times(none).by));
  EXPECT_TRUE(std::isnan(Multiple{}.times(0x1p+600).times(0x1p+600).times(0).by));
  EXPECT_TRUE(std::isnan(Multiple{}.divided_by(0).by));
  EXPECT_TRUE(std::isnan(Multiple{}.divided_by(INFINITY).by));
}

std::vector<LastLayer> layers(Graph g) {
  for (const OnnxNode& node : g.graph.nodes)
    for (const std::string& input : node.inputs) ++g.graph.uses[input];
  return last_layers_of(g.graph, "y");
}
// f (4 features) -> m (3) by V, with constants that may stand behind it.
Graph begun() {
  Graph g({2});
  g.numbers("A", {2, 4}, drawn(8, 1)).numbers("V", {4, 3}, drawn(12, 2)).numbers("b", {3}, drawn(3, 3));
  g.numbers("one", {1}, {7}).numbers("half", {}, {0.5}).numbers("third", {}, {3});
  return g.node("MatMul", {"x", "A"}, {"a"}).node("Tanh", {"a"}, {"f"});
}

TEST(LastLayer, SignsAndFactorsAreThoseOfTheOutputs) {
  Graph g = begun();
  g.node("Gemm", {"f", "V", "one"}, {"g"}, {{"alpha", 0.75}, {"beta", -2.0}});
  g.node("Sub", {"b", "g"}, {"s"}).node("Mul", {"half", "s"}, {"h"}).node("Div", {"h", "third"}, {"d"});
  g.node("Neg", {"d"}, {"n"}).node("Identity", {"n"}, {"y"});
  const auto found = layers(g);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].features, "f");
  EXPECT_EQ(found[0].multiple.by, 0.75 * (0.5 / 3));
  EXPECT_EQ(found[0].multiple.roundings, 2);
  ASSERT_EQ(found[0].added.size(), 2U);
  EXPECT_EQ(found[0].added[0].name, "b");
  EXPECT_EQ(found[0].added[0].multiple.by, -0.5 / 3);
  EXPECT_EQ(found[0].added[1].name, "one");
  EXPECT_EQ(found[0].added[1].multiple.by, -2 * (0.5 / 3));
  EXPECT_TRUE(found[0].whole);
}

TEST(LastLayer, EverySummandIsOne) {
  Graph g = begun();
  g.numbers("U", {2, 3}, drawn(6, 4)).node("MatMul", {"x", "U"}, {"wide"}).node("MatMul", {"f", "V"}, {"m"});
  g.node("Add", {"wide", "m"}, {"s"}).node("Sub", {"s", "a"}, {"t"}).node("Add", {"t", "b"}, {"y"});
  const auto found = layers(g);
  ASSERT_EQ(found.size(), 2U);  // a is taken twice, and its product with it
  EXPECT_EQ(found[0].features, "x");
  EXPECT_EQ(found[1].features, "f");
  for (const LastLayer& layer : found) {
    EXPECT_FALSE(layer.whole);
    ASSERT_EQ(layer.added.size(), 1U);
    EXPECT_EQ(layer.added[0].name, "b");
  }
}

TEST(LastLayer, WhatIsTakenTwiceIsNotTheLayersOwn) {
  Graph twice = begun();
  twice.node("MatMul", {"f", "V"}, {"m"}).node("Tanh", {"m"}, {"t"}).node("Add", {"m", "t"}, {"y"});
  EXPECT_TRUE(layers(twice).empty());
  Graph shared = begun();
  shared.node("MatMul", {"f", "V"}, {"m"}).node("Tanh", {"V"}, {"t"}).node("Add", {"m", "b"}, {"y"});
  EXPECT_TRUE(layers(shared).empty());
  Graph curved = begun();
  curved.node("MatMul", {"f", "V"}, {"m"}).node("Mul", {"m", "b"}, {"y"});
  EXPECT_TRUE(layers(curved).empty());
}

}  // namespace
}  // namespace zeroloss::internal::graph::test
