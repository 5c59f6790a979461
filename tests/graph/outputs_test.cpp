#include "graph/outputs.hpp"

#include "graph/graphs.hpp"

// What is taken for the numbers that labels are of, and for their names.
namespace zeroloss::internal::graph {
namespace {

using test::Attributes;
using test::Doubles;
using test::Graph;
using test::Integers;
using test::whole;
using Texts = std::vector<std::string>;

constexpr const char* kDomain = "ai.onnx.ml";

Attributes axis(std::int64_t k) { return {{"axis", k}}; }

// x -> s by a Gemm, whose numbers are the scores; y is the output.
Graph scores() {
  Graph graph({2}, 15);
  graph.numbers("W", {2, 2}, {1, 2, 3, 4}).node("Gemm", {"x", "W"}, {"s"});
  return graph;
}

Outputs followed(const Graph& graph, const std::string& asked = "") { return outputs_of(graph.graph, asked); }

// Whether the label of y is that of the largest number of s.
void expect_labels(const Graph& graph, const Texts& names, const std::string& decided,
                   const std::string& behind) {
  const Outputs found = followed(graph);
  EXPECT_EQ(found.scores, "s");
  EXPECT_TRUE(found.labels);
  EXPECT_EQ(found.decided, decided);
  EXPECT_NE(found.behind.find(behind), std::string::npos) << found.behind;
  EXPECT_EQ(found.class_names(graph.graph, std::ssize(names)), names);
}

// The output is a number that nothing is known behind, as it stands.
void expect_numbers(const Graph& graph, const std::string& scores = "y") {
  const Outputs found = followed(graph);
  EXPECT_EQ(found.scores, scores);
  EXPECT_FALSE(found.labels);
  EXPECT_EQ(found.behind, "");
  EXPECT_EQ(found.decided, scores);
}

TEST(GraphOutputs, ArgMaxOfSoftmaxIsTheLargestScore) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    Graph graph = scores();
    graph.node(op, {"s"}, {"p"}, axis(1)).node("ArgMax", {"p"}, {"y"}, axis(1));
    expect_labels(graph, {"0", "1"}, "p", op);
    const Outputs found = followed(graph);
    EXPECT_FALSE(found.named);
    ASSERT_EQ(found.along.size(), 2U);
    EXPECT_EQ(found.along[0].value, "s");
    EXPECT_EQ(found.along[1].value, "p");
    EXPECT_EQ(found.notes.size(), 2U);
  }
}

TEST(GraphOutputs, ShapesCastsAndDropoutBehindAreNothing) {
  Graph graph = scores();
  graph.integers("to", {-1, 2}).node("Softmax", {"s"}, {"p"}).node("Reshape", {"p", "to"}, {"q"});
  graph.node("Dropout", {"q"}, {"d"})
      .node("Cast", {"d"}, {"c"}, {{"to", whole(1)}})
      .node("ArgMax", {"c"}, {"l"}, axis(1));
  graph.node("Squeeze", {"l"}, {"m"}).node("Cast", {"m"}, {"y"}, {{"to", whole(6)}});
  expect_labels(graph, {"0", "1"}, "c", "Softmax");
}

TEST(GraphOutputs, LabelEncoderNamesByEachKindOfKeyAndValue) {
  const auto encoded = [](const Attributes& attributes) {
    Graph graph = scores();
    graph.node("ArgMax", {"s"}, {"l"}, axis(1)).node("LabelEncoder", {"l"}, {"y"}, attributes, kDomain);
    return graph;
  };
  expect_labels(encoded({{"keys_int64s", Integers{1, 0}}, {"values_strings", Texts{"dog", "cat"}}}),
                {"cat", "dog"}, "s", "ArgMax");
  expect_labels(encoded({{"keys_int64s", Integers{0, 1}}, {"values_int64s", Integers{-7, 3}}}), {"-7", "3"},
                "s", "ArgMax");
  expect_labels(encoded({{"keys_int64s", Integers{0, 1}}, {"values_floats", Doubles{0.5, 2}}}), {"0.5", "2"},
                "s", "ArgMax");
  expect_labels(encoded({{"classes_strings", Texts{"cat", "dog"}}}), {"cat", "dog"}, "s", "ArgMax");
  EXPECT_TRUE(followed(encoded({{"classes_strings", Texts{"cat", "dog"}}})).named);
  const Graph missing = encoded({{"keys_int64s", Integers{0}}, {"values_strings", Texts{"cat"}}});
  EXPECT_MESSAGE(DataError, followed(missing).class_names(missing.graph, 2), "node 'the LabelEncoder'",
                 "no name for 1");
  const Graph twice = encoded({{"classes_strings", Texts{"cat", "cat"}}});
  EXPECT_MESSAGE(DataError, followed(twice).class_names(twice.graph, 2), "gives two outputs one name");
  const Graph uneven = encoded({{"keys_int64s", Integers{0, 1}}, {"values_strings", Texts{"cat"}}});
  EXPECT_MESSAGE(DataError, followed(uneven).class_names(uneven.graph, 2), "a name for each key");
}

