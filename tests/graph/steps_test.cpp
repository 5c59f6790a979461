#include "graph/steps.hpp"

#include "graph/graphs.hpp"
#include "zeroloss/graph/network.hpp"

// Graphs as steps, evaluated here by themselves; that all operators become the right ones is seen by
// tests/checker/graphs.py.
namespace zeroloss::internal::graph {
namespace {

using test::Graph;

GraphNetwork network_of(Graph& graph) {
  graph.graph.uses.clear();
  for (const OnnxNode& node : graph.graph.nodes)
    for (const std::string& input : node.inputs) ++graph.graph.uses[input];
  for (const std::string& output : graph.graph.outputs) ++graph.graph.uses[output];
  GraphNetwork network;
  network.graph = std::make_shared<const OnnxGraph>(graph.graph);
  network.memory = std::make_shared<Memory>();
  return network;
}

// Of the steps that the graphs below become.
Vector computed(const std::vector<Step>& steps, const Vector& point) {
  std::vector<Vector> values;
  const auto at = [&](Index k) -> const Vector& {
    return k < 0 ? point : values[static_cast<std::size_t>(k)];
  };
  for (const Step& step : steps) {
    const Vector& h = at(std::ssize(values) - 1);
    switch (step.op) {
      case Step::Op::take:
        values.push_back(Vector(at(step.step)));
        break;
      case Step::Op::constant:
        values.push_back(step.b);
        break;
      case Step::Op::affine:
        values.push_back(step.b.size() > 0 ? Vector(step.W * h + step.b) : Vector(step.W * h));
        break;
      case Step::Op::add:
        values.push_back(h + at(step.step));
        break;
      case Step::Op::scale:
        values.push_back(step.by * h);
        break;
      case Step::Op::columns: {
        const Index p = step.columns / step.groups, m = step.W.rows() / step.groups;
        Vector made = Vector::Zero(step.size);
        for (Index c = 0; c < step.columns; ++c)
          for (Index j = c / p * m; j < (c / p + 1) * m; ++j)
            for (Index t = 0; t < step.W.cols(); ++t) {
              const Index place = step.places[static_cast<std::size_t>(t * step.columns + c)];
              made(j * p + c % p) += place < 0 ? 0 : step.W(j, t) * h(place);
            }
        values.push_back(std::move(made));
        break;
      }
      default:
        ADD_FAILURE() << "a step that is not looked for";
    }
  }
  return values.back();
}

void expect_same(Graph& graph) {
  const RowMatrix X = test::drawn_points(3, graph.d(), 21);
  const std::vector<Step> steps = steps_of(network_of(graph), graph.d(), 0);
  const Enclosures found = graph.at(X);
  for (Index i = 0; i < X.rows(); ++i)
    EXPECT_LE((computed(steps, X.row(i)) - found.f.row(i).transpose()).cwiseAbs().maxCoeff(),
              4 * found.error.row(i).maxCoeff());  // sums in another order
}

// A map that others see by another name does not get the bias that is added to one of its names.
TEST(GraphSteps, ABiasIsOfTheSumAlone) {
  for (const char* same : {"Identity", "Dropout", "Flatten"}) {
    Graph graph({2});
    graph.numbers("W", {2, 2}, {1, 2, -1, 3}).numbers("b", {2}, {0.5, -4});
    graph.node("MatMul", {"x", "W"}, {"map"})
        .node(same, {"map"}, {"name"})
        .node("Add", {"name", "b"}, {"sum"});
    graph.node("Sub", {"sum", "map"}, {"y"});
    expect_same(graph);
  }
  Graph own({2});  // of the map's own name, which nobody else takes, it is the map's
  own.numbers("W", {2, 2}, {1, 2, -1, 3}).numbers("b", {2}, {0.5, -4});
  own.node("MatMul", {"x", "W"}, {"map"}).node("Add", {"map", "b"}, {"y"});
  expect_same(own);
  EXPECT_EQ(steps_of(network_of(own), 2, 0).size(), 1U);
}

TEST(GraphSteps, GroupsOfAConvolutionAreOneStep) {
  Graph graph({4, 3, 3});
  graph.numbers("K", {6, 2, 2, 2}, test::drawn(48, 4));
  graph.node("Conv", {"x", "K"}, {"y"}, {{"group", test::whole(2)}, {"pads", test::Integers{1, 0, 0, 1}}});
  expect_same(graph);
  EXPECT_EQ(steps_of(network_of(graph), graph.d(), 0).size(), 1U);
}

TEST(GraphSteps, WhatIsLeftOfTheOutputsIsSubtracted) {
  Graph graph({1});
  graph.numbers("W", {1, 1}, {2}).node("MatMul", {"x", "W"}, {"y"});
  const auto steps = steps_of(network_of(graph), 1, 0.75);
  EXPECT_EQ(computed(steps, Vector::Constant(1, 3))(0), 5.25);
}

}  // namespace
}  // namespace zeroloss::internal::graph
