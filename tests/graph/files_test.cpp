#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

#include "storage/onnx_graph.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/graph/network.hpp"

// Graphs of random operators, with what another evaluation in 80 bits and ONNX Runtime make of them:
// files/make.py.
namespace zeroloss {
namespace {

using Row = std::vector<long double>;

struct DrawnGraph {
  std::string file;
  std::map<std::string, std::vector<Row>> rows;  ///< of each word a row for each sample

  RowMatrix points() const {
    const auto& x = rows.at("x");
    RowMatrix X(std::ssize(x), std::ssize(x.front()));
    for (Index i = 0; i < X.rows(); ++i)
      for (Index k = 0; k < X.cols(); ++k) X(i, k) = static_cast<double>(at("x", i, k));
    return X;
  }
  long double at(const std::string& word, Index i, Index k) const {
    return rows.at(word).at(static_cast<std::size_t>(i)).at(static_cast<std::size_t>(k));
  }
};

std::vector<DrawnGraph> drawn_graphs() {
  std::vector<DrawnGraph> all;
  for (const auto& entry : std::filesystem::directory_iterator(ZEROLOSS_TEST_DIR "/graph/files")) {
    if (entry.path().extension() != ".csv") continue;
    DrawnGraph one{.file = std::filesystem::path(entry.path()).replace_extension(".onnx").string(),
                   .rows = {}};
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const std::size_t comma = line.find(',');
      Row row;
      for (const char *next = line.data() + comma + 1, *end = line.data() + line.size(); next < end; ++next) {
        long double value = 0;
        const auto [rest, problem] = std::from_chars(next, end, value);
        EXPECT_EQ(problem, std::errc()) << one.file << ": " << line;
        if (problem != std::errc()) return {};
        row.push_back(value);
        next = rest;
      }
      one.rows[line.substr(0, comma)].push_back(std::move(row));
    }
    all.push_back(std::move(one));
  }
  std::ranges::sort(all, {}, &DrawnGraph::file);
  return all;
}

double largest_of(const GraphOutputs& outputs, Index i) { return outputs.f.row(i).cwiseAbs().maxCoeff(); }

TEST(GraphFiles, AreOfEveryOperatorSetThatIsRead) {
  std::set<std::int64_t> versions;
  std::set<std::string> operators;
  for (const DrawnGraph& one : drawn_graphs()) {
    const internal::OnnxGraph graph = internal::read_onnx_graph(one.file);
    versions.insert(graph.version);
    for (const internal::OnnxNode& node : graph.nodes) operators.insert(node.op);
  }
  EXPECT_EQ(versions.size(), 22U);  // 7 to 28
  EXPECT_GE(operators.size(), 50U);
}

TEST(GraphFiles, AreEnclosedInExactArithmetic) {
  Progress silent;
  for (const DrawnGraph& one : drawn_graphs()) {
    SCOPED_TRACE(one.file);
    const GraphNetwork network = read_graph(one.file);
    const GraphOutputs found = enclosed_outputs(network, one.points(), "exact", silent);
    ASSERT_EQ(found.f.cols(), std::ssize(one.rows.at("real").front()));
    for (Index i = 0; i < found.f.rows(); ++i)
      for (Index k = 0; k < found.f.cols(); ++k) {
        const long double off = std::abs(static_cast<long double>(found.f(i, k)) - one.at("real", i, k));
        EXPECT_LE(off, static_cast<long double>(found.error(i, k)) + one.at("doubt", i, k));
        EXPECT_LE(found.error(i, k), 1e-9 * std::max(1e-3, largest_of(found, i)));  // a goal
      }
  }
}

TEST(GraphFiles, AreEnclosedAsRunByOnnxRuntime) {
  Progress silent;
  Index all = 0, useful = 0;
  for (const DrawnGraph& one : drawn_graphs()) {
    SCOPED_TRACE(one.file);
    const GraphNetwork network = read_graph(one.file);
    const GraphOutputs found = enclosed_outputs(network, one.points(), "float32", silent);
    for (Index i = 0; i < found.f.rows(); ++i)
      for (Index k = 0; k < found.f.cols(); ++k) {
        for (const char* run : {"runtime", "plain"})
          EXPECT_LE(std::abs(static_cast<long double>(found.f(i, k)) - one.at(run, i, k)), found.error(i, k))
              << run;
        ++all;
        useful += found.error(i, k) <= 0.01 * largest_of(found, i) ? 1 : 0;
      }
  }
  EXPECT_GE(useful, all * 9 / 10) << "of " << all;  // a goal: bounds say two digits
}

}  // namespace
}  // namespace zeroloss
