#include "graph/graphs.hpp"

// What is not known keeps an infinite bound, whatever stands behind it, and what has no meaning is refused.
namespace zeroloss::internal::graph {
namespace {

using test::Graph;

// x - x is 0 or nearly so, and 1/(x - x + c) has no bound where c may be 0.
Graph unknown_first() {
  Graph graph({2});
  graph.numbers("large", {2}, {1e18, 0}).numbers("one", {1}, {1});
  graph.node("Add", {"x", "large"}, {"a"})
      .node("Sub", {"a", "large"}, {"b"})
      .node("Div", {"one", "b"}, {"q"});
  return graph;
}

TEST(GraphUnknown, OverflowOfAProductStaysUnknown) {
  for (const Execution execution : {Execution::exact, Execution::float32}) {
    const OnnxType type = execution == Execution::exact ? OnnxType::float64 : OnnxType::float32;
    const double large = execution == Execution::exact ? 1e308 : 1e38;
    for (const char* op : {"Gemm", "MatMul"}) {
      Graph graph({2}, 21, type);
      graph.numbers("W", {2, 2}, {large, 1, large, 1}, type).node(op, {"x", "W"}, {"y"});
      const Enclosures found = graph.at(RowMatrix::Constant(1, 2, 1024), execution);
      EXPECT_EQ(found.error(0, 0), kInfinite) << op;
    }
    Graph graph({1, 2, 2}, 21, type);
    graph.numbers("W", {1, 1, 2, 2}, {large, large, large, large}, type).node("Conv", {"x", "W"}, {"y"});
    EXPECT_EQ(graph.at(RowMatrix::Constant(1, 4, 1024), execution).error(0, 0), kInfinite);
  }
}

TEST(GraphUnknown, OverflowAfterAFiniteLengthStaysUnknown) {
  const std::vector<std::pair<std::string, test::Attributes>> ops{
      {"Selu", {{"gamma", 4.0}}}, {"LeakyRelu", {{"alpha", 4.0}}}, {"HardSigmoid", {{"alpha", 4.0}}}};
  for (const auto& [op, attributes] : ops) {
    Graph graph({1});
    graph.node(op, {"x"}, {"y"}, attributes);
    const double x = op == "LeakyRelu" ? -1e308 : 1e308;
    EXPECT_EQ(graph.at(RowMatrix::Constant(1, 1, x)).error(0, 0), kInfinite) << op;
  }
  Graph graph({2}, 21, OnnxType::float32);
  graph.numbers("c", {2}, {3e38, 0}).node("Add", {"x", "c"}, {"y"});
  const Enclosures found = graph.at(RowMatrix::Constant(1, 2, 3e38), Execution::float32);
  EXPECT_EQ(found.error(0, 0), kInfinite);
}

TEST(GraphUnknown, StaysSoBehindEveryOperator) {
  const std::vector<std::function<void(Graph&)>> behind{
      [](Graph& g) {
        g.numbers("W", {2, 2}, {0, 0, 0, 1}).node("Gemm", {"q", "W"}, {"y"});
      },
      [](Graph& g) {
        g.numbers("W", {2, 1}, {0, 1})
            .node("MatMul", {"q", "W"}, {"z"})
            .numbers("n", {1}, {-9})
            .node("Max", {"z", "n"}, {"y"});
      },
      [](Graph& g) {
        g.numbers("W", {2, 2}, {0, 0, 0, 1})
            .node("MatMul", {"q", "W"}, {"z"})
            .node("ReduceMax", {"z"}, {"y"});
      },
      [](Graph& g) {
        g.numbers("W", {2, 2}, {0, 0, 1, 1}).node("MatMul", {"q", "W"}, {"z"});
        g.integers("s", {1, 1, 2}).node("Reshape", {"z", "s"}, {"r"}).node("GlobalMaxPool", {"r"}, {"y"});
      },
      [](Graph& g) { g.node("Relu", {"q"}, {"y"}); },
      [](Graph& g) { g.node("Sigmoid", {"q"}, {"y"}); },
      [](Graph& g) { g.node("Softmax", {"q"}, {"y"}); },
      [](Graph& g) { g.node("Exp", {"q"}, {"y"}); },
      [](Graph& g) { g.node("ReduceSum", {"q"}, {"y"}); },
      [](Graph& g) {
        g.numbers("z", {1}, {0}).node("Mul", {"q", "z"}, {"y"});
      },
      [](Graph& g) { g.node("Transpose", {"q"}, {"y"}); },
      [](Graph& g) {
        g.numbers("s", {2}, {1, 1}).node("LayerNormalization", {"q", "s"}, {"y"});
      },
      [](Graph& g) {
        g.node("Concat", {"q", "q"}, {"y"}, {{"axis", std::int64_t{1}}});
      }};
  for (std::size_t k = 0; k < behind.size(); ++k) {
    Graph graph = unknown_first();
    behind[k](graph);
    const Enclosures found = graph.at(RowMatrix::Constant(1, 2, 0.25));
    // Sigmoid and exp are bounded functions of what is unknown, so that theirs may be; the test is of NaN and
    // 0.
    EXPECT_EQ(found.error.maxCoeff<Eigen::PropagateNaN>(), kInfinite) << "case " << k;
  }
}

TEST(GraphUnknown, ConstantsThatAreNoNumbersMakeItUnknown) {
  for (const double bad : {std::nan(""), kInfinite, -kInfinite}) {
    const auto made = [&](const char* op, const test::Attributes& attributes = {}) {
      Graph graph({2});
      graph.numbers("c", {1, 2}, {bad, 1}).node(op, {"x", "c"}, {"y"}, attributes);
      return graph.at(RowMatrix::Constant(1, 2, 0.5));
    };
    for (const char* op : {"Add", "Sub", "Mul"}) EXPECT_EQ(made(op).error(0, 0), kInfinite) << op << bad;
    EXPECT_EQ(made("Concat", {{"axis", std::int64_t{1}}}).error(0, 2), kInfinite) << bad;
    Graph graph({2});
    graph.numbers("W", {2, 1}, {bad, 1}).node("MatMul", {"x", "W"}, {"y"});
    EXPECT_EQ(graph.at(RowMatrix::Constant(1, 2, 0.5)).error(0, 0), kInfinite) << bad;
    EXPECT_EQ(graph.at(RowMatrix::Zero(1, 2)).error(0, 0), kInfinite) << bad;
  }
}

TEST(GraphUnknown, SoftmaxOfScoresThatAreOffByHundredsIsWithin) {
  // 6e18 has only every 1024th number beside it: -513 comes back as -1024, and exp(-1024) is 0 in double.
  Graph graph({2});
  graph.numbers("c", {2}, {0, 6e18}).node("Add", {"x", "c"}, {"a"}).node("Sub", {"a", "c"}, {"b"});
  graph.node("Softmax", {"b"}, {"y"});
  RowMatrix X(1, 2);
  X << 0, -513;
  const Enclosures found = graph.at(X);
  const long double p = std::exp(-513.0L) / (1 + std::exp(-513.0L));
  EXPECT_LE(std::abs(found.f(0, 1) - p), static_cast<long double>(found.error(0, 1)));
}

TEST(GraphUnknown, ProductsOfTheSmallestAndTheLargestNumbersAreWithin) {
  // Squares of the values vanish and those of the weights overflow.
  for (const double x : {1e-170, 1e-250, 1e-310})
    for (const double w : {1e170, 1e300}) {
      Graph graph({3, 1});
      graph.numbers("W", {1, 3}, {w, -w, 0.3 * w}).node("MatMul", {"W", "x"}, {"y"});
      RowMatrix X(1, 3);
      X << x, x * (1 + 0x1p-40), 0.7 * x;
      const Enclosures found = graph.at(X);
      const long double y = static_cast<long double>(w) * X(0, 0) - static_cast<long double>(w) * X(0, 1) +
                            static_cast<long double>(0.3 * w) * X(0, 2);
      // The reference has five roundings of 2^-64, and is as large as its terms.
      EXPECT_LE(std::abs(found.f(0, 0) - y), found.error(0, 0) + std::abs(y) * 0x1p-62L) << x << " " << w;
      // Of three terms there are four roundings: the bound says no nothing.
      EXPECT_GE(found.error(0, 0), 2 * u * std::abs(w * x)) << x << " " << w;
    }
}

TEST(GraphUnknown, ConstantsBelowTheNormalNumbersMayBeFlushedByARuntime) {
  Graph graph({1}, 21, OnnxType::float32);
  graph.numbers("c", {1}, {0x1p-130}, OnnxType::float32).numbers("large", {1}, {0x1p100}, OnnxType::float32);
  graph.node("Mul", {"x", "c"}, {"a"}).node("Mul", {"a", "large"}, {"y"});
  const Enclosures found = graph.at(RowMatrix::Constant(1, 1, 0x1p20), Execution::float32);
  EXPECT_GE(found.error(0, 0), found.f(0, 0));  // 0 is within
  EXPECT_LT(graph.at(RowMatrix::Constant(1, 1, 0x1p20)).error(0, 0),
            1e-9);  // a goal: exact arithmetic makes 2^-10
}

TEST(GraphUnknown, AWindowOfPaddingAloneIsUnknown) {
  Graph graph({1, 2});
  graph.node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", test::Integers{1}}, {"pads", test::Integers{1, 1}}});
  EXPECT_REFUSED(graph, "the MaxPool", "a window of padding alone");
  graph.graph.nodes[0].op = "AveragePool";
  EXPECT_REFUSED(graph, "AveragePool", "a window of padding alone");
}

TEST(GraphUnknown, ValuesWithoutNumbersAreRefused) {
  for (const char* op : {"Relu", "MaxPool", "Softmax", "ReduceSum", "GlobalAveragePool"}) {
    Graph graph({1, 1});
    graph.integers("none", {1, 1, 0}).node("Expand", {"x", "none"}, {"z"});
    graph.node(op, {"z"}, {"y"});
    if (op == std::string("MaxPool"))
      graph.graph.nodes.back().attributes = {{"kernel_shape", test::Integers{1}}};
    EXPECT_REFUSED(graph, std::string("the ") + op, "no numbers");
  }
  Graph graph({2});
  graph.numbers("W", {2, 0}, {}).node("MatMul", {"x", "W"}, {"y"});
  EXPECT_REFUSED(graph, "the MatMul", "no numbers");
  Graph image({1, 3});
  image.numbers("W", {0, 1, 1}, {}).node("Conv", {"x", "W"}, {"y"});
  EXPECT_REFUSED(image, "the Conv", "no numbers");
}

TEST(GraphUnknown, WholeNumbersOfSamplesBesideConstantsAreRefusedOrRight) {
  Graph graph({2}, 21, OnnxType::int64);
  graph.integers("c", {7}, {1, 1}).node("Concat", {"x", "c"}, {"z"}, {{"axis", std::int64_t{1}}});
  graph.node("Cast", {"z"}, {"y"}, {{"to", std::int64_t{11}}});
  RowMatrix X(2, 2);
  X << 1, 2, 3, 4;
  const Enclosures found = graph.at(X);
  EXPECT_EQ(found.f, (Matrix(2, 3) << 1, 2, 7, 3, 4, 7).finished());
}

TEST(GraphUnknown, AFillOfNoNumberIsRefused) {
  Graph graph({2});
  graph.integers("s", {2}).node(
      "ConstantOfShape", {"s"}, {"c"},
      {{"value", OnnxNumbers{.name = "", .shape = {0}, .values = {}, .type = OnnxType::float64}}});
  graph.node("Add", {"x", "c"}, {"y"});
  EXPECT_REFUSED(graph, "the ConstantOfShape");
}

TEST(GraphHostile, WindowsWhoseCellsOverflowAreRefused) {
  Graph graph({1, 1, 1, 1, 1});
  graph.node("MaxPool", {"x"}, {"y"},
             {{"kernel_shape", test::Integers(4, 1 << 20)}, {"pads", test::Integers(8, 1 << 20)}});
  EXPECT_REFUSED(graph, "the MaxPool", "2^28 cells");
  graph.graph.nodes[0].attributes = {{"kernel_shape", test::Integers(4, 1)},
                                     {"pads", test::Integers(8, 1 << 20)}};
  EXPECT_REFUSED(graph, "the MaxPool", "2^28 cells");
}

TEST(GraphHostile, ShapesThatSpreadBeyondMemoryAreRefused) {
  Graph graph({1});
  for (const char axis : {'0', '1', '2', '3'}) {
    test::Integers sizes(4, 1);
    sizes[static_cast<std::size_t>(axis - '0')] = 1 << 16;
    const std::string name{axis};
    graph.integers("s" + name, sizes).node("ConstantOfShape", {"s" + name}, {"f" + name});
    graph.node("Cast", {"f" + name}, {"c" + name}, {{"to", test::whole(11)}});
  }
  graph.node("Max", {"c0", "c1", "c2", "c3", "x"}, {"y"});
  EXPECT_REFUSED(graph, "the Max", "too large");
}

TEST(GraphHostile, PartsThatOverflowAreRefused) {
  Graph graph({2});
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  graph.integers("parts", {most, most, 4})
      .node("Split", {"x", "parts"}, {"y", "b", "c"}, {{"axis", test::whole(1)}});
  EXPECT_REFUSED(graph, "the Split");
}

TEST(GraphHostile, ReductionsTakeAxesAsTheirSetHasThemAlone) {
  Graph later({2, 2}, 18), earlier({2, 2}, 12);
  later.node("ReduceMean", {"x"}, {"y"}, {{"axes", test::Integers{1}}});
  EXPECT_REFUSED(later, "the ReduceMean", "axes");
  earlier.integers("axes", {1}).node("ReduceSum", {"x", "axes"}, {"y"});
  EXPECT_REFUSED(earlier, "the ReduceSum", "axes");
}

TEST(GraphHostile, SingleNumbersWithoutAxesGoThrough) {
  Graph graph({1});
  graph.integers("none", {}, {0}).node("Reshape", {"x", "none"}, {"r"}).numbers("c", {}, {2});
  graph.node("Mul", {"r", "c"}, {"m"}).node("Relu", {"m"}, {"a"}).node("Add", {"a", "c"}, {"b"});
  graph.node("Neg", {"b"}, {"y"});
  const Enclosures found = graph.at(RowMatrix::Constant(1, 1, 3));
  EXPECT_EQ(found.shape, Shape{});
  EXPECT_EQ(found.f(0, 0), -8);
  for (const char* op : {"Softmax", "Gather", "Split", "Concat", "Slice", "LayerNormalization",
                         "BatchNormalization", "MatMul", "Gemm", "Conv", "MaxPool", "GlobalAveragePool",
                         "InstanceNormalization", "ArrayFeatureExtractor", "Scaler", "Normalizer"}) {
    Graph other({1});
    other.integers("none", {}, {0}).node("Reshape", {"x", "none"}, {"r"});
    other.integers("k", {0}).numbers("w", {1}, {1}).numbers("W", {1, 1}, {1});
    const std::string name = op;
    std::vector<std::string> inputs{"r"};
    if (name == "Gather" || name == "ArrayFeatureExtractor") inputs = {"r", "k"};
    if (name == "Slice") inputs = {"r", "k", "k"};
    if (name == "LayerNormalization") inputs = {"r", "w"};
    if (name == "InstanceNormalization") inputs = {"r", "w", "w"};
    if (name == "BatchNormalization") inputs = {"r", "w", "w", "w", "w"};
    if (name == "MatMul" || name == "Gemm" || name == "Conv") inputs = {"r", "W"};
    test::Attributes attributes;
    if (name == "MaxPool") attributes = {{"kernel_shape", test::Integers{1}}};
    if (name == "Normalizer") attributes = {{"norm", std::string("L2")}};
    other.node(name, inputs, {"y"}, attributes);
    // A goal: 3 and 1 come out.
    if (name == "Scaler" || name == "Normalizer")
      EXPECT_LT(other.at(RowMatrix::Constant(1, 1, 3)).error(0, 0), 1e-9) << name;
    else
      EXPECT_REFUSED(other, "the " + name);
  }
}

}  // namespace
}  // namespace zeroloss::internal::graph
