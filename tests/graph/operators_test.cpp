#include <numeric>

#include "graph/graphs.hpp"

// Each operator against loops over indices in 80 bits.
namespace zeroloss::internal::graph {
namespace {

using test::Attributes;
using test::Doubles;
using test::drawn;
using test::drawn_points;
using test::expect_computes;
using test::Graph;
using test::Integers;
using test::Reference;
using test::whole;

Reference each(const Reference& x, long double (*f)(long double)) {
  Reference y;
  for (const long double one : x) y.push_back(f(one));
  return y;
}

// ---- products ----

TEST(GraphProducts, GemmMultipliesTransposesScalesAndAdds) {
  constexpr Index d = 5, m = 3;
  const Doubles W = drawn(d * m, 1), b = drawn(m, 2);
  for (const bool transposed : {false, true})
    for (const bool biased : {false, true}) {
      Graph graph({d});
      graph.numbers("W", transposed ? Shape{m, d} : Shape{d, m}, W).numbers("b", {m}, b);
      graph.node("Gemm",
                 biased ? std::vector<std::string>{"x", "W", "b"} : std::vector<std::string>{"x", "W"}, {"y"},
                 {{"alpha", 0.75}, {"beta", -1.5}, {"transB", whole(transposed)}});
      expect_computes(graph, {1, m}, [&](const Reference& x) {
        Reference y(m, 0);
        for (Index j = 0; j < m; ++j) {
          for (Index k = 0; k < d; ++k)
            y[static_cast<std::size_t>(j)] +=
                0.75L * W[static_cast<std::size_t>(transposed ? j * d + k : k * m + j)] *
                x[static_cast<std::size_t>(k)];
          if (biased) y[static_cast<std::size_t>(j)] -= 1.5L * b[static_cast<std::size_t>(j)];
        }
        return y;
      });
    }
}

TEST(GraphProducts, GemmOfATransposedInputMultipliesColumns) {
  // x as 4 x 1, transposed to 1 x 4; and 1 x 4, transposed to 4 x 1, times 1 x 2.
  const Doubles W{2, -3};
  Graph graph({4});
  graph.numbers("W", {1, 2}, W)
      .numbers("b", {1}, {0.5})
      .node("Gemm", {"x", "W", "b"}, {"y"}, {{"transA", whole(1)}});
  expect_computes(graph, {4, 2}, [&](const Reference& x) {
    Reference y;
    for (const long double one : x)
      for (const double w : W) y.push_back(one * w + 0.5L);
    return y;
  });
}

TEST(GraphProducts, MatMulTakesConstantsOnEitherSideAndValuesOfAnyRank) {
  constexpr Index a = 2, k = 3, p = 4, m = 2;
  const Doubles W = drawn(k * m, 3), V = drawn(m * k, 4);
  Graph right({a, p, k});
  right.numbers("W", {k, m}, W).node("MatMul", {"x", "W"}, {"y"});
  expect_computes(right, {1, a, p, m}, [&](const Reference& x) {
    Reference y;
    for (Index i = 0; i < a * p; ++i)
      for (Index j = 0; j < m; ++j) {
        long double sum = 0;
        for (Index t = 0; t < k; ++t)
          sum += x[static_cast<std::size_t>(i * k + t)] * W[static_cast<std::size_t>(t * m + j)];
        y.push_back(sum);
      }
    return y;
  });
  Graph left({a, k, p});
  left.numbers("V", {m, k}, V).node("MatMul", {"V", "x"}, {"y"});
  expect_computes(left, {1, a, m, p}, [&](const Reference& x) {
    Reference y;
    for (Index s = 0; s < a; ++s)
      for (Index j = 0; j < m; ++j)
        for (Index c = 0; c < p; ++c) {
          long double sum = 0;
          for (Index t = 0; t < k; ++t)
            sum += static_cast<long double>(V[static_cast<std::size_t>(j * k + t)]) *
                   x[static_cast<std::size_t>((s * k + t) * p + c)];
          y.push_back(sum);
        }
    return y;
  });
}

TEST(GraphProducts, MatMulOfAVectorLosesItsAxis) {
  for (const bool left : {false, true}) {
    Graph graph({3});
    graph.integers("axis", {0}).node("Squeeze", {"x", "axis"}, {"v"});
    graph.numbers("W", left ? Shape{2, 3} : Shape{3, 2}, {1, 2, 3, 4, 5, 6});
    graph.node("MatMul", left ? std::vector<std::string>{"W", "v"} : std::vector<std::string>{"v", "W"},
               {"y"});
    expect_computes(graph, {2}, [&](const Reference& x) {
      return left ? Reference{x[0] + 2 * x[1] + 3 * x[2], 4 * x[0] + 5 * x[1] + 6 * x[2]}
                  : Reference{x[0] + 3 * x[1] + 5 * x[2], 2 * x[0] + 4 * x[1] + 6 * x[2]};
    });
  }
}

// [a, m, k] times [k, p] or [a, k, p], of two values of the sample.
TEST(GraphProducts, MatMulMultipliesTwoValuesOfTheSample) {
  constexpr Index a = 2, m = 3, k = 4;
  Graph graph({a, m, k});
  graph.node("Transpose", {"x"}, {"xt"}, {{"perm", Integers{0, 1, 3, 2}}}).node("MatMul", {"x", "xt"}, {"y"});
  expect_computes(graph, {1, a, m, m}, [&](const Reference& x) {
    Reference y;
    for (Index s = 0; s < a; ++s)
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < m; ++j) {
          long double sum = 0;
          for (Index t = 0; t < k; ++t)
            sum += x[static_cast<std::size_t>((s * m + i) * k + t)] *
                   x[static_cast<std::size_t>((s * m + j) * k + t)];
          y.push_back(sum);
        }
    return y;
  });
}

TEST(GraphProducts, MatMulSpreadsMatricesOverTheAxesInFront) {
  // Of 2 x 3 x 2 numbers the first 3 x 2 of each two, transposed, times all; and a stack of constants.
  constexpr Index a = 2, m = 3, p = 2;
  const Doubles V = drawn(a * 2 * m, 17);
  Graph graph({a, m, p});
  graph.integers("first", {0}).integers("shape", {m, p});
  graph.node("Gather", {"x", "first"}, {"one"}, {{"axis", whole(1)}})
      .node("Reshape", {"one", "shape"}, {"two"});
  graph.node("Transpose", {"two"}, {"turned"}, {{"perm", Integers{1, 0}}})
      .node("MatMul", {"turned", "x"}, {"seen"});
  graph.numbers("V", {a, m, 2}, V).node("MatMul", {"V", "seen"}, {"y"});
  expect_computes(graph, {1, a, m, p}, [&](const Reference& x) {
    Reference y;
    for (Index s = 0; s < a; ++s)
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < p; ++j) {
          long double sum = 0;
          for (Index t = 0; t < 2; ++t)
            for (Index q = 0; q < m; ++q)
              sum += V[static_cast<std::size_t>((s * m + i) * 2 + t)] *
                     x[static_cast<std::size_t>(q * p + t)] *
                     x[static_cast<std::size_t>((s * m + q) * p + j)];
          y.push_back(sum);
        }
    return y;
  });
}

TEST(GraphProducts, OfTwoVectorsOfTheSampleAreANumber) {
  Graph graph({3});
  graph.integers("axis", {0}).node("Squeeze", {"x", "axis"}, {"v"}).node("MatMul", {"v", "v"}, {"square"});
  graph.integers("shape", {1, 1}).node("Reshape", {"square", "shape"}, {"y"});
  expect_computes(graph, {1, 1},
                  [&](const Reference& x) { return Reference{x[0] * x[0] + x[1] * x[1] + x[2] * x[2]}; });
}

TEST(GraphProducts, OfTwoValuesThatDoNotFitAreRefused) {
  Graph graph({2, 3});
  graph.node("MatMul", {"x", "x"}, {"y"});
  EXPECT_REFUSED(graph, "node 'the MatMul'", "multiplies matrices of 3 columns and of 2 rows");
  Graph gemm({2});
  gemm.node("Gemm", {"x", "x"}, {"y"}, {{"transA", whole(1)}});
  EXPECT_REFUSED(gemm, "node 'the Gemm'", "second input is no constant");
}

