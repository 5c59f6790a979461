#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/evaluate.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

/// Graphs without a file, and what they compute against numbers of 80 bits.
namespace zeroloss::internal::graph::test {

using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;
using Reference = std::vector<long double>;
using Attributes = decltype(OnnxNode::attributes);

/// An attribute of a whole number.
inline std::int64_t whole(std::int64_t k) { return k; }

/// A graph from x to y.
class Graph {
 public:
  /// `shape` is that of a sample, behind the batch.
  explicit Graph(Shape shape = {2}, std::int64_t version = 21, OnnxType type = OnnxType::float64)
      : type_(type) {
    graph.version = version;
    sizes = {1};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    graph.inputs = {{.name = "x", .shape = sizes, .type = type}};
    graph.outputs = {"y"};
  }
  Graph& numbers(const std::string& name, const Shape& shape, const Doubles& values) {
    return numbers(name, shape, values, type_);
  }
  Graph& numbers(const std::string& name, const Shape& shape, const Doubles& values, OnnxType type) {
    graph.numbers[name] = {.name = name, .shape = shape, .values = values, .type = type};
    return *this;
  }
  /// Of one axis.
  Graph& integers(const std::string& name, const Integers& values) {
    return integers(name, values, {std::ssize(values)});
  }
  Graph& integers(const std::string& name, const Integers& values, const Shape& shape,
                  OnnxType type = OnnxType::int64) {
    graph.numbers[name] = {.name = name,
                           .shape = shape,
                           .values = Doubles(values.begin(), values.end()),
                           .type = type,
                           .integers = values};
    return *this;
  }
  Graph& texts(const std::string& name, const std::vector<std::string>& values) {
    graph.texts[name] = values;
    graph.text_shapes[name] = {std::ssize(values)};
    return *this;
  }
  Graph& node(const std::string& op, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs, const Attributes& attributes = {},
              const std::string& domain = "") {
    graph.nodes.push_back({.op = op,
                           .name = "the " + op,
                           .domain = domain,
                           .inputs = inputs,
                           .outputs = outputs,
                           .attributes = attributes});
    return *this;
  }
  Enclosures at(const RowMatrix& X, Execution execution = Execution::exact,
                const std::string& name = "y") const {
    Memory memory;
    Progress silent;
    return enclosures(graph, name, sizes, X, execution, memory, silent);
  }
  Index d() const { return count_of(sizes); }

  OnnxGraph graph;
  Shape sizes;  ///< of a sample with its batch of one

 private:
  OnnxType type_;
};

/// Numbers that float32 holds, of some size.
inline Doubles drawn(Index count, unsigned seed, double scale = 1) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal(0, scale);
  Doubles values(static_cast<std::size_t>(count));
  for (double& x : values) x = static_cast<double>(static_cast<float>(normal(bits)));
  return values;
}
inline RowMatrix drawn_points(Index n, Index d, unsigned seed, double scale = 1) {
  const Doubles values = drawn(n * d, seed, scale);
  return Eigen::Map<const RowMatrix>(values.data(), n, d);
}

/// What y is of the sample x, its numbers in order.
using Oracle = std::function<Reference(const Reference& x)>;

/// The numbers are within their bounds of the reference, which is off by some 2^-60 of its largest itself,
/// and the bounds are small: below 1e-9 of the largest.
inline void expect_encloses(const Enclosures& found, const RowMatrix& X, const Oracle& oracle) {
  for (Index i = 0; i < X.rows(); ++i) {
    const Reference y = oracle(Reference(X.row(i).begin(), X.row(i).end()));
    ASSERT_EQ(std::ssize(y), found.f.cols());
    long double largest = 1;
    for (const long double one : y) largest = std::max(largest, std::abs(one));
    for (Index k = 0; k < found.f.cols(); ++k) {
      const long double off =
          std::abs(static_cast<long double>(found.f(i, k)) - y[static_cast<std::size_t>(k)]);
      const auto error = static_cast<long double>(found.error(i, k));
      // The reference: some sixteen roundings of 2^-64.
      EXPECT_LE(off, error + 0x1p-60L * largest) << "output " << k;
      // A goal.
      EXPECT_LT(error, 1e-9L * largest) << "output " << k;
    }
  }
}

/// Likewise, of a few samples that are drawn, and the shape of what comes out behind the batch.
inline void expect_computes(const Graph& graph, const Shape& shape, const Oracle& oracle, double scale = 1) {
  const RowMatrix X = drawn_points(3, graph.d(), 11, scale);
  const Enclosures found = graph.at(X);
  EXPECT_EQ(found.shape, shape);
  expect_encloses(found, X, oracle);
}

/// Refused with the node's name and these words.
#define EXPECT_REFUSED(graph, ...) \
  EXPECT_MESSAGE(DataError, (graph).at(RowMatrix::Constant(1, (graph).d(), 0.5)), __VA_ARGS__)

}  // namespace zeroloss::internal::graph::test
