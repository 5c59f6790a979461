// The infinitely wide network as a file: what is kept, what is refused, and ONNX Runtime's answers.
#include "zeroloss/network/kernel_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/points.hpp"
#include "support/python.hpp"
#include "support/temp_folder.hpp"
#include "support/two_layer.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/kernel/gram.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss::test {
namespace {

constexpr Index kN = 40, kD = 5;

/// Of points that are scaled, centred and have a constant appended.
KernelNetwork any_kernel_network(const std::string& activation, Index outputs) {
  KernelNetwork network{.activation = activation, .ridge = 0.00316, .points = sphere(kN, kD)};
  network.coefficients = Matrix(kN, outputs);
  for (Index c = 0; c < outputs; ++c)
    network.coefficients.col(c) = normals(kN, static_cast<std::uint64_t>(c) + 3);
  network.offset = Vector::Constant(outputs, 0.25);
  network.solution_error = Matrix::Constant(outputs, outputs, 1e-7);
  network.task = outputs == 1 ? Task::regression : Task::classification;
  if (outputs > 1) network.class_names = {"ant", "bee", "cow"};
  network.standardization.bias = 1.5;
  network.standardization.scale = Vector{{0.5, 2, 1, 8}};
  network.center = {Vector{{0.5, -1, 0.25, 3, 0}}, Vector{{1e-18, 0, 0, -1e-17, 0}}};
  network.standardization.origin = network.center;
  return network;
}

class KernelModel : public TempFolder {};

TEST_F(KernelModel, IsLoadedAsItWasSaved) {
  for (const Index outputs : {1, 3}) {
    const KernelNetwork network = any_kernel_network("erf", outputs);
    save_model(path("m.safetensors"), network, {{"origin", "a test"}});
    EXPECT_EQ(read_metadata(path("m.safetensors")).at("origin"), "a test");
    const KernelNetwork loaded = load_kernel_network(path("m.safetensors"));
    EXPECT_EQ(loaded.activation, network.activation);
    EXPECT_EQ(loaded.ridge, network.ridge);
    EXPECT_EQ(loaded.task, network.task);
    EXPECT_EQ(loaded.class_names, network.class_names);
    EXPECT_EQ(loaded.offset, network.offset);
    EXPECT_EQ(loaded.solution_error, network.solution_error);
    const RowMatrix X = RowMatrix::Random(7, kD - 1);
    EXPECT_EQ(predict(loaded, X), predict(network, X));
  }
}

TEST_F(KernelModel, BoundsOfOtherNumbersAreRefused) {
  save_model(path("m.safetensors"), any_kernel_network("erf", 3));
  const std::string bytes = content(path("m.safetensors"));
  const auto changed = [&](const std::string& before, const std::string& after) {
    std::string other = bytes;
    other.replace(other.find(before), before.size(), after);
    write("other.safetensors", other);
    EXPECT_MESSAGE(DataError, load_kernel_network(path("other.safetensors")), "of other numbers than these");
  };
  changed("\"ridge\":\"0.0", "\"ridge\":\"0.1");
  changed("\"activation\":\"erf\"", "\"activation\":\"sin\"");
  const TensorFile file = read_tensors(path("m.safetensors"));
  const std::string first(reinterpret_cast<const char*>(file.find("coefficients")->bytes.data()), 8);
  changed(first, std::string(8, '\1'));  // another number
}

TEST_F(KernelModel, WhatIsNoNetworkIsNeitherSavedNorLoaded) {
  const auto refused = [&](const std::function<void(KernelNetwork&)>& change, const std::string& what) {
    KernelNetwork network = any_kernel_network("relu", 3);
    change(network);
    EXPECT_MESSAGE(std::invalid_argument, save_model(path("bad"), network), "save_model", what);
    EXPECT_MESSAGE(std::invalid_argument, export_onnx(path("bad"), network), "export_onnx", what);
  };
  refused([](auto& k) { k.activation = "swish"; }, "unknown activation 'swish'");
  refused([](auto& k) { k.ridge = -1; }, "ridge");
  refused([](auto& k) { k.points.row(3) *= 2; }, "unit length");
  refused([](auto& k) { k.points(1, 1) = NAN; }, "not finite");
  refused([](auto& k) { k.offset.resize(2); }, "sizes that do not fit");
  refused([](auto& k) { k.coefficients.conservativeResize(kN - 1, 3); }, "sizes that do not fit");
  refused([](auto& k) { k.solution_error(0, 1) = -1; }, "bounds of the solution's error");
  refused([](auto& k) { k.solution_error(0, 1) = NAN; }, "bounds of the solution's error");
  refused([](auto& k) { k.solution_error.conservativeResize(2, 3); }, "bounds of the solution's error");
  refused([](auto& k) { k.class_names.pop_back(); }, "outputs; expected");
  refused([](auto& k) { k.standardization.scale(0) = 3; }, "power of two");

  save_model(path("good"), any_kernel_network("relu", 3));
  const TensorFile file = read_tensors(path("good"));
  const auto damaged = [&](const std::function<void(Metadata&)>& change, const std::string& what) {
    std::vector<TensorView> views;
    for (const Tensor& t : file.tensors) views.push_back({t.name, t.dtype, t.shape, {t.bytes.data()}});
    Metadata metadata = file.metadata;
    change(metadata);
    write_tensors(path("damaged"), views, metadata);
    EXPECT_MESSAGE(DataError, load_kernel_network(path("damaged")), "damaged", what);
  };
  damaged([](Metadata& m) { m["kind"] = "two_layer"; }, "kind 'two_layer'");
  damaged([](Metadata& m) { m["ridge"] = "much"; }, "ridge");
  damaged([](Metadata& m) { m["normalize"] = "false"; }, "not divided");
  EXPECT_MESSAGE(DataError, predict(any_kernel_network("relu", 1), RowMatrix::Ones(2, kD)), "trained on 4",
                 "5 features");
}

/// Outputs are sums of kernels that are computed to a few units of rounding on either side. Points come close
/// to stored ones, where relu's kernel has the slope of a root.
TEST_F(KernelModel, ExportGivesOnnxRuntimeTheSameAnswers) {
  ZEROLOSS_NEEDS_PYTHON();
  const std::vector<std::string> names = activation_names();
  for (const std::string& name : names) {
    KernelNetwork network = any_kernel_network(name, 3);
    RowMatrix X = RowMatrix::Random(60, kD - 1) * 3;
    for (Index i = 0; i < 10; ++i) {  // back from what is stored
      const Vector z = network.points.row(i).transpose() * (1.5 / network.points(i, kD - 1));
      if (z(kD - 1) <= 0) continue;
      X.row(i) =
          (z.head(kD - 1) + network.center.high.head(kD - 1)).cwiseQuotient(network.standardization.scale);
    }
    const std::string file = path(name);
    export_onnx(file + ".onnx", network);
    write_tensors(file + ".in.safetensors", {view_of("x", {X.rows(), X.cols()}, X.data())});
  }
  const Outcome run = run_python("storage/run_onnx.py", {folder});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const std::string& name : names) {
    const KernelNetwork network = any_kernel_network(name, 3);
    const TensorFile in = read_tensors(path(name + ".in.safetensors")),
                     out = read_tensors(path(name + ".out.safetensors"));
    const Eigen::Map<const RowMatrix> X(in.find("x")->data<double>(), 60, kD - 1),
        y(out.find("y")->data<double>(), 60, 3);
    const Matrix expected = predict(network, X);
    // relu: an inner product is off by some 10 u, an angle near 0 by its root, 5e-8; times the kernel's
    // share.
    const double bound = 1e-7 * sigma(activation(name))(1) * network.coefficients.cwiseAbs().maxCoeff();
    EXPECT_LE((y - expected).cwiseAbs().maxCoeff(), bound) << name;
    const auto* label = out.find("label")->data<std::int64_t>();
    for (Index i = 0; i < 60; ++i) {
      Index best = 0;
      const double most = expected.row(i).maxCoeff(&best);
      EXPECT_LE(most - expected(i, label[i]), 2 * bound) << name << " " << i << " " << best;
    }
  }
}

}  // namespace
}  // namespace zeroloss::test