TEST(GraphProducts, MixedTypesAndWrongSizesAreRefused) {
  Graph graph({2});
  graph.numbers("W", {2, 2}, {1, 2, 3, 4}, OnnxType::float32).node("MatMul", {"x", "W"}, {"y"});
  EXPECT_REFUSED(graph, "the MatMul", "mixes float64 and float32");
  Graph wide({2});
  wide.numbers("W", {3, 1}, {1, 2, 3}).node("Gemm", {"x", "W"}, {"y"});
  EXPECT_REFUSED(wide, "the Gemm", "multiplies 2 numbers by weights for 3");
  Graph bias({2});
  bias.numbers("W", {2, 2}, {1, 2, 3, 4}).numbers("b", {2, 1}, {1, 2}).node("Gemm", {"x", "W", "b"}, {"y"});
  EXPECT_REFUSED(bias, "the Gemm", "not one number for each output");
}

// ---- windows ----

struct Axis {
  Index size, kernel, stride = 1, dilation = 1, before = 0, after = 0;
  Index out() const { return (size + before + after - (kernel - 1) * dilation - 1) / stride + 1; }
};

// x (channels x a x b) with kernels (m x channels/groups x ..), in loops.
Reference convolved(const Reference& x, const Doubles& W, const Doubles& b, Index channels, Index m,
                    Index groups, const Axis& one, const Axis& two) {
  Reference y;
  const Index each = channels / groups;
  for (Index j = 0; j < m; ++j)
    for (Index o = 0; o < one.out(); ++o)
      for (Index p = 0; p < two.out(); ++p) {
        long double sum = b.empty() ? 0 : b[static_cast<std::size_t>(j)];
        for (Index c = 0; c < each; ++c)
          for (Index k = 0; k < one.kernel; ++k)
            for (Index l = 0; l < two.kernel; ++l) {
              const Index r = o * one.stride + k * one.dilation - one.before,
                          s = p * two.stride + l * two.dilation - two.before;
              if (r < 0 || r >= one.size || s < 0 || s >= two.size) continue;
              const Index channel = j / (m / groups) * each + c;
              sum += W[static_cast<std::size_t>(((j * each + c) * one.kernel + k) * two.kernel + l)] *
                     x[static_cast<std::size_t>((channel * one.size + r) * two.size + s)];
            }
        y.push_back(sum);
      }
  return y;
}

TEST(GraphConvolution, OfTwoAxesWithStridesDilationGroupsAndUnevenPads) {
  const std::vector<std::pair<Axis, Axis>> cases{{{5, 3}, {6, 2}},
                                                 {{7, 3, 2, 1, 1, 0}, {6, 3, 1, 2, 0, 2}},
                                                 {{4, 2, 3, 2, 2, 1}, {5, 1, 2, 1, 0, 0}},
                                                 {{3, 3, 9}, {1, 1, 7}},
                                                 {{1, 1}, {1, 1}}};
  for (const auto& [one, two] : cases)
    for (const Index groups : {1, 2, 4}) {
      constexpr Index channels = 4, m = 8;
      const Doubles W = drawn(m * channels / groups * one.kernel * two.kernel, 5), b = drawn(m, 6);
      Graph graph({channels, one.size, two.size});
      graph.numbers("W", {m, channels / groups, one.kernel, two.kernel}, W).numbers("b", {m}, b);
      graph.node("Conv", {"x", "W", "b"}, {"y"},
                 {{"group", whole(groups)},
                  {"strides", Integers{one.stride, two.stride}},
                  {"dilations", Integers{one.dilation, two.dilation}},
                  {"pads", Integers{one.before, two.before, one.after, two.after}}});
      expect_computes(graph, {1, m, one.out(), two.out()},
                      [&](const Reference& x) { return convolved(x, W, b, channels, m, groups, one, two); });
    }
}

TEST(GraphConvolution, OfOneAxisAndAutomaticPads) {
  for (const auto& [mode, before, after] :
       {std::tuple{"SAME_UPPER", 1, 2}, {"SAME_LOWER", 2, 1}, {"VALID", 0, 0}, {"NOTSET", 0, 0}}) {
    const Axis one{7, 4, 1, 1, before, after}, none{1, 1};
    const Doubles W = drawn(2 * 3 * 4, 7);
    Graph graph({3, 7});
    graph.numbers("W", {2, 3, 4}, W).node("Conv", {"x", "W"}, {"y"}, {{"auto_pad", std::string(mode)}});
    expect_computes(graph, {1, 2, one.out()},
                    [&](const Reference& x) { return convolved(x, W, {}, 3, 2, 1, one, none); });
  }
}

TEST(GraphConvolution, AutomaticPadsOfStridesKeepTheCeiling) {
  // 6 numbers by steps of 4 are 2 windows; the second reaches to 4 + 3, one number beyond.
  const Axis upper{6, 3, 4, 1, 0, 1}, lower{6, 3, 4, 1, 1, 0}, none{1, 1};
  const Doubles W{1, 2, 4};
  for (const auto& [mode, axis] : {std::pair{"SAME_UPPER", upper}, {"SAME_LOWER", lower}}) {
    Graph graph({1, 6});
    graph.numbers("W", {1, 1, 3}, W);
    graph.node("Conv", {"x", "W"}, {"y"}, {{"auto_pad", std::string(mode)}, {"strides", Integers{4}}});
    expect_computes(graph, {1, 1, 2},
                    [&, at = axis](const Reference& x) { return convolved(x, W, {}, 1, 1, 1, at, none); });
  }
}

TEST(GraphConvolution, WhatDoesNotFitIsRefused) {
  const auto refused = [](const Attributes& attributes, const std::string& why,
                          const Shape& weights = {2, 2, 2}) {
    Graph graph({2, 3});
    graph.numbers("W", weights, Doubles(static_cast<std::size_t>(count_of(weights)), 1));
    graph.node("Conv", {"x", "W"}, {"y"}, attributes);
    EXPECT_REFUSED(graph, "node 'the Conv' (Conv -> y)", why);
  };
  refused({}, "windows of 4 do not fit into 3 numbers", {2, 2, 4});
  refused({{"dilations", Integers{3}}}, "windows of 4 do not fit into 3 numbers");
  refused({{"group", whole(2)}}, "weights are for 4 channels in 2 groups, its input has 2");
  refused({{"group", whole(0)}}, "0 groups");
  refused({{"strides", Integers{0}}}, "0 of its strides is not read");
  refused({{"pads", Integers{-1, 0}}}, "-1 of its pads is not read");
  refused({{"strides", Integers{1, 1}}}, "its strides are 2, not 1");
  refused({{"kernel_shape", Integers{3}}}, "not that of its weights");
  refused({{"auto_pad", std::string("SAME")}}, "auto_pad 'SAME' is not known");
  refused({{"unheard", whole(1)}}, "attribute 'unheard' is not known");
  refused({{"group", 1.0}}, "attribute 'group' is of another type");
}

// ---- pooling ----

// f(numbers of a window, those that lie on the tensor or its padding) of a channel.
Reference pooled(const Reference& x, Index channels, const Axis& axis, Index out,
                 const std::function<long double(const Reference&, Index)>& f) {
  Reference y;
  for (Index c = 0; c < channels; ++c)
    for (Index o = 0; o < out; ++o) {
      Reference seen;
      Index within = 0;
      for (Index k = 0; k < axis.kernel; ++k) {
        const Index at = o * axis.stride + k * axis.dilation - axis.before;
        if (at < axis.size + axis.after) ++within;
        if (at >= 0 && at < axis.size) seen.push_back(x[static_cast<std::size_t>(c * axis.size + at)]);
      }
      y.push_back(f(seen, within));
    }
  return y;
}

Attributes attributes_of(const Axis& axis, bool dilated = true) {
  Attributes made{{"kernel_shape", Integers{axis.kernel}},
                  {"strides", Integers{axis.stride}},
                  {"pads", Integers{axis.before, axis.after}}};
  if (dilated) made["dilations"] = Integers{axis.dilation};
  return made;
}

