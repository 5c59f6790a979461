#include <Eigen/QR>
#include <Eigen/SVD>
#include <numbers>

#include "graph/convolution_norm.hpp"
#include "graph/graphs.hpp"
#include "support/bounds.hpp"
#include "zeroloss/base/threads.hpp"

// Bounds of deep graphs, norms of convolutions, and what results depend on.
namespace zeroloss::internal::graph {
namespace {

using test::Doubles;
using test::drawn;
using test::Graph;
using test::Integers;
using test::Reference;

constexpr Index kWidth = 64;

// Of normal numbers as He has them, or orthogonal and sqrt(2) times as long, which keeps lengths as well.
struct Layers {
  Layers(Index depth, bool orthogonal) : graph({kWidth}) {
    std::string from = "x";
    for (Index l = 0; l < depth; ++l) {
      const std::string k = std::to_string(l);
      RowMatrix W =
          test::drawn_points(kWidth, kWidth, 100 + static_cast<unsigned>(l), std::sqrt(2.0 / kWidth));
      if (orthogonal) W = std::sqrt(2.0) * Matrix(Eigen::HouseholderQR<Matrix>(W).householderQ());
      graph.numbers("W" + k, {kWidth, kWidth}, Doubles(W.data(), W.data() + W.size()));
      graph.node("Gemm", {from, "W" + k}, {"z" + k})
          .node("Relu", {"z" + k}, {l + 1 == depth ? "y" : "a" + k});
      from = "a" + k;
      weights.push_back(std::move(W));
    }
  }
  Reference operator()(Reference x) const {
    for (const RowMatrix& W : weights) {
      Reference y(kWidth, 0);
      for (Index k = 0; k < kWidth; ++k)
        for (Index j = 0; j < kWidth; ++j)
          y[static_cast<std::size_t>(j)] += x[static_cast<std::size_t>(k)] * W(k, j);
      for (long double& one : y) one = std::max(one, 0.0L);
      x = std::move(y);
    }
    return x;
  }
  // What errors of u each become where sizes alone are counted.
  double by_sizes() const {
    Vector e = Vector::Constant(kWidth, u);
    for (const RowMatrix& W : weights) e = W.cwiseAbs().transpose() * e;
    return e.maxCoeff();
  }

