#include "zeroloss/storage/onnx.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/full_disk.hpp"
#include "support/python.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

class Onnx : public test::TempFolder {
 protected:
  /// y = relu(x A + 0.5), with A = (1 -1; 2 0).
  OnnxModel affine(Dtype dtype = Dtype::f32) const {
    OnnxModel model("affine");
    const std::string x = model.input("x", dtype, {-1, 2});
    const std::string product = model.node("MatMul", {x, model.constant(view_of("A", {2, 2}, A.data()))});
    model.output(model.node("Relu", {model.node("Add", {product, model.scalar(0.5, dtype)})}, {}, "y"), dtype,
                 {-1, 2});
    model.metadata({{"kind", "test"}, {"names", "[\"a\"]"}});
    return model;
  }
  std::vector<float> A{1, -1, 2, 0};
};

TEST_F(Onnx, RunsInOnnxRuntime) {
  ZEROLOSS_NEEDS_PYTHON();
  affine().write(path("affine.onnx"));
  const std::vector<float> x{1, 1, 2, -3, 0, 0};
  write_tensors(path("affine.in.safetensors"), {view_of("x", {3, 2}, x.data())});
  const auto outcome = test::run_python("storage/run_onnx.py", {folder});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const TensorFile out = read_tensors(path("affine.out.safetensors"));
  const float* y = out.find("y")->data<float>();
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{3.5, 0, 0, 0, 0.5, 0.5}));
  const nlohmann::json seen = nlohmann::json::parse(outcome.out).at("affine");
  EXPECT_EQ(seen["inputs"]["x"], nlohmann::json::parse(R"j(["tensor(float)", ["batch", 2]])j"));
  EXPECT_EQ(seen["outputs"]["y"], nlohmann::json::parse(R"j(["tensor(float)", ["batch", 2]])j"));
  EXPECT_EQ(seen["metadata"], nlohmann::json({{"kind", "test"}, {"names", "[\"a\"]"}}));
}

TEST_F(Onnx, AttributesOfEveryKind) {
  ZEROLOSS_NEEDS_PYTHON();
  OnnxModel model("attributes");
  const std::string x = model.input("x", Dtype::f32, {-1, 3});
  const std::string leaky = model.node("LeakyRelu", {x}, {{"alpha", 0.25f}});
  const std::string sum = model.node("ReduceL2", {leaky}, {{"axes", std::vector<std::int64_t>{1}}});
  const std::string wide = model.node("Cast", {sum}, {{"to", Dtype::f64}});
  const std::string padded =
      model.node("Pad", {wide, model.axes({0, 1, 0, 0})}, {{"mode", std::string("edge")}});
  model.output(
      model.node("Squeeze",
                 {model.node("ReduceMax", {padded}, {{"keepdims", std::int64_t{1}}}), model.axes({0, 1})}, {},
                 "y"),
      Dtype::f64, {});
  model.write(path("a.onnx"));
  const std::vector<float> values{3, -16, 0};
  write_tensors(path("a.in.safetensors"), {view_of("x", {1, 3}, values.data())});
  const auto outcome = test::run_python("storage/run_onnx.py", {folder});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(*read_tensors(path("a.out.safetensors")).find("y")->data<double>(), 5);
}

TEST_F(Onnx, ScanAppliesItsBodyOnceForEachSlice) {
  ZEROLOSS_NEEDS_PYTHON();
  OnnxModel body("body");  // state * a + b
  const std::string state = body.input("state", Dtype::f64, {-1}), a = body.input("a", Dtype::f64, {});
  const std::string b = body.input("b", Dtype::f64, {});
  body.output(body.node("Add", {body.node("Mul", {state, a}, {}, "scaled"), b}, {}, "next"), Dtype::f64,
              {-1});
  OnnxModel model("scan");
  const std::vector<double> factors{2, 3, 4}, shifts{1, 0, -5}, x{1, 10};
  const std::string start = model.input("x", Dtype::f64, {-1});
  const std::string A = model.constant(view_of("A", {3}, factors.data()));
  const std::string B = model.constant(view_of("B", {3}, shifts.data()));
  model.output(model.scan(body, start, {A, B}, "y"), Dtype::f64, {-1});
  model.write(path("scan.onnx"));
  write_tensors(path("scan.in.safetensors"), {view_of("x", {2}, x.data())});
  const auto outcome = test::run_python("storage/run_onnx.py", {folder});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const TensorFile out = read_tensors(path("scan.out.safetensors"));
  const double* y = out.find("y")->data<double>();
  EXPECT_EQ(std::vector<double>(y, y + 2), (std::vector<double>{31, 247}));
}