TEST(GraphPooling, TakesLargestNumbersAndMeansWithAndWithoutPadding) {
  const std::vector<std::tuple<Axis, bool, Index>> cases{{{7, 3}, false, 5},
                                                         {{7, 3, 2, 1, 1, 0}, false, 3},
                                                         {{8, 2, 3, 2, 1, 1}, false, 3},
                                                         {{6, 3, 2}, true, 3},
                                                         {{7, 2, 2, 1, 1, 1}, true, 5},
                                                         {{5, 2, 4, 1, 0, 1}, true, 2},
                                                         {{3, 3, 5}, true, 1},
                                                         {{1, 1}, false, 1}};
  for (const auto& [axis, up, out] : cases) {
    const Index count = up && axis.size == 7 ? 4 : out;  // a last window would start in the padding behind
    for (const char* op : {"MaxPool", "AveragePool"})
      for (const bool padding : {false, true}) {
        const bool largest = op == std::string("MaxPool");
        if (largest && padding) continue;
        Graph graph({2, axis.size});
        Attributes attributes = attributes_of(axis);
        attributes["ceil_mode"] = whole(up);
        if (!largest) attributes["count_include_pad"] = whole(padding);
        graph.node(op, {"x"}, {"y"}, attributes);
        SCOPED_TRACE(op + std::string(" of ") + std::to_string(axis.size) + " by " +
                     std::to_string(axis.stride));
        expect_computes(graph, {1, 2, count}, [&, at = axis](const Reference& x) {
          return pooled(x, 2, at, count, [&](const Reference& seen, Index within) {
            if (largest) return *std::ranges::max_element(seen);
            return std::accumulate(seen.begin(), seen.end(), 0.0L) /
                   static_cast<long double>(padding ? within : std::ssize(seen));
          });
        });
      }
  }
}

TEST(GraphPooling, OfWholeChannels) {
  Graph mean({2, 2, 2}), top({2, 2, 2});
  mean.node("GlobalAveragePool", {"x"}, {"y"});
  top.node("GlobalMaxPool", {"x"}, {"y"});
  expect_computes(mean, {1, 2, 1, 1}, [](const Reference& x) {
    return Reference{(x[0] + x[1] + x[2] + x[3]) / 4, (x[4] + x[5] + x[6] + x[7]) / 4};
  });
  expect_computes(top, {1, 2, 1, 1}, [](const Reference& x) {
    return Reference{std::max({x[0], x[1], x[2], x[3]}), std::max({x[4], x[5], x[6], x[7]})};
  });
}

TEST(GraphPooling, LargerWindowsThanTheInputAndPlacesAreRefused) {
  Graph graph({1, 2});
  graph.node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", Integers{3}}});
  EXPECT_REFUSED(graph, "the MaxPool", "windows of 3 do not fit into 2 numbers");
  Graph places({1, 2});
  places.node("MaxPool", {"x"}, {"y", "places"}, {{"kernel_shape", Integers{2}}});
  EXPECT_REFUSED(places, "the MaxPool", "places of largest numbers");
  Graph vector({2});
  vector.node("GlobalAveragePool", {"x"}, {"y"});
  EXPECT_REFUSED(vector, "the GlobalAveragePool", "no channels with axes behind them");
}

// ---- normalisations and softmax ----

TEST(GraphNormalization, ByLearntMeansAndVariances) {
  const Doubles scale{1.5, -2}, shift{0.25, 1}, mean{-0.5, 3}, variance{0.7, 2e-4};
  Graph graph({2, 3});
  graph.numbers("s", {2}, scale).numbers("b", {2}, shift).numbers("m", {2}, mean).numbers("v", {2}, variance);
  graph.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, {{"epsilon", 0x1p-10}});
  expect_computes(graph, {1, 2, 3}, [&](const Reference& x) {
    Reference y;
    for (std::size_t k = 0; k < 6; ++k) {
      const std::size_t c = k / 3;
      y.push_back((x[k] - mean[c]) * scale[c] / std::sqrt(variance[c] + 0x1p-10L) + shift[c]);
    }
    return y;
  });
}

TEST(GraphNormalization, VariancesBelowZeroAndTrainingAreRefused) {
  const auto made = [](double variance, const Attributes& attributes, std::int64_t version = 15) {
    Graph graph({1}, version);
    graph.numbers("one", {1}, {1}).numbers("v", {1}, {variance});
    graph.node("BatchNormalization", {"x", "one", "one", "one", "v"}, {"y"}, attributes);
    return graph;
  };
  EXPECT_REFUSED(made(-1, {}), "the BatchNormalization", "variance of channel 0 and epsilon are not above 0");
  EXPECT_REFUSED(made(0, {{"epsilon", 0.0}}), "variance of channel 0");
  EXPECT_REFUSED(made(std::nan(""), {}), "variance of channel 0");
  EXPECT_REFUSED(made(1, {{"training_mode", whole(1)}}), "normalisation as in training");
  EXPECT_REFUSED(made(1, {{"spatial", whole(0)}}, 8), "spatial must be 1");
  Graph old = made(1, {}, 9);  // before set 14 it is in training where it has more outputs
  old.graph.nodes[0].outputs = {"y", "mean", "variance"};
  EXPECT_REFUSED(old, "the BatchNormalization", "training");
}

TEST(GraphNormalization, OfLayersAndInstancesByTheirOwnNumbers) {
  const Doubles scale = drawn(6, 8), shift = drawn(6, 9);
  const auto standardized = [](const Reference& x, std::size_t each, long double epsilon) {
    Reference y;
    for (std::size_t g = 0; g < x.size(); g += each) {
      long double mean = 0, variance = 0;
      for (std::size_t k = g; k < g + each; ++k) mean += x[k] / static_cast<long double>(each);
      for (std::size_t k = g; k < g + each; ++k)
        variance += (x[k] - mean) * (x[k] - mean) / static_cast<long double>(each);
      for (std::size_t k = g; k < g + each; ++k) y.push_back((x[k] - mean) / std::sqrt(variance + epsilon));
    }
    return y;
  };
  for (const std::int64_t axis : {1, 2, -1}) {
    const std::size_t each = axis == 1 ? 6 : 3;
    Graph graph({2, 3});
    graph.numbers("s", axis == 1 ? Shape{2, 3} : Shape{3},
                  {scale.begin(), scale.begin() + static_cast<int>(each)});
    graph.numbers("b", axis == 1 ? Shape{2, 3} : Shape{3},
                  {shift.begin(), shift.begin() + static_cast<int>(each)});
    graph.node("LayerNormalization", {"x", "s", "b"}, {"y"}, {{"axis", axis}, {"epsilon", 0x1p-20}});
    expect_computes(graph, {1, 2, 3}, [&](const Reference& x) {
      Reference y = standardized(x, each, 0x1p-20L);
      for (std::size_t k = 0; k < y.size(); ++k) y[k] = y[k] * scale[k % each] + shift[k % each];
      return y;
    });
  }
  Graph instance({2, 3});
  instance.numbers("s", {2}, {2, 3}).numbers("b", {2}, {-1, 1});
  instance.node("InstanceNormalization", {"x", "s", "b"}, {"y"}, {{"epsilon", 0x1p-20}});
  expect_computes(instance, {1, 2, 3}, [&](const Reference& x) {
    Reference y = standardized(x, 3, 0x1p-20L);
    for (std::size_t k = 0; k < y.size(); ++k) y[k] = k < 3 ? 2 * y[k] - 1 : 3 * y[k] + 1;
    return y;
  });
}

TEST(GraphNormalization, OfOneNumberWithoutEpsilonIsUnknown) {
  Graph graph({1});
  graph.numbers("s", {1}, {1}).node("LayerNormalization", {"x", "s"}, {"y"}, {{"epsilon", 0.0}});
  EXPECT_EQ(graph.at(RowMatrix::Constant(1, 1, 2)).error(0, 0), kInfinite);
}

TEST(GraphNormalization, OfLayersInDoubleMayBeInFloat32ByARuntime) {
  // stash_type is float32 unless the file says otherwise, whatever the type of the numbers.
  for (const bool said : {false, true}) {
    Graph graph({4});
    graph.numbers("s", {4}, {1, 1, 1, 1});
    graph.node("LayerNormalization", {"x", "s"}, {"y"},
               said ? Attributes{{"stash_type", whole(11)}} : Attributes{});
    RowMatrix X(1, 4);
    X << 0.3, -1.7, 2.9, 0.1;
    const Enclosures found = graph.at(X, Execution::float32);
    float mean = 0, variance = 0;
    for (const double x : X.row(0)) mean += static_cast<float>(x) / 4;
    for (const double x : X.row(0))
      variance += (static_cast<float>(x) - mean) * (static_cast<float>(x) - mean) / 4;
    const double y = (static_cast<float>(X(0, 0)) - mean) / std::sqrt(variance + 1e-5F);
    const double off = std::abs(found.f(0, 0) - y);
    EXPECT_TRUE(said || off <= found.error(0, 0)) << off;
    EXPECT_LT(found.error(0, 0), said ? 1e-12 : 1e-4);  // goals: some hundred units of both types
  }
}