  Graph graph;
  std::vector<RowMatrix> weights;
};

void expect_within(const Layers& layers, double share) {
  const RowMatrix X = test::drawn_points(2, kWidth, 17);
  const Enclosures found = layers.graph.at(X);
  for (Index i = 0; i < 2; ++i) {
    const Reference y = layers(Reference(X.row(i).begin(), X.row(i).end()));
    for (Index k = 0; k < kWidth; ++k)
      EXPECT_LE(std::abs(found.f(i, k) - y[static_cast<std::size_t>(k)]),
                static_cast<long double>(found.error(i, k)));
    EXPECT_LT(found.error.row(i).maxCoeff(), share * found.f.row(i).maxCoeff());
  }
}

TEST(GraphDepth, ErrorsOfManyLayersGrowWithNormsAndNotWithSumsOfSizes) {
  // Goals, several times what came out; by sizes alone no digit is left of one of them, and 1% of the other.
  const Layers thirty(30, true), fifteen(15, false);
  EXPECT_GT(thirty.by_sizes(), 1e6);
  expect_within(thirty, 1e-6);
  EXPECT_GT(fifteen.by_sizes(), 1e-2);
  expect_within(fifteen, 1e-5);
}

TEST(GraphDepth, ErrorsOfConvolutionsAndSkipsOfManyLayersStaySmall) {
  // x + conv(relu(x)) twelve times: entrywise bounds would grow by 1 + sums of 36 sizes in each.
  Graph graph({4, 6, 6});
  std::string from = "x";
  std::vector<Doubles> kernels;
  double by_sizes = u;
  for (int l = 0; l < 12; ++l) {
    const std::string k = std::to_string(l);
    kernels.push_back(drawn(4 * 4 * 9, 200 + static_cast<unsigned>(l), 0.25));
    double sizes = 0;
    for (const double w : kernels.back()) sizes += std::abs(w) / 4;
    by_sizes *= 1 + sizes;
    graph.numbers("W" + k, {4, 4, 3, 3}, kernels.back());
    graph.node("Relu", {from}, {"r" + k});
    graph.node("Conv", {"r" + k, "W" + k}, {"c" + k}, {{"pads", Integers{1, 1, 1, 1}}});
    graph.node("Add", {"c" + k, from}, {l == 11 ? "y" : "a" + k});
    from = "a" + k;
  }
  const RowMatrix X = test::drawn_points(1, 144, 19);
  const Enclosures found = graph.at(X);
  Reference x(X.row(0).begin(), X.row(0).end());
  for (const Doubles& W : kernels) {
    Reference y = x;
    for (Index m = 0; m < 4; ++m)
      for (Index r = 0; r < 36; ++r)
        for (Index c = 0; c < 4; ++c)
          for (Index k = 0; k < 9; ++k) {
            const Index i = r / 6 + k / 3 - 1, j = r % 6 + k % 3 - 1;
            if (i < 0 || i > 5 || j < 0 || j > 5) continue;
            y[static_cast<std::size_t>(m * 36 + r)] +=
                W[static_cast<std::size_t>((m * 4 + c) * 9 + k)] *
                std::max(0.0L, x[static_cast<std::size_t>(c * 36 + i * 6 + j)]);
          }
    x = std::move(y);
  }
  for (Index k = 0; k < 144; ++k)
    EXPECT_LE(std::abs(found.f(0, k) - x[static_cast<std::size_t>(k)]),
              static_cast<long double>(found.error(0, k)));
  const double off = found.error.maxCoeff() / found.f.cwiseAbs().maxCoeff();
  EXPECT_LT(off, 1e-8);  // a goal, several times what came out
  EXPECT_LT(found.error.maxCoeff(), by_sizes / 100);
}

// ---- norms of convolutions ----

struct GraphStep {
  Index stride, dilation, pad;
};

// The convolution as a matrix, of a grid of size x size with padding.
Matrix dense_of(const RowMatrix& W, Index channels, Index side, Index size, const GraphStep& step) {
  const Index out = (size + 2 * step.pad - (side - 1) * step.dilation - 1) / step.stride + 1;
  Matrix A = Matrix::Zero(W.rows() * out * out, channels * size * size);
  for (Index m = 0; m < W.rows(); ++m)
    for (Index p = 0; p < out * out; ++p)
      for (Index c = 0; c < channels; ++c)
        for (Index k = 0; k < side * side; ++k) {
          const Index i = p / out * step.stride + k / side * step.dilation - step.pad,
                      j = p % out * step.stride + k % side * step.dilation - step.pad;
          if (i < 0 || i >= size || j < 0 || j >= size) continue;
          A(m * out * out + p, (c * size + i) * size + j) += W(m, c * side * side + k);
        }
  return A;
}

double norm_of(const Matrix& A) { return Eigen::BDCSVD<Matrix>(A).singularValues()(0); }

// The largest norm of the symbol on a fine grid: at most that of the convolution on an unbounded one.
double symbol_norm(const RowMatrix& W, Index channels, Index side) {
  constexpr Index kPoints = 48;
  double largest = 0;
  for (Index s = 0; s < kPoints; ++s)
    for (Index t = 0; t < kPoints; ++t) {
      Eigen::MatrixXcd A = Eigen::MatrixXcd::Zero(W.rows(), channels);
      for (Index k = 0; k < side * side; ++k) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(s * (k / side) + t * (k % side)) / kPoints;
        for (Index c = 0; c < channels; ++c) A.col(c) += std::polar(1.0, angle) * W.col(c * side * side + k);
      }
      largest = std::max(largest, Eigen::JacobiSVD<Eigen::MatrixXcd>(A).singularValues()(0));
    }
  return largest;
}

TEST(GraphConvolutionNorm, IsAboveThatOfTheMatrixAndNearThatOfAnUnboundedGrid) {
  for (const auto& [m, channels, side] :
       {std::tuple<Index, Index, Index>{3, 2, 3}, {2, 5, 2}, {4, 4, 3}, {2, 2, 5}}) {
    const RowMatrix W = test::drawn_points(m, channels * side * side, 31 + static_cast<unsigned>(m));
    const double bound = convolution_norm(W, {side, side}, kInfinite), fine = symbol_norm(W, channels, side);
    for (const GraphStep& step :
         {GraphStep{1, 1, 0}, {1, 1, 2}, {2, 1, 1}, {3, 1, 0}, {1, 2, 4}, {2, 3, 6}}) {
      if ((side - 1) * step.dilation + 1 > 6 + 2 * step.pad) continue;
      const double norm = norm_of(dense_of(W, channels, side, 6, step));
      EXPECT_GE(bound * (1 + zeroloss::test::backward_error(144)), norm)
          << m << " " << side << " stride " << step.stride;
    }
    EXPECT_GE(bound * (1 + zeroloss::test::backward_error(144)), fine) << m << " " << side;
    EXPECT_LE(bound, 1.1 * fine) << m << " " << side;
  }
}

TEST(GraphConvolutionNorm, OfEqualKernelsIsTheirSum) {
  // All ones, the worst case for a bound of windows: ||A|| is 9 times that of the channels on a large grid.
  const RowMatrix W = RowMatrix::Ones(2, 2 * 9);
  const double bound = convolution_norm(W, {3, 3}, kInfinite);
  EXPECT_GE(bound, 18);
  EXPECT_LE(bound, 18 * 1.1);
}

TEST(GraphConvolutionNorm, IsNeverAboveWhatIsKnown) {
  const RowMatrix W = test::drawn_points(3, 3 * 4, 37);
  EXPECT_EQ(convolution_norm(W, {2, 2}, 1e-3), 1e-3);
  EXPECT_EQ(convolution_norm(test::drawn_points(3, 5, 38), {1, 1}, 7), 7);
  RowMatrix bad = W;
  bad(0, 0) = std::nan("");
  EXPECT_EQ(convolution_norm(bad, {2, 2}, 5), 5);
  bad(0, 0) = 1e300;
  EXPECT_GE(convolution_norm(bad, {2, 2}, kInfinite), 1e300);
}

// ---- what results depend on ----

Graph mixed() {
  Graph graph({3, 8, 8});
  graph.numbers("W", {5, 3, 3, 3}, drawn(135, 41)).numbers("b", {5}, drawn(5, 42));
  graph.numbers("V", {180, 7}, drawn(1260, 43)).numbers("c", {7}, drawn(7, 44));
  graph.node("Conv", {"x", "W", "b"}, {"z"}).node("Relu", {"z"}, {"a"}).node("Flatten", {"a"}, {"f"});
  graph.node("Gemm", {"f", "V", "c"}, {"g"}).node("Tanh", {"g"}, {"y"});
  return graph;
}

TEST(GraphBlocks, ResultsDoNotDependOnTheNumberOfThreads) {
  const RowMatrix X = test::drawn_points(600, 192, 45);
  const Graph graph = mixed();
  const int before = set_thread_count(1);
  const Enclosures one = graph.at(X);
  for (const int threads : {2, 5}) {
    set_thread_count(threads);
    const Enclosures more = graph.at(X);
    EXPECT_EQ(more.f, one.f) << threads;
    EXPECT_EQ(more.error, one.error) << threads;
  }
  set_thread_count(before);
}

// Not with the same bits: BLAS sums products of one row in another order than those of many. The first sample
// always goes alone, so that its bits are those of any n.
TEST(GraphBlocks, ASampleIsEnclosedAloneAsItIsAmongOthers) {
  const RowMatrix X = test::drawn_points(600, 192, 45);
  const Graph graph = mixed();
  for (const Execution execution : {Execution::exact, Execution::float32}) {
    const Enclosures all = graph.at(X, execution);
    for (const Index i : {0, 1, 255, 256, 257, 599}) {
      const Enclosures alone = graph.at(X.row(i), execution);
      for (Index k = 0; k < 7; ++k)
        EXPECT_LE(std::abs(alone.f(0, k) - all.f(i, k)), alone.error(0, k) + all.error(i, k)) << i;
      EXPECT_LE(alone.error.maxCoeff(), 1.001 * all.error.row(i).maxCoeff()) << i;
    }
    const Enclosures first = graph.at(X.topRows(1), execution), some = graph.at(X.topRows(300), execution);
    EXPECT_EQ(first.f.row(0), all.f.row(0));
    EXPECT_EQ(first.error.row(0), all.error.row(0));
    // So are those of full blocks that stand before others.
    EXPECT_EQ(some.f.topRows(257), all.f.topRows(257));
    EXPECT_EQ(some.error.topRows(257), all.error.topRows(257));
  }
}

}  // namespace
}  // namespace zeroloss::internal::graph