TEST_F(Onnx, WrongGraphsAreRefused) {
  const auto wrong = [&](const auto& build) {
    return [&, build] {
      OnnxModel model("wrong");
      const std::string x = model.input("x", Dtype::f32, {-1, 2});
      model.output(build(model, x), Dtype::f32, {-1, 2});
      model.write(path("wrong.onnx"));
    };
  };
  using M = OnnxModel&;
  using S = const std::string&;
  EXPECT_MESSAGE(std::invalid_argument, wrong([](M m, S x) { return m.node("Reluu", {x}); })(), "'wrong'",
                 "Reluu");
  EXPECT_MESSAGE(std::invalid_argument, wrong([](M m, S) { return m.node("Relu", {"absent"}); })(), "absent");
  EXPECT_MESSAGE(std::invalid_argument, wrong([](M m, S x) {
                   return m.node("Relu", {x}, {{"slope", 2.0f}});
                 })(),
                 "slope");
  EXPECT_MESSAGE(std::invalid_argument, wrong([](M m, S x) { return m.node("Relu", {x}, {}, "x"); })(),
                 "SSA");
  EXPECT_MESSAGE(std::invalid_argument, wrong([this](M m, S x) {
                   return m.node("MatMul", {x, m.constant(view_of("A", {4, 1}, A.data()))});
                 })(),
                 "MatMul");  // 2 columns times 4 rows
  EXPECT_MESSAGE(std::invalid_argument, wrong([](M m, S x) {
                   return m.node("Add", {x, m.scalar(1, Dtype::f64)});
                 })(),
                 "Add");  // float and double
  EXPECT_MESSAGE(std::invalid_argument, wrong([](M m, S x) {
                   return m.node("Cast", {x}, {{"to", Dtype::i64}});
                 })(),
                 "wrong");  // the output is declared float
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Onnx, MoreThanOneFileHoldsIsRefusedBeforeAnythingIsCopied) {
  OnnxModel model("large");
  const float number = 0;  // is not read
  EXPECT_MESSAGE(ResourceError, model.constant(view_of("W", {1000, 1'000'000}, &number)), "'large'", "4.0 GB",
                 "2.1 GB", "safetensors");
  OnnxModel other("sum");
  const std::vector<float> tenth(30'000'000);
  const auto add = [&] {
    for (int k = 0; k < 3; ++k) other.constant(view_of("c" + std::to_string(k), {30'000'000}, tenth.data()));
    other.constant(view_of("last", {480'000'000}, &number));
  };
  EXPECT_MESSAGE(ResourceError, add(), "'sum'", "2.3 GB");
}

TEST_F(Onnx, PiecesHaveToDivideAConstant) {
  OnnxModel model("pieces");
  EXPECT_MESSAGE(std::invalid_argument, model.constant({"W", Dtype::f32, {3}, {A.data(), A.data()}}), "'W'",
                 "2 pieces");
}

TEST_F(Onnx, AFullDiskLeavesTheOldFile) {
  write("a.onnx", "old");
  const std::vector<float> many(10'000);
  OnnxModel model("constant");
  model.input("x", Dtype::f32, {-1, 10'000});
  model.output(model.node("Add", {"x", model.constant(view_of("c", {10'000}, many.data()))}, {}, "y"),
               Dtype::f32, {-1, 10'000});
  {
    const test::FullDisk disk(4096);
    EXPECT_MESSAGE(ResourceError, model.write(path("a.onnx")), path("a.onnx"), "writing failed");
  }
  EXPECT_EQ(content(path("a.onnx")), "old");
  model.write(path("a.onnx"));
  EXPECT_GT(content(path("a.onnx")).size(), 40'000u);
}

TEST_F(Onnx, TheSameModelIsTheSameFile) {
  affine().write(path("a"));
  OnnxModel twice = affine();
  twice.write(path("b"));
  twice.write(path("b"));
  EXPECT_EQ(content(path("a")), content(path("b")));
}

}  // namespace
}  // namespace zeroloss