TEST(GraphSoftmax, GoesOverAllAxesBehindInOldSetsAndOverOneInNewOnes) {
  for (const bool logarithm : {false, true})
    for (const std::int64_t version : {12, 13})
      for (const std::int64_t axis : {1, 2, -1, 99}) {
        Graph graph({2, 3}, version);
        graph.node(logarithm ? "LogSoftmax" : "Softmax", {"x"}, {"y"},
                   axis == 99 ? Attributes{} : Attributes{{"axis", axis}});
        const std::int64_t first = axis == 99 ? (version < 13 ? 1 : 2) : axis < 0 ? 2 : axis;
        const bool all = version < 13 && first == 1;
        SCOPED_TRACE(std::to_string(version) + " axis " + std::to_string(axis));
        expect_computes(graph, {1, 2, 3}, [&](const Reference& x) {
          Reference y;
          for (std::size_t k = 0; k < 6; ++k) {
            long double sum = 0;
            for (std::size_t l = 0; l < 6; ++l)
              if (all || (first == 2 ? l / 3 == k / 3 : l % 3 == k % 3)) sum += std::exp(x[l]);
            y.push_back(logarithm ? x[k] - std::log(sum) : std::exp(x[k]) / sum);
          }
          return y;
        });
      }
}

// ---- number by number ----

TEST(GraphNumbers, FunctionsAreThoseOfTheirFormulas) {
  const std::vector<std::tuple<std::string, Attributes, long double (*)(long double)>> cases{
      {"Relu", {}, [](long double x) { return std::max(x, 0.0L); }},
      {"LeakyRelu", {{"alpha", 0.125}}, [](long double x) { return x < 0 ? 0.125L * x : x; }},
      {"LeakyRelu", {{"alpha", -2.0}}, [](long double x) { return x < 0 ? -2 * x : x; }},
      {"Elu", {{"alpha", 0.5}}, [](long double x) { return x < 0 ? 0.5L * std::expm1(x) : x; }},
      {"Celu", {{"alpha", 2.0}}, [](long double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }},
      {"Selu",
       {{"alpha", 1.5}, {"gamma", 0.75}},
       [](long double x) { return 0.75L * (x < 0 ? 1.5L * std::expm1(x) : x); }},
      {"Sigmoid", {}, [](long double x) { return 1 / (1 + std::exp(-x)); }},
      {"HardSigmoid",
       {{"alpha", 0.25}, {"beta", 0.5}},
       [](long double x) { return std::clamp(0.25L * x + 0.5L, 0.0L, 1.0L); }},
      {"HardSwish", {}, [](long double x) { return x * std::clamp(x / 6 + 0.5L, 0.0L, 1.0L); }},
      {"Tanh", {}, [](long double x) { return std::tanh(x); }},
      {"Erf", {}, [](long double x) { return std::erf(x); }},
      {"Gelu", {}, [](long double x) { return x * std::erfc(-x / std::sqrt(2.0L)) / 2; }},
      {"Gelu",
       {{"approximate", std::string("tanh")}},
       [](long double x) {
         const long double root = std::sqrt(2 / 3.14159265358979323846264338327950288L);
         return x / 2 * (1 + std::tanh(root * (x + 0.044715L * x * x * x)));
       }},
      {"Softplus", {}, [](long double x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); }},
      {"Softsign", {}, [](long double x) { return x / (1 + std::abs(x)); }},
      {"Mish", {}, [](long double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Swish", {}, [](long double x) { return x / (1 + std::exp(-x)); }},
      {"Sin", {}, [](long double x) { return std::sin(x); }},
      {"Exp", {}, [](long double x) { return std::exp(x); }},
      {"Neg", {}, [](long double x) { return -x; }},
      {"Abs", {}, [](long double x) { return std::abs(x); }},
      {"Identity", {}, [](long double x) { return x; }},
      {"Reciprocal", {}, [](long double x) { return 1 / x; }},
      {"Clip", {{"min", -0.5}, {"max", 0.75}}, [](long double x) { return std::clamp(x, -0.5L, 0.75L); }}};
  for (const auto& [op, attributes, f] : cases) {
    SCOPED_TRACE(op);
    Graph graph({40}, op == "Clip" ? 9 : 24);
    graph.node(op, {"x"}, {"y"}, attributes);
    expect_computes(
        graph, {1, 40}, [&, of = f](const Reference& x) { return each(x, of); }, 3);
  }
  for (const auto& [op, f] : {std::pair<std::string, long double (*)(long double)>{
                                  "Log", [](long double x) { return std::log(x); }},
                              {"Sqrt", [](long double x) { return std::sqrt(x); }}}) {
    Graph graph({40});
    graph.node("Abs", {"x"}, {"a"}).node(op, {"a"}, {"y"});
    expect_computes(graph, {1, 40}, [&, of = f](const Reference& x) {
      return each(each(x, [](long double a) { return std::abs(a); }), of);
    });
  }
}

TEST(GraphNumbers, ClipTakesItsEndsAsInputsAndRefusesThoseTheWrongWayRound) {
  Graph graph({20});
  graph.numbers("low", {}, {-0.5}).numbers("high", {}, {0.25});
  graph.node("Clip", {"x", "low", "high"}, {"y"});
  expect_computes(graph, {1, 20}, [](const Reference& x) {
    return each(x, [](long double a) { return std::clamp(a, -0.5L, 0.25L); });
  });
  graph.graph.nodes[0].inputs = {"x", "", "high"};
  expect_computes(graph, {1, 20}, [](const Reference& x) {
    return each(x, [](long double a) { return std::min(a, 0.25L); });
  });
  graph.graph.nodes[0].inputs = {"x", "high", "low"};
  EXPECT_REFUSED(graph, "the Clip", "least number is above its largest");
}

TEST(GraphNumbers, TwoValuesAreSpreadToOneShape) {
  const Doubles c = drawn(6, 12);
  const std::vector<std::pair<std::string, long double (*)(long double, long double)>> ops{
      {"Add", [](long double a, long double b) { return a + b; }},
      {"Sub", [](long double a, long double b) { return a - b; }},
      {"Mul", [](long double a, long double b) { return a * b; }},
      {"Div", [](long double a, long double b) { return a / b; }},
      {"Max", [](long double a, long double b) { return std::max(a, b); }},
      {"Min", [](long double a, long double b) { return std::min(a, b); }},
      {"PRelu", [](long double a, long double b) { return a < 0 ? a * b : a; }}};
  for (const auto& [op, f] : ops) {
    SCOPED_TRACE(op);
    Graph graph({2, 1});  // beside 3 x 1 x 2 x 3 with a number for two axes: 2 x 3
    graph.numbers("c", {1, 1, 3}, {c[0], c[1], c[2]});
    graph.node(op, {"x", "c"}, {"y"});
    expect_computes(graph, {1, 2, 3}, [&, of = f](const Reference& x) {
      Reference y;
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t k = 0; k < 3; ++k) y.push_back(of(x[i], c[k]));
      return y;
    });
    if (op == "PRelu") continue;
    Graph other({3});  // the constant first, and of more axes
    other.numbers("c", {2, 1, 3}, c).node(op, {"c", "x"}, {"y"});
    expect_computes(other, {2, 1, 3}, [&, of = f](const Reference& x) {
      Reference y;
      for (std::size_t k = 0; k < 6; ++k) y.push_back(of(c[k], x[k % 3]));
      return y;
    });
  }
  Graph graph({2});
  graph.numbers("c", {3}, {1, 2, 3}).node("Add", {"x", "c"}, {"y"});
  EXPECT_REFUSED(graph, "the Add", "do not fit together");
  Graph mixed({2});
  mixed.numbers("c", {2}, {1, 2}, OnnxType::float32).node("Mul", {"x", "c"}, {"y"});
  EXPECT_REFUSED(mixed, "the Mul", "mixes float64 and float32");
}