TEST(GraphOutputs, GatherAndArrayFeatureExtractorTakeNamesFromAList) {
  for (const char* op : {"Gather", "ArrayFeatureExtractor"}) {
    Graph integers = scores(), texts = scores();
    integers.integers("list", {30, 40});
    texts.texts("list", {"cat", "dog"});
    for (Graph* graph : {&integers, &texts})
      graph->node("ArgMax", {"s"}, {"l"}, axis(1))
          .node(op, {"list", "l"}, {"y"}, {}, op[0] == 'A' ? kDomain : "");
    expect_labels(integers, {"30", "40"}, "s", "ArgMax");
    expect_labels(texts, {"cat", "dog"}, "s", "ArgMax");
    EXPECT_MESSAGE(DataError, followed(texts).class_names(texts.graph, 3), "it has 2 names, and none for 2");
    texts.graph.nodes.back().attributes = axis(1);
    EXPECT_MESSAGE(DataError, followed(texts).class_names(texts.graph, 2), "another axis than 0");
  }
}

TEST(GraphOutputs, CastsOfLabelsKeepThoseThatTheTypeHolds) {
  const auto cast = [](std::int64_t to, const Integers& names) {
    Graph graph = scores();
    graph.integers("list", names).node("ArgMax", {"s"}, {"l"}, axis(1)).node("Gather", {"list", "l"}, {"m"});
    graph.node("Cast", {"m"}, {"y"}, {{"to", to}});
    return graph;
  };
  const auto names = [](const Graph& graph) { return followed(graph).class_names(graph.graph, 2); };
  EXPECT_EQ(names(cast(1, {0, 1 << 24})), (Texts{"0", "16777216"}));
  EXPECT_MESSAGE(DataError, names(cast(1, {0, (1 << 24) + 1})), "the Cast", "16777217", "float32");
  EXPECT_MESSAGE(DataError, names(cast(6, {0, std::int64_t{1} << 31})), "int32");
  EXPECT_EQ(names(cast(9, {0, 5})), (Texts{"0", "1"}));
  EXPECT_MESSAGE(DataError, names(cast(9, {3, 5})), "gives two outputs one name");
  EXPECT_MESSAGE(DataError, names(cast(3, {0, 1})), "int8");
}

TEST(GraphOutputs, ZipMapNamesTheColumns) {
  Graph graph = scores();
  graph.node("Softmax", {"s"}, {"p"})
      .node("ZipMap", {"p"}, {"y"}, {{"classlabels_strings", Texts{"cat", "dog"}}}, kDomain);
  expect_labels(graph, {"cat", "dog"}, "p", "Softmax");
  EXPECT_MESSAGE(DataError, followed(graph).class_names(graph.graph, 3), "it has 2 names for 3 classes");
  graph.graph.nodes.back().attributes = {{"classlabels_int64s", Integers{5, 4}}};
  expect_labels(graph, {"5", "4"}, "p", "Softmax");
}

