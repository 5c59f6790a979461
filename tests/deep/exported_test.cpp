#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/deep/onnx.hpp"
#include "zeroloss/deep/tangent.hpp"

namespace zeroloss {
namespace {

const std::filesystem::path kFiles = std::filesystem::path(ZEROLOSS_TEST_DIR) / "deep/exported";

std::vector<std::filesystem::path> models() {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(kFiles))
    if (entry.path().extension() == ".onnx") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

// Points and outputs of make.py, a line each.
std::vector<std::vector<double>> lines_of(const std::filesystem::path& path) {
  std::vector<std::vector<double>> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    lines.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) lines.back().push_back(std::stod(cell));
  }
  return lines;
}

TEST(ExportedOnnx, ReadsWhatPyTorchKerasAndScikitLearnWrite) {
  const auto all = models();
  ASSERT_EQ(all.size(), 40U);
  for (const auto& path : all) {
    SCOPED_TRACE(path.filename());
    OnnxNetwork read;
    ASSERT_NO_THROW(read = read_onnx(path));
    auto lines = lines_of(std::filesystem::path(path).replace_extension(".csv"));
    const Index n = std::ssize(lines), d = read.network.features(), K = read.network.outputs();
    ASSERT_EQ(std::ssize(lines.front()), d + K);
    RowMatrix X(n, d);
    Matrix y(n, K);
    for (Index i = 0; i < n; ++i) {
      for (Index k = 0; k < d; ++k) X(i, k) = lines[i][k];
      for (Index k = 0; k < K; ++k) y(i, k) = lines[i][d + k];
    }
    // scikit-learn's weights are doubles, which its exporter rounds to float32.
    const bool rounded = path.filename().string().starts_with("sklearn") && read.single;
    const Matrix ours = predict(read.network, X), off = (ours - y).cwiseAbs();
    EXPECT_LE((off - 2 * test::rounding(read.network, X, rounded ? 0x1p-24 : 0x1p-53)).maxCoeff(), 0)
        << off.maxCoeff();
  }
}

TEST(ExportedOnnx, TangentKernelsAreThoseOfAutograd) {
  int compared = 0;
  for (const auto& path : models()) {
    const auto kernel = std::filesystem::path(path).replace_extension(".kernel.csv");
    if (!exists(kernel)) continue;
    SCOPED_TRACE(path.filename());
    const auto lines = lines_of(std::filesystem::path(path).replace_extension(".csv")),
               rows = lines_of(kernel);
    const DeepNetwork network = read_onnx(path).network;
    RowMatrix X(std::ssize(lines), network.features());
    for (Index i = 0; i < X.rows(); ++i)
      for (Index k = 0; k < X.cols(); ++k) X(i, k) = lines[i][k];
    const Matrix K = tangent_kernel(network, X);
    const double off = 2 * test::gram_rounding(network, X, std::vector<bool>(network.layers.size() + 1, true),
                                               Vector::Ones(X.rows()), K.trace());
    ASSERT_EQ(K.rows(), std::ssize(rows));
    for (Index i = 0; i < K.rows(); ++i)
      for (Index j = 0; j < K.cols(); ++j) EXPECT_NEAR(K(i, j), rows[i][j], off);
    ++compared;
  }
  EXPECT_EQ(compared, 11);
}

using ExportedOnnxFiles = test::TempFolder;

TEST_F(ExportedOnnxFiles, OtherNumbersInTheSameGraph) {
  for (const auto& path : models()) {
    SCOPED_TRACE(path.filename());
    const OnnxNetwork read = read_onnx(path);
    EXPECT_EQ(write_like(path, read, read.network, folder / "same.onnx").V, read.network.V);
    DeepNetwork other = read.network;
    for (Layer& layer : other.layers) {
      layer.W.array() += 0.1;
      layer.b.array() -= 0.3;
      layer.U.array() *= 1.1;
    }
    other.V.array() *= 1.0 / 3;
    const DeepNetwork rounded = write_like(path, read, other, folder / "other.onnx");
    EXPECT_LE((rounded.V - other.V).norm(), (read.single ? 0x1p-24 : 0) * other.V.norm());
    const OnnxNetwork again = read_onnx(folder / "other.onnx");
    EXPECT_EQ(again.network.V, rounded.V);
    for (std::size_t l = 0; l < other.layers.size(); ++l) {
      EXPECT_EQ(again.network.layers[l].W, rounded.layers[l].W);
      EXPECT_EQ(again.network.layers[l].b, rounded.layers[l].b);
      EXPECT_EQ(again.network.layers[l].U, rounded.layers[l].U);
    }
    other.layers.pop_back();
    EXPECT_THROW(write_like(path, read, other, folder / "fewer.onnx"), std::invalid_argument);
  }
}

TEST_F(ExportedOnnxFiles, DamagedFilesAreErrors) {
  const auto path = folder / "damaged.onnx";
  Random random(3, Stream::noise);
  for (const char* name :
       {"relu_script.onnx", "gelu_dynamo.onnx", "sklearn_two.onnx", "residual_dynamo.onnx"}) {
    const std::string bytes = bytes_of(kFiles / name);
    for (int trial = 0; trial < 400; ++trial) {
      std::string damaged = bytes;
      if (trial % 5 == 0)
        damaged.resize(random.below(bytes.size()));
      else
        for (int k = 0; k <= trial % 3; ++k)
          damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      std::ofstream(path, std::ios::binary) << damaged;
      try {
        check(read_onnx(path).network);
      } catch (const DataError& error) {
        EXPECT_NE(std::string(error.what()).find("damaged.onnx"), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_THROW(read_onnx(folder / "absent.onnx"), DataError);
  EXPECT_THROW(read_onnx(folder), DataError);
}

}  // namespace
}  // namespace zeroloss