TEST(GraphNumbers, AnyNumberOfValuesAreAdded) {
  Graph graph({2, 3});
  graph.numbers("c", {3}, {1, 2, 3}).numbers("one", {1}, {1e8});
  graph.node("Sum", {"x", "c", "one", "x"}, {"y"});
  expect_computes(graph, {1, 2, 3}, [](const Reference& x) {
    Reference y;
    for (std::size_t k = 0; k < x.size(); ++k)
      y.push_back(2 * x[k] + static_cast<long double>(k % 3 + 1) + 1e8L);
    return y;
  });
  Graph alone({2});
  alone.node("Sum", {"x"}, {"y"});
  expect_computes(alone, {1, 2}, [](const Reference& x) { return x; });
}

TEST(GraphNumbers, PowersAreSmallWholeOnesAndRoots) {
  for (const double power : {1.0, 2.0, 3.0, 8.0}) {
    Graph graph({4}), of_integers({4});
    graph.numbers("p", {}, {power}).node("Pow", {"x", "p"}, {"y"});
    of_integers.integers("p", {static_cast<std::int64_t>(power)}).node("Pow", {"x", "p"}, {"y"});
    const auto oracle = [&](const Reference& x) {
      Reference y;
      for (const long double one : x) y.push_back(std::pow(one, static_cast<long double>(power)));
      return y;
    };
    expect_computes(graph, {1, 4}, oracle);
    expect_computes(of_integers, {1, 4}, oracle);
  }
  Graph graph({1});
  graph.numbers("p", {}, {0.5}).node("Pow", {"x", "p"}, {"y"});
  EXPECT_EQ(graph.at(RowMatrix::Constant(1, 1, 4)).f(0, 0), 2);
  EXPECT_EQ(graph.at(RowMatrix::Constant(1, 1, -4)).error(0, 0), kInfinite);
  graph.numbers("p", {}, {-1});
  EXPECT_REFUSED(graph, "the Pow", "not -1");
  graph.numbers("p", {1, 1, 1}, {2});  // which would give the result its axes
  EXPECT_REFUSED(graph, "the Pow", "axes");
}

// ---- along axes ----

TEST(GraphReductions, TakeAxesFromAttributesOrInputsAndKeepThemOrNot) {
  const std::vector<std::pair<std::string, long double (*)(long double, long double, long double)>> ops{
      {"ReduceSum", [](long double a, long double b, long double c) { return a + b + c; }},
      {"ReduceMean", [](long double a, long double b, long double c) { return (a + b + c) / 3; }},
      {"ReduceMax",
       [](long double a, long double b, long double c) {
         return std::max({a, b, c});
       }},
      {"ReduceMin",
       [](long double a, long double b, long double c) {
         return std::min({a, b, c});
       }},
      {"ReduceSumSquare", [](long double a, long double b, long double c) { return a * a + b * b + c * c; }},
      {"ReduceL2",
       [](long double a, long double b, long double c) { return std::sqrt(a * a + b * b + c * c); }}};
  for (const auto& [op, f] : ops)
    for (const bool keep : {false, true})
      for (const bool input : {false, true}) {
        SCOPED_TRACE(op);
        Graph graph({3, 2}, input ? 18 : 11);
        graph.integers("axes", {-2});
        Attributes attributes{{"keepdims", whole(keep)}};
        if (!input) attributes["axes"] = Integers{1};
        graph.node(op, input ? std::vector<std::string>{"x", "axes"} : std::vector<std::string>{"x"}, {"y"},
                   attributes);
        expect_computes(graph, keep ? Shape{1, 1, 2} : Shape{1, 2}, [&, of = f](const Reference& x) {
          return Reference{of(x[0], x[2], x[4]), of(x[1], x[3], x[5])};
        });
      }
  Graph all({3});
  all.node("ReduceSum", {"x"}, {"y"}, {{"keepdims", whole(0)}});
  expect_computes(all, {}, [](const Reference& x) { return Reference{x[0] + x[1] + x[2]}; });
  Graph none({3});
  none.node("ReduceSum", {"x"}, {"y"}, {{"noop_with_empty_axes", whole(1)}});
  expect_computes(none, {1, 3}, [](const Reference& x) { return x; });
  Graph square({3});  // of which versions of runtimes differ
  square.node("ReduceSumSquare", {"x"}, {"y"}, {{"noop_with_empty_axes", whole(1)}});
  EXPECT_REFUSED(square, "the ReduceSumSquare", "axes");
  Graph bad({3});
  bad.integers("axes", {2}).node("ReduceSum", {"x", "axes"}, {"y"});
  EXPECT_REFUSED(bad, "the ReduceSum", "its axis 2 is none of 2");
}

// ---- moves ----

// y is x at these places; -1: 0.
void expect_moves(const Graph& graph, const Shape& shape, const std::vector<int>& places) {
  const RowMatrix X = test::drawn_points(2, graph.d(), 13);
  const Enclosures found = graph.at(X);
  EXPECT_EQ(found.shape, shape);
  ASSERT_EQ(found.f.cols(), std::ssize(places));
  EXPECT_EQ(found.error.maxCoeff(), 0);
  for (Index i = 0; i < 2; ++i)
    for (Index k = 0; k < found.f.cols(); ++k) {
      const int place = places[static_cast<std::size_t>(k)];
      EXPECT_EQ(found.f(i, k), place < 0 ? 0 : X(i, place)) << k;
    }
}

Graph sliced(const Shape& shape, const Integers& starts, const Integers& ends, const Integers& axes,
             const Integers& steps) {
  Graph graph(shape);
  graph.integers("s", starts).integers("e", ends).integers("a", axes).integers("t", steps);
  graph.node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
  return graph;
}

TEST(GraphMoves, SlicesStepForwardsAndBackwards) {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max(),
                         back = std::numeric_limits<std::int64_t>::min();
  expect_moves(sliced({5}, {1}, {4}, {1}, {1}), {1, 3}, {1, 2, 3});
  expect_moves(sliced({5}, {-2}, {far}, {-1}, {1}), {1, 2}, {3, 4});
  expect_moves(sliced({5}, {0}, {far}, {1}, {2}), {1, 3}, {0, 2, 4});
  expect_moves(sliced({5}, {far}, {back}, {1}, {-1}), {1, 5}, {4, 3, 2, 1, 0});
  expect_moves(sliced({5}, {-1}, {0}, {1}, {-2}), {1, 2}, {4, 2});
  expect_moves(sliced({5}, {3}, {-6}, {1}, {-3}), {1, 2}, {3, 0});
  expect_moves(sliced({2, 3}, {1, 2}, {2, back}, {1, 2}, {1, -2}), {1, 1, 2}, {5, 3});
  EXPECT_REFUSED(sliced({5}, {3}, {3}, {1}, {1}), "the Slice", "takes nothing");
  EXPECT_REFUSED(sliced({5}, {0}, {3}, {1}, {0}), "the Slice", "a step of 0");
  EXPECT_REFUSED(sliced({5}, {0}, {3}, {1}, {back}), "the Slice", "a step of");
  EXPECT_REFUSED(sliced({5}, {0}, {3}, {2}, {1}), "the Slice", "its axis 2 is none of 2");
  EXPECT_REFUSED(sliced({5}, {0, 0}, {3, 3}, {1, -1}, {1, 1}), "the Slice", "an axis twice");
  Graph old({4}, 9);
  old.node("Slice", {"x"}, {"y"}, {{"starts", Integers{1}}, {"ends", Integers{-1}}, {"axes", Integers{1}}});
  expect_moves(old, {1, 2}, {1, 2});
}

TEST(GraphMoves, SplitsInPartsThatAreNamedOrEven) {
  Graph graph({5});
  graph.integers("parts", {2, 3}).node("Split", {"x", "parts"}, {"a", "y"}, {{"axis", whole(-1)}});
  expect_moves(graph, {1, 3}, {2, 3, 4});
  Graph even({5}, 18);  // the last part is smaller
  even.node("Split", {"x"}, {"a", "y"}, {{"axis", whole(1)}, {"num_outputs", whole(2)}});
  expect_moves(even, {1, 2}, {3, 4});
  Graph old({4}, 11);
  old.node("Split", {"x"}, {"y", "b"}, {{"axis", whole(1)}, {"split", Integers{3, 1}}});
  expect_moves(old, {1, 3}, {0, 1, 2});
  for (const Integers& parts : {Integers{2, 2}, Integers{2, 3, 0}, Integers{6, -1}}) {
    graph.integers("parts", parts);
    EXPECT_REFUSED(graph, "the Split");
  }
}