TEST(GraphOutputs, LinearClassifierHasLabelsAndScores) {
  Graph graph({2}, 15, OnnxType::float32);
  graph.node("LinearClassifier", {"x"}, {"y", "s"},
             {{"coefficients", Doubles{1, 2, 3, 4}},
              {"classlabels_strings", Texts{"cat", "dog"}},
              {"post_transform", std::string("SOFTMAX")}},
             kDomain);
  expect_labels(graph, {"cat", "dog"}, "s", "LinearClassifier");
  graph.graph.outputs = {"s"};
  const Outputs found = followed(graph);
  EXPECT_EQ(found.scores, "s");
  EXPECT_NE(found.behind.find("LinearClassifier"), std::string::npos);
  EXPECT_FALSE(found.labels);
  graph.graph.nodes[0].attributes["post_transform"] = std::string("PROBIT");
  graph.graph.outputs = {"y"};
  EXPECT_FALSE(followed(graph).labels);
}

// ---- a single output ----

TEST(GraphOutputs, OfASingleScoreOneMinusSigmoidAndSigmoidAreTwo) {
  Graph graph = scores();
  graph.numbers("one", {1}, {1}).node("Sigmoid", {"s"}, {"p"}).node("Sub", {"one", "p"}, {"q"});
  graph.node("Concat", {"q", "p"}, {"two"}, axis(1)).node("ArgMax", {"two"}, {"y"}, axis(1));
  expect_labels(graph, {"0", "1"}, "two", "Sigmoid");
  EXPECT_EQ(followed(graph).class_names(graph.graph, 1), (Texts{"0", "1"}));
  // p before 1 - p would name them the other way round; another constant than 1 is nothing of both.
  graph.graph.nodes[3].inputs = {"p", "q"};
  graph.graph.outputs = {"two"};
  expect_numbers(graph, "two");
  graph.graph.nodes[3].inputs = {"q", "p"};
  EXPECT_EQ(followed(graph).scores, "s");
  graph.numbers("one", {1}, {0.75});
  expect_numbers(graph, "two");
}

TEST(GraphOutputs, ThresholdsAreZeroOfScoresAndAHalfOfSigmoids) {
  for (const char* op : {"Greater", "GreaterOrEqual"})
    for (const double at : {0.0, 0.5, 0.25, -1.0, std::nan("")}) {
      Graph raw = scores(), half = scores();
      raw.numbers("t", {}, {at}).node(op, {"s", "t"}, {"y"});
      half.numbers("t", {}, {at}).node("Sigmoid", {"s"}, {"p"}).node(op, {"p", "t"}, {"y"});
      EXPECT_EQ(followed(raw).labels, at == 0) << op << at;
      EXPECT_EQ(followed(raw).scores, at == 0 ? "s" : "y") << op << at;
      EXPECT_EQ(followed(half).labels, at == 0.5) << op << at;
      EXPECT_EQ(followed(half).scores, at == 0.5 ? "s" : "y") << op << at;
      if (at == 0.5) {
        EXPECT_EQ(followed(half).threshold, 0.5);
        EXPECT_EQ(followed(half).decided, "p");
      }
    }
  Graph softmax = scores();  // of two numbers, which a threshold is another thing of
  softmax.numbers("t", {}, {0.5}).node("Softmax", {"s"}, {"p"}).node("Greater", {"p", "t"}, {"y"});
  expect_numbers(softmax);
  Graph turned = scores();
  turned.numbers("t", {}, {0}).node("Greater", {"t", "s"}, {"y"});
  expect_numbers(turned);
}

// ---- what is no label ----

TEST(GraphOutputs, TheLastOfEqualOnesAndSmallestOnesAreNoLabels) {
  Graph last = scores();
  last.node("ArgMax", {"s"}, {"y"}, {{"axis", whole(1)}, {"select_last_index", whole(1)}});
  expect_numbers(last);
  Graph smallest = scores();
  smallest.integers("k", {1}).node("TopK", {"s", "k"}, {"values", "y"}, {{"largest", whole(0)}});
  expect_numbers(smallest);
  smallest.graph.nodes.back().attributes.clear();
  EXPECT_TRUE(followed(smallest).labels);
  smallest.graph.outputs = {"values"};
  expect_numbers(smallest, "values");
  Graph least = scores();
  least.node("Neg", {"s"}, {"n"}).node("ArgMax", {"n"}, {"y"}, axis(1));
  EXPECT_EQ(followed(least).scores, "n");
}