TEST(GraphMoves, PadsWithANumberTheEdgeOrAMirror) {
  const auto padded = [](const Shape& shape, const char* mode, const Integers& pads) {
    Graph graph(shape);
    graph.integers("pads", pads).node("Pad", {"x", "pads"}, {"y"}, {{"mode", std::string(mode)}});
    return graph;
  };
  expect_moves(padded({3}, "constant", {0, 2, 0, 1}), {1, 6}, {-1, -1, 0, 1, 2, -1});
  expect_moves(padded({3}, "edge", {0, 2, 0, 1}), {1, 6}, {0, 0, 0, 1, 2, 2});
  expect_moves(padded({3}, "reflect", {0, 2, 0, 1}), {1, 6}, {2, 1, 0, 1, 2, 1});
  expect_moves(padded({2, 2}, "constant", {0, 1, 0, 0, 0, 1}), {1, 3, 3}, {-1, -1, -1, 0, 1, -1, 2, 3, -1});
  EXPECT_REFUSED(padded({3}, "reflect", {0, 5, 0, 0}), "the Pad", "reflects more than there is");
  EXPECT_REFUSED(padded({3}, "wrap", {0, 1, 0, 0}), "the Pad", "mode 'wrap' is not read");
  EXPECT_REFUSED(padded({3}, "constant", {0, -1, 0, 0}), "the Pad", "pads below 0");
  EXPECT_REFUSED(padded({3}, "constant", {0, 1}), "the Pad", "not two for each axis");
  Graph filled({1});
  filled.integers("pads", {0, 1}).numbers("fill", {}, {2.5}).integers("axes", {-1});
  filled.node("Pad", {"x", "pads", "fill", "axes"}, {"y"});
  expect_computes(filled, {1, 2}, [](const Reference& x) { return Reference{x[0], 2.5L}; });
  Graph old({1}, 9);
  old.node("Pad", {"x"}, {"y"}, {{"pads", Integers{0, 1, 0, 0}}, {"value", -0.5}});
  expect_computes(old, {1, 2}, [](const Reference& x) { return Reference{-0.5L, x[0]}; });
}

TEST(GraphMoves, GathersByIndicesOfAnyRankAndFromBehind) {
  Graph graph({2, 2});
  graph.integers("k", {1, -2}, {1, 2}).node("Gather", {"x", "k"}, {"y"}, {{"axis", whole(1)}});
  expect_moves(graph, {1, 1, 2, 2}, {2, 3, 0, 1});
  Graph one({3});
  one.integers("k", {-1}, {}).node("Gather", {"x", "k"}, {"y"}, {{"axis", whole(-1)}});
  expect_moves(one, {1}, {2});
  one.integers("k", {3}, {});
  EXPECT_REFUSED(one, "the Gather", "its index 3 is none of 3");
  one.integers("k", {-4}, {});
  EXPECT_REFUSED(one, "the Gather", "its index -4 is none of 3");
}

TEST(GraphMoves, GathersByRowsOfIndicesOfSeveralAxes) {
  const RowMatrix X = drawn_points(2, 12, 5);
  Graph graph({3, 4});
  graph.integers("k", {0, 2, 1, -1, 0, -1}, {2, 3}).node("GatherND", {"x", "k"}, {"y"});
  const Enclosures one = graph.at(X);
  EXPECT_EQ(one.shape, (Shape{2}));
  EXPECT_EQ(RowMatrix(one.f), RowMatrix(X(Eigen::all, std::vector<Index>{9, 3})));
  graph.integers("k", {0, 2, 0, -3}, {2, 1, 2});
  const Enclosures rows = graph.at(X);
  EXPECT_EQ(rows.shape, (Shape{2, 1, 4}));
  EXPECT_EQ(RowMatrix(rows.f), RowMatrix(X(Eigen::all, std::vector<Index>{8, 9, 10, 11, 0, 1, 2, 3})));
  graph.integers("k", {0, 3}, {1, 2});
  EXPECT_REFUSED(graph, "the GatherND", "its index 3 is none of 3");
  graph.integers("k", {0, 0, 0, 0}, {1, 4});
  EXPECT_REFUSED(graph, "the GatherND", "name more axes than there are");
}

TEST(GraphMoves, ConcatenatesTransposesAndExpands) {
  Graph joined({2, 1});
  joined.numbers("c", {1, 2, 1}, {0, 0}).node("Concat", {"x", "c", "x"}, {"y"}, {{"axis", whole(-1)}});
  expect_moves(joined, {1, 2, 3}, {0, -1, 0, 1, -1, 1});
  Graph turned({2, 3});
  turned.node("Transpose", {"x"}, {"y"}, {{"perm", Integers{2, 0, 1}}});
  expect_moves(turned, {3, 1, 2}, {0, 3, 1, 4, 2, 5});
  turned.graph.nodes[0].attributes.clear();
  expect_moves(turned, {3, 2, 1}, {0, 3, 1, 4, 2, 5});
  turned.graph.nodes[0].attributes = {{"perm", Integers{0, 0, 1}}};
  EXPECT_REFUSED(turned, "the Transpose", "an axis twice");
  Graph spread({2, 1});
  spread.integers("s", {3, 1, 1, 2}).node("Expand", {"x", "s"}, {"y"});
  expect_moves(spread, {3, 1, 2, 2}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1});
  spread.integers("s", {3, 2});
  EXPECT_REFUSED(spread, "the Expand", "does not fit");
}

TEST(GraphMoves, ReshapesKeepsSizesAndFindsTheOpenOne) {
  const auto reshaped = [](const Integers& to, const Attributes& attributes = {}) {
    Graph graph({2, 3});
    graph.integers("s", to).node("Reshape", {"x", "s"}, {"y"}, attributes);
    return graph;
  };
  const std::vector<int> all{0, 1, 2, 3, 4, 5};
  expect_moves(reshaped({0, -1}), {1, 6}, all);
  expect_moves(reshaped({-1, 0}), {3, 2}, all);
  expect_moves(reshaped({6}), {6}, all);
  expect_moves(reshaped({0, 0, 3, -1}), {1, 2, 3, 1}, all);
  EXPECT_REFUSED(reshaped({4}), "the Reshape", "makes 4 numbers of 6");
  EXPECT_REFUSED(reshaped({4, -1}), "the Reshape", "of 6");
  EXPECT_REFUSED(reshaped({-1, -1}), "the Reshape", "two sizes open");
  EXPECT_REFUSED(reshaped({-2, 3}), "the Reshape", "a size of -2");
  EXPECT_REFUSED(reshaped({1, 2, 3, 0}), "the Reshape", "an axis that is not there");
  EXPECT_REFUSED(reshaped({0, 6}, {{"allowzero", whole(1)}}), "the Reshape", "a shape without numbers");
  EXPECT_REFUSED(reshaped({std::int64_t{1} << 40, 1 << 30, 1 << 30}), "the Reshape", "too large");
}

TEST(GraphMoves, TrianglesKeepWhatIsOnTheirSideOfADiagonal) {
  for (const std::int64_t k : {-1, 0, 1, 5})
    for (const bool upper : {true, false}) {
      Graph graph({2, 3});
      graph.integers("k", {k}).node("Trilu", {"x", "k"}, {"y"}, {{"upper", whole(upper ? 1 : 0)}});
      expect_computes(graph, {1, 2, 3}, [&](const Reference& x) {
        Reference y;
        for (std::int64_t place = 0; place < 6; ++place) {
          const std::int64_t right = place % 3 - place / 3;
          y.push_back((upper ? right >= k : right <= k) ? x[static_cast<std::size_t>(place)] : 0);
        }
        return y;
      });
    }
}

// A mask of minus infinity, or of the least number of its type, in front of a softmax.
TEST(GraphReductions, WhatIsMaskedHasNoPartInASoftmax) {
  for (const double hidden : {-std::numeric_limits<double>::infinity(), -3.4028234663852886e38}) {
    Graph graph({3, 3});
    graph.numbers("W", {3, 3}, drawn(9, 5));
    graph.numbers("mask", {3, 3}, {0, hidden, hidden, 0, 0, hidden, 0, 0, 0});
    graph
        .node("MatMul", {"x", "W"}, {"scores"})  // with an error, which a mask of numbers makes a large one
        .node("Add", {"scores", "mask"}, {"masked"})
        .node("Softmax", {"masked"}, {"y"}, {{"axis", whole(-1)}});
    const Doubles W = drawn(9, 5);
    expect_computes(graph, {1, 3, 3}, [&](const Reference& x) {
      Reference y(9, 0);
      for (std::size_t i = 0; i < 3; ++i) {
        long double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          long double score = 0;
          for (std::size_t t = 0; t < 3; ++t) score += x[3 * i + t] * W[3 * t + j];
          sum += y[3 * i + j] = std::exp(score);
        }
        for (std::size_t j = 0; j <= i; ++j) y[3 * i + j] /= sum;
      }
      return y;
    });
  }
  // Of nothing but what is masked there is no softmax, and no sum of both infinities.
  Graph all({2});
  all.numbers("mask", {2},
              {-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()});
  all.node("Add", {"x", "mask"}, {"masked"}).node("Softmax", {"masked"}, {"y"});
  EXPECT_FALSE((all.at(drawn_points(1, 2, 3)).error.array() < std::numeric_limits<double>::infinity()).any());
  for (const char* behind : {"Mul", "Sub"}) {
    Graph other({2});
    other.numbers("mask", {2}, {-std::numeric_limits<double>::infinity(), 0});
    other.node("Add", {"x", "mask"}, {"masked"}).node(behind, {"masked", "masked"}, {"y"});
    const Enclosures found = other.at(drawn_points(1, 2, 3));
    EXPECT_FALSE(std::isfinite(found.error(0, 0))) << behind;
    EXPECT_TRUE(std::isfinite(found.error(0, 1))) << behind;
  }
}

TEST(GraphMoves, AxesOfOneComeAndGoByAttributeOrInput) {
  const auto made = [](const char* op, const Integers& axes, bool input, const Shape& shape) {
    Graph graph(shape, input ? 13 : 11);
    graph.integers("a", axes);
    graph.node(op, input ? std::vector<std::string>{"x", "a"} : std::vector<std::string>{"x"}, {"y"},
               input ? Attributes{} : Attributes{{"axes", axes}});
    return graph;
  };
  for (const bool input : {false, true}) {
    expect_moves(made("Squeeze", {2}, input, {2, 1}), {1, 2}, {0, 1});
    expect_moves(made("Squeeze", {0, -1}, input, {2, 1}), {2}, {0, 1});
    expect_moves(made("Unsqueeze", {1, -1}, input, {2}), {1, 1, 2, 1}, {0, 1});
    EXPECT_REFUSED(made("Squeeze", {1}, input, {2, 1}), "the Squeeze", "longer than 1");
    EXPECT_REFUSED(made("Unsqueeze", {1, 1}, input, {2}), "the Unsqueeze", "an axis twice");
    EXPECT_REFUSED(made("Unsqueeze", {4}, input, {2}), "the Unsqueeze", "its axis 4 is none of 3");
  }
  Graph flat({2, 3});
  flat.node("Flatten", {"x"}, {"y"}, {{"axis", whole(2)}});
  expect_moves(flat, {2, 3}, {0, 1, 2, 3, 4, 5});
  flat.graph.nodes[0].attributes = {{"axis", whole(3)}};
  expect_moves(flat, {6, 1}, {0, 1, 2, 3, 4, 5});
}

TEST(GraphMoves, DropoutIsNothingUnlessItTrains) {
  Graph graph({2});
  graph.numbers("ratio", {}, {0.5}).integers("training", {0}, {}, OnnxType::boolean);
  graph.node("Dropout", {"x", "ratio", "training"}, {"y", "mask"});
  expect_moves(graph, {1, 2}, {0, 1});
  graph.integers("training", {1}, {}, OnnxType::boolean);
  EXPECT_REFUSED(graph, "the Dropout", "dropout as in training");
}

// ---- types and whole numbers ----

TEST(GraphTypes, WholeNumbersOfShapesAreComputed) {
  const auto computed = [](const char* op, std::int64_t a, std::int64_t b, OnnxType type = OnnxType::int64) {
    Graph graph({1});
    graph.integers("a", {a}, {1}, type).integers("b", {b}, {1}, type).node(op, {"a", "b"}, {"c"});
    graph.node("Cast", {"c"}, {"r"}, {{"to", whole(11)}}).node("Add", {"x", "r"}, {"y"});
    return graph;
  };
  const auto result = [&](const char* op, std::int64_t a, std::int64_t b) {
    return computed(op, a, b).at(RowMatrix::Zero(1, 1)).f(0, 0);
  };
  EXPECT_EQ(result("Add", 7, -9), -2);
  EXPECT_EQ(result("Sub", 7, -9), 16);
  EXPECT_EQ(result("Mul", 7, -9), -63);
  EXPECT_EQ(result("Div", 7, 2), 3);
  EXPECT_EQ(result("Div", -7, 2), -3);  // towards 0
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                         least = std::numeric_limits<std::int64_t>::min();
  EXPECT_REFUSED(computed("Add", most, 1), "the Add", "overflow");
  EXPECT_REFUSED(computed("Sub", least, 1), "the Sub", "overflow");
  EXPECT_REFUSED(computed("Mul", most, 2), "the Mul", "overflow");
  EXPECT_REFUSED(computed("Div", 1, 0), "the Div", "overflow");
  EXPECT_REFUSED(computed("Div", least, -1), "the Div", "overflow");
  EXPECT_REFUSED(computed("Add", 1 << 30, 1 << 30, OnnxType::int32), "the Add", "overflow");
  EXPECT_REFUSED(computed("Add", (std::int64_t{1} << 53), 1), "the Cast",
                 "a whole number that its type has not");
}

// y = where(c, x, -x), c of whole numbers that are computed.
TEST(GraphLogic, ConstantsOfTruthChooseNumbers) {
  Graph graph({2, 3});
  graph.integers("start", {0}, {}).integers("limit", {6}, {}).integers("step", {1}, {});
  graph.integers("three", {3}, {}).integers("one", {1}, {}).integers("shape", {2, 3});
  graph
      .node("Range", {"start", "limit", "step"}, {"k"})  // 0 .. 5
      .node("Mod", {"k", "three"}, {"rest"})             // 0 1 2 0 1 2
      .node("Equal", {"rest", "one"}, {"is"})            // at 1 and 4
      .node("Less", {"k", "three"}, {"low"})             // 0 .. 2
      .node("Not", {"low"}, {"high"})                    // 3 .. 5
      .node("And", {"is", "low"}, {"both"})              // 1
      .node("Or", {"both", "high"}, {"any"})             // 1, 3 .. 5
      .node("Reshape", {"any", "shape"}, {"c"})
      .node("Neg", {"x"}, {"minus"})
      .node("Where", {"c", "x", "minus"}, {"y"});
  expect_computes(graph, {1, 2, 3},
                  [](const Reference& x) { return Reference{-x[0], x[1], -x[2], x[3], x[4], x[5]}; });
}

TEST(GraphLogic, WholeNumbersAreChosenAndScattered) {
  Graph graph({4});
  graph.integers("c", {1, 0}, {2}, OnnxType::boolean).integers("a", {2, 5}).integers("b", {7, 2});
  graph.node("Where", {"c", "a", "b"}, {"shape"});  // 2, 2
  graph.node("Reshape", {"x", "shape"}, {"z"}).integers("where", {-1, 1, 0, 0}, {2, 2});
  graph.numbers("put", {2}, {0.5, -0.25}).node("ScatterND", {"z", "where", "put"}, {"w"});
  graph.integers("times", {1, 2}).node("Tile", {"w", "times"}, {"y"});
  expect_computes(graph, {2, 4}, [](const Reference& x) {
    return Reference{-0.25L, x[1], -0.25L, x[1], x[2], 0.5L, x[2], 0.5L};
  });
  graph.integers("where", {0, 0, 0, 0}, {2, 2});
  EXPECT_REFUSED(graph, "the ScatterND", "two numbers at one place");
  graph.integers("where", {0, 2, 0, 0}, {2, 2});
  EXPECT_REFUSED(graph, "the ScatterND", "its index 2 is none of 2");
}