TEST(GraphOutputs, OfTopKTheFirstIsTheLabelWhereItIsTheLargest) {
  Graph graph = scores();
  graph.integers("k", {1}).node("TopK", {"s", "k"}, {"values", "y"});
  EXPECT_TRUE(followed(graph).labels);
  Graph two = scores();
  two.integers("k", {2}).node("TopK", {"s", "k"}, {"values", "y"});
  EXPECT_FALSE(followed(two).labels) << "several labels a sample";
}

TEST(GraphOutputs, NormalizersOfRawScoresAndSoftmaxOfSoftmaxAreNumbers) {
  Graph raw = scores();
  raw.node("Normalizer", {"s"}, {"y"}, {{"norm", std::string("L1")}}, kDomain);
  expect_numbers(raw);  // where they are below 0, the sizes count
  Graph probabilities = scores();
  probabilities.node("Sigmoid", {"s"}, {"p"})
      .node("Normalizer", {"p"}, {"y"}, {{"norm", std::string("L1")}}, kDomain);
  EXPECT_EQ(followed(probabilities).scores, "s");
  Graph twice = scores();
  twice.node("Softmax", {"s"}, {"p"}).node("Softmax", {"p"}, {"y"});
  EXPECT_EQ(followed(twice).scores, "y");
}

TEST(GraphOutputs, NormalizedLogarithmsAreNumbers) {
  // LogSoftmax is below 0: divided by the largest the order turns.
  for (const char* norm : {"MAX", "L1", "L2"}) {
    Graph graph = scores();
    graph.node("LogSoftmax", {"s"}, {"p"})
        .node("Normalizer", {"p"}, {"y"}, {{"norm", std::string(norm)}}, kDomain);
    EXPECT_EQ(followed(graph).scores, "y") << norm;
  }
}

TEST(GraphOutputs, NormalizedSigmoidsOfOneNumberAreNoProbabilities) {
  // p/p is 1: more than a half, whatever p.
  Graph graph = scores();
  graph.numbers("t", {}, {0.5}).node("Sigmoid", {"s"}, {"p"});
  graph.node("Normalizer", {"p"}, {"q"}, {{"norm", std::string("L1")}}, kDomain)
      .node("Greater", {"q", "t"}, {"y"});
  EXPECT_FALSE(followed(graph).labels);
}

TEST(GraphOutputs, OperatorsOfOtherDomainsAreNotFollowed) {
  Graph graph = scores();
  graph.node("ArgMax", {"s"}, {"y"}, axis(1), "mine");
  expect_numbers(graph);
}

// ---- several outputs ----

TEST(GraphOutputs, OfSeveralOneSetOfNumbersIsTakenOrTheyAreAskedFor) {
  Graph graph = scores();
  graph.node("Softmax", {"s"}, {"p"}).node("ArgMax", {"p"}, {"y"}, axis(1));
  graph.graph.outputs = {"y", "p"};
  EXPECT_EQ(followed(graph).scores, "s");
  EXPECT_TRUE(followed(graph).labels);
  EXPECT_NE(followed(graph).behind, "");
  graph.graph.outputs = {"y", "s"};
  EXPECT_EQ(followed(graph).behind, "");  // the numbers are there, too
  EXPECT_FALSE(followed(graph, "s").labels);
  graph.node("Neg", {"x"}, {"other"});
  graph.graph.outputs = {"y", "other"};
  EXPECT_MESSAGE(DataError, followed(graph), "2 sets of numbers", "`output_name=y`");
  EXPECT_EQ(followed(graph, "other").scores, "other");
  EXPECT_EQ(followed(graph, "y").scores, "s");
  EXPECT_MESSAGE(DataError, followed(graph, "s"), "it has no output 's', but y, other");
  graph.graph.outputs.clear();
  EXPECT_MESSAGE(DataError, followed(graph), "it has no outputs");
}

TEST(GraphOutputs, AnInputOrAConstantMayBeTheOutput) {
  Graph graph({2});
  graph.graph.outputs = {"x"};
  expect_numbers(graph, "x");
}

}  // namespace
}  // namespace zeroloss::internal::graph