TEST(GraphLogic, RestsHaveTheSignOfTheDivisor) {
  Graph graph({4});
  graph.integers("a", {7, -7, 7, -7})
      .integers("b", {3, 3, -3, -3})
      .node("Mod", {"a", "b"}, {"r"});  // 1 2 -2 -1
  graph.node("Cast", {"r"}, {"f"}, {{"to", whole(11)}}).node("Mul", {"x", "f"}, {"y"});
  expect_computes(graph, {1, 4}, [](const Reference& x) {
    return Reference{x[0], 2 * x[1], -2 * x[2], -x[3]};
  });
  graph.integers("b", {0, 3, -3, -3});
  EXPECT_REFUSED(graph, "the Mod", "a rest of a division by 0");
  Graph varying({4});
  varying.node("Equal", {"x", "x"}, {"c"}).node("Where", {"c", "x", "x"}, {"y"});
  EXPECT_REFUSED(varying, "the Equal", "is no exact constant");
}

// Behind many maps and products the norm decides: entrywise bounds grow by the root of the width at each map.
TEST(GraphNumbers, NormsOfProductsQuotientsAndMeansStaySmallInDepth) {
  constexpr Index d = 64;
  constexpr int kDeep = 12;
  Graph graph({d});
  graph.integers("axes", {1}).numbers("two", {1, d}, Doubles(d, 2));
  std::string at = "x";
  for (int k = 0; k < kDeep; ++k) {
    const std::string n = std::to_string(k);
    Doubles W = drawn(d * d, 100 + static_cast<unsigned>(k), 1 / std::sqrt(static_cast<double>(d)));
    graph.numbers("W" + n, {d, d}, W).node("MatMul", {at, "W" + n}, {"z" + n});
    graph.node("Sigmoid", {"z" + n}, {"s" + n}).node("Mul", {"z" + n, "s" + n}, {"g" + n});
    graph.node("Mul", {"g" + n, "two"}, {"m" + n}).node("ReduceMean", {"m" + n, "axes"}, {"mean" + n});
    graph.node("Sub", {"m" + n, "mean" + n}, {"c" + n}).node("Div", {"c" + n, "two"}, {"q" + n});
    at = "q" + n;
  }
  graph.node("Mul", {at, "two"}, {"y"});
  const RowMatrix X = drawn_points(2, d, 12);
  const Enclosures found = graph.at(X), precise = graph.at(X, Execution::precise);
  EXPECT_LT(found.error.maxCoeff(), 1e-8);  // a goal: norms grow by some 3.5 at each map
  EXPECT_LE((found.f - precise.f).cwiseAbs().maxCoeff(), (found.error + precise.error).maxCoeff());
}

TEST(GraphTypes, ShapesAndSizesAreThoseOfOneSample) {
  Graph graph({2, 3});
  graph.node("Shape", {"x"}, {"s"}, {{"start", whole(1)}}).node("Size", {"x"}, {"k"});
  graph.integers("axis", {0})
      .node("Unsqueeze", {"k", "axis"}, {"l"})
      .node("Concat", {"s", "l"}, {"c"}, {{"axis", whole(0)}});
  graph.node("Cast", {"c"}, {"r"}, {{"to", whole(11)}})
      .node("ReduceSum", {"x"}, {"t"})
      .node("Add", {"r", "t"}, {"y"});
  const Enclosures found = graph.at(RowMatrix::Zero(1, 6));
  EXPECT_EQ(found.f, (Matrix(1, 3) << 2, 3, 6).finished());
}

TEST(GraphTypes, CastsAreExactInRealArithmeticAndRoundedByARuntime) {
  Graph graph({1});
  graph.node("Cast", {"x"}, {"s"}, {{"to", whole(1)}}).node("Cast", {"s"}, {"y"}, {{"to", whole(11)}});
  const RowMatrix X = RowMatrix::Constant(1, 1, 0.1);
  EXPECT_EQ(graph.at(X).error(0, 0), 0);
  const Enclosures run = graph.at(X, Execution::float32);
  EXPECT_LE(std::abs(static_cast<double>(0.1F) - run.f(0, 0)), run.error(0, 0));
  EXPECT_LT(run.error(0, 0), 1.01 * 0x1p-24 * 0.1);  // one rounding to float32
  EXPECT_EQ(graph.at(RowMatrix::Constant(1, 1, 1e39), Execution::float32).error(0, 0), kInfinite);
  // bfloat16 holds what float16 does not.
  Graph half({1}, 21, OnnxType::bfloat16);
  half.node("Cast", {"x"}, {"y"}, {{"to", whole(10)}});
  EXPECT_EQ(half.at(RowMatrix::Constant(1, 1, 1e30), Execution::float32).error(0, 0), kInfinite);
  graph.graph.nodes[0].attributes = {{"to", whole(7)}};
  EXPECT_REFUSED(graph, "the Cast", "a cast of numbers to int64");
}

TEST(GraphTypes, InputsAreRoundedToTheirTypeByARuntimeAlone) {
  Graph graph({1}, 21, OnnxType::float32);
  graph.node("Identity", {"x"}, {"y"});
  EXPECT_EQ(graph.at(RowMatrix::Constant(1, 1, 0.1)).error(0, 0), 0);
  const Enclosures run = graph.at(RowMatrix::Constant(1, 1, 0.1), Execution::float32);
  EXPECT_LE(std::abs(static_cast<double>(0.1F) - 0.1), run.error(0, 0));
  EXPECT_EQ(graph.at(RowMatrix::Constant(1, 1, 0.5), Execution::float32).error(0, 0), 0);
}

TEST(GraphTypes, OperatorsThatAreNotKnownAreRefusedByTheNode) {
  Graph graph({1});
  graph.node("Unheard", {"x"}, {"y"});
  EXPECT_REFUSED(graph, "node 'the Unheard' (Unheard -> y): this operator is not known");
  graph.graph.nodes[0].domain = "com.microsoft";
  EXPECT_REFUSED(graph, "an operator of 'com.microsoft'");
  Graph inputs({1});
  inputs.node("Relu", {"x", "x"}, {"y"});
  EXPECT_REFUSED(inputs, "the Relu", "it has 2 inputs and takes 1");
  Graph unknown({1});
  unknown.node("Add", {"x", "nowhere"}, {"y"});
  EXPECT_REFUSED(unknown, "the Add", "'nowhere' is nothing that is known before");
  Graph whole_numbers({1}, 21, OnnxType::int64);
  whole_numbers.node("Relu", {"x"}, {"y"});
  EXPECT_MESSAGE(DataError, whole_numbers.at(RowMatrix::Ones(1, 1)), "the Relu", "is of int64");
}

// ---- ai.onnx.ml ----

TEST(GraphLearning, ScalersRegressorsAndCategories) {
  constexpr const char* ml = "ai.onnx.ml";
  Graph scaler({2}, 15, OnnxType::float32);
  scaler.node("Scaler", {"x"}, {"y"}, {{"offset", Doubles{1, 2}}, {"scale", Doubles{0.5}}}, ml);
  expect_computes(scaler, {1, 2}, [](const Reference& x) {
    return Reference{(x[0] - 1) / 2, (x[1] - 2) / 2};
  });
  Graph linear({2}, 15, OnnxType::float32);
  linear.node("LinearRegressor", {"x"}, {"y"},
              {{"coefficients", Doubles{1, 2, 3, 4}}, {"intercepts", Doubles{5, 6}}, {"targets", whole(2)}},
              ml);
  expect_computes(linear, {1, 2}, [](const Reference& x) {
    return Reference{x[0] + 2 * x[1] + 5, 3 * x[0] + 4 * x[1] + 6};
  });
  Graph norm({2}, 15, OnnxType::float32);
  norm.node("Normalizer", {"x"}, {"y"}, {{"norm", std::string("L2")}}, ml);
  expect_computes(norm, {1, 2}, [](const Reference& x) {
    const long double length = std::hypot(x[0], x[1]);
    return Reference{x[0] / length, x[1] / length};
  });
  Graph hot({1}, 15, OnnxType::int64);
  hot.node("OneHotEncoder", {"x"}, {"y"}, {{"cats_int64s", Integers{3, 5}}, {"zeros", whole(0)}}, ml);
  EXPECT_EQ(hot.at(RowMatrix::Constant(1, 1, 5)).f, (Matrix(1, 2) << 0, 1).finished());
  EXPECT_MESSAGE(DataError, hot.at(RowMatrix::Constant(1, 1, 4)), "the OneHotEncoder",
                 "4 is none of its categories");
  EXPECT_MESSAGE(DataError, hot.at(RowMatrix::Constant(1, 1, 4.5)), "not all numbers of the points are");
}

}  // namespace
}  // namespace zeroloss::internal::graph
