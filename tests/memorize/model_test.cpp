#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "memorize/cases.hpp"
#include "support/python.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

using Json = nlohmann::json;

MemorizeOptions with(Index hidden, const std::string& precision) {
  MemorizeOptions options;
  options.hidden = hidden;
  options.precision = precision;
  return options;
}

Memorizer classifier(const std::string& precision, Index hidden = 4, bool constant = false) {
  RowMatrix X = test::normal_points(60, 7);
  if (constant) X.row(3).setZero();
  return *memorize(test::labelled(X, 3), with(hidden, precision)).network;
}

Memorizer regressor(const std::string& precision) {
  Dataset data;
  data.X = test::normal_points(60, 7);
  Progress silent;
  return *memorize(data, test::normal_targets(60, 2), with(5, precision), silent).network;
}

void expect_equal(const Memorizer& a, const Memorizer& b) {
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.class_names, b.class_names);
  EXPECT_EQ(a.A_0, b.A_0);
  EXPECT_EQ(a.b_0, b.b_0);
  EXPECT_EQ(a.U, b.U);
  EXPECT_EQ(a.V, b.V);
  EXPECT_EQ(a.s, b.s);
  EXPECT_EQ(a.U_out, b.U_out);
  EXPECT_EQ(a.s_out, b.s_out);
  EXPECT_EQ(a.V_out, b.V_out);
}

class MemorizerModel : public test::TempFolder {};

TEST_F(MemorizerModel, IsLoadedAsItWasSaved) {
  for (const std::string precision : {"float32", "float64"}) {
    for (const bool constant : {false, true}) {
      const Memorizer saved = classifier(precision, 4, constant);
      EXPECT_EQ(saved.b_0.size(), constant ? 4 : 0);
      save_model(path("m"), saved);
      expect_equal(load_memorizer(path("m")), saved);
    }
    save_model(path("m"), regressor(precision));
    expect_equal(load_memorizer(path("m")), regressor(precision));
  }
}

TEST_F(MemorizerModel, HasTheTensorsAndMetadataThatAreDocumented) {
  save_model(path("m"), classifier("float32", 4, true), {{"data", "x.csv"}, {"task", "another"}});
  const TensorFile file = read_tensors(path("m"));
  EXPECT_EQ(file.metadata, (Metadata{{"kind", "memorizer"},
                                     {"format_version", "1"},
                                     {"precision", "float32"},
                                     {"task", "classification"},
                                     {"class_names", R"(["c0","c1","c2"])"},
                                     {"data", "x.csv"}}));
  const std::map<std::string, std::vector<Index>> shapes{
      {"A_0", {4, 7}}, {"b_0", {4}},      {"U", {15, 4, 4}}, {"V", {15, 4, 4}},
      {"s", {15, 4}},  {"U_out", {3, 4}}, {"s_out", {3}},    {"V_out", {3, 3}}};
  EXPECT_EQ(file.tensors.size(), shapes.size());
  for (const auto& [name, shape] : shapes) {
    ASSERT_NE(file.find(name), nullptr) << name;
    EXPECT_EQ(file.find(name)->shape, shape) << name;
    EXPECT_EQ(file.find(name)->dtype, Dtype::f32) << name;
  }
}

TEST_F(MemorizerModel, WhatCouldNotBeLoadedIsNotSaved) {
  const auto refuses = [&](const std::function<void(Memorizer&)>& spoil, const std::string& reason) {
    Memorizer bad = classifier("float64");
    spoil(bad);
    EXPECT_MESSAGE(std::invalid_argument, save_model(path("m"), bad), "save_model: ", reason);
    EXPECT_MESSAGE(std::invalid_argument, export_onnx(path("m"), bad), "export_onnx: ", reason);
  };
  refuses([](Memorizer& n) { n = {}; }, "without weights");
  refuses([](Memorizer& n) { n.precision = "float16"; }, "unknown precision 'float16'");
  refuses([](Memorizer& n) { n.U.conservativeResize(59, 4); }, "do not fit each other");
  refuses([](Memorizer& n) { n.V.conservativeResize(60, 3); }, "do not fit each other");
  refuses([](Memorizer& n) { n.s.conservativeResize(59); }, "do not fit each other");
  refuses([](Memorizer& n) { n.b_0 = Vector::Zero(3); }, "do not fit each other");
  refuses([](Memorizer& n) { n.s_out.conservativeResize(2); }, "do not fit each other");
  refuses([](Memorizer& n) { n.V(3, 3) = 1 / 0.0; }, "not finite");
  refuses([](Memorizer& n) { n.s(3) = std::nan(""); }, "not finite");
  refuses([](Memorizer& n) { n.task = Task::none, n.class_names.clear(); }, "without a task");
  refuses([](Memorizer& n) { n.class_names.pop_back(); }, "3 outputs; expected 2");
  refuses([](Memorizer& n) { n.class_names[0] = "c2"; }, "two classes called 'c2'");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(MemorizerModel, LoaderRefusesOtherFiles) {
  save_model(path("good"), classifier("float64", 4, true));
  const TensorFile good = read_tensors(path("good"));
  const auto refuses = [&](const std::function<void(TensorFile&)>& spoil, const std::string& reason) {
    TensorFile bad = good;
    spoil(bad);
    std::vector<TensorView> views;
    for (const Tensor& t : bad.tensors) views.push_back({t.name, t.dtype, t.shape, {t.bytes.data()}});
    write_tensors(path("bad"), views, bad.metadata);
    EXPECT_MESSAGE(DataError, load_memorizer(path("bad")), path("bad") + ": ", reason);
  };
  const auto tensor = [&](const std::string& name, const std::function<void(Tensor&)>& spoil,
                          const std::string& reason) {
    refuses([&](TensorFile& f) { spoil(const_cast<Tensor&>(*f.find(name))); }, reason);
  };
  for (const auto& [key, value] : good.metadata)
    refuses([key = key](TensorFile& f) { f.metadata.erase(key); },
            "not a model of zeroloss: no '" + key + "' in its metadata");
  refuses([](TensorFile& f) { f.metadata["kind"] = "two_layer"; }, "kind 'two_layer'; expected memorizer");
  refuses([](TensorFile& f) { f.metadata["precision"] = "float32"; }, "expected F32");
  for (const char* name : {"A_0", "U", "V", "s", "U_out", "s_out", "V_out"})
    tensor(
        name, [](Tensor& t) { t.name = "other"; }, std::string("no tensor '") + name + "'");
  const auto reshaped = [](std::vector<Index> shape) { return [=](Tensor& t) { t.shape = shape; }; };
  tensor("U", reshaped({60, 4}), "expected F64 with 3 sizes");
  tensor("U", reshaped({15, 16, 1}), "tensor 'U' has shape [15, 16, 1]; expected [l, 4, 4]");
  tensor("U", reshaped({60, 1, 4}), "tensor 'U' has shape [60, 1, 4]; expected [l, 4, 4]");
  tensor("s", reshaped({30, 2}), "tensor 's' has shape [30, 2]; expected [l, 4]");
  tensor("V_out", reshaped({9, 1}), "do not fit each other");
  tensor(
      "V", [](Tensor& t) { t.bytes.tail(8).setConstant(0xFF); }, "not finite");
}

class MemorizerExported : public test::TempFolder {
 protected:
  template <class T>
  void run(const std::map<std::string, Memorizer>& networks, const RowMatrix& X) {
    const Rows<T> x = X.cast<T>();
    for (const auto& [name, network] : networks) {
      export_onnx(path(name + ".onnx"), network, {{"data", "x.csv"}});
      write_tensors(path(name + ".in.safetensors"), {view_of("x", {x.rows(), x.cols()}, x.data())});
    }
    const auto outcome = test::run_python("storage/run_onnx.py", {folder});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    seen = Json::parse(outcome.out);
    for (const auto& [name, network] : networks) {
      SCOPED_TRACE(name);
      const TensorFile out = read_tensors(path(name + ".out.safetensors"));
      const Matrix expected = predict(network, x.template cast<double>());
      ASSERT_EQ(out.find("y")->shape, (std::vector<Index>{expected.rows(), expected.cols()}));
      const Matrix found =
          Eigen::Map<const Rows<T>>(out.find("y")->data<T>(), expected.rows(), expected.cols())
              .template cast<double>();
      const double reached = network.precision == "float32" ? 1e-3 : 1e-9;  // a goal: memorize()'s own
      EXPECT_LT((found - expected).cwiseAbs().maxCoeff(),
                std::min(2 * test::output_error(network), 2 * reached * expected.cwiseAbs().maxCoeff()));
      if (network.task == Task::regression) {
        EXPECT_EQ(out.find("label"), nullptr);
        continue;
      }
      const auto* label = out.find("label")->data<std::int64_t>();
      EXPECT_EQ(std::vector<Index>(label, label + expected.rows()), largest_outputs(found));
      EXPECT_EQ(largest_outputs(found), largest_outputs(expected));
    }
  }
  Json seen;
};

TEST_F(MemorizerExported, PredictsTheSame) {
  ZEROLOSS_NEEDS_PYTHON();
  RowMatrix X = test::normal_points(60, 7);
  for (const std::string precision : {"float32", "float64"}) {
    const std::map<std::string, Memorizer> networks{{"classes", classifier(precision, 16)},
                                                    {"regression", regressor(precision)}};
    precision == "float32" ? run<float>(networks, X) : run<double>(networks, X);
  }
  EXPECT_EQ(seen["classes"]["inputs"], Json::parse(R"j({"x": ["tensor(double)", ["batch", 7]]})j"));
  EXPECT_EQ(
      seen["classes"]["outputs"],
      Json::parse(R"j({"y": ["tensor(double)", ["batch", 3]], "label": ["tensor(int64)", ["batch"]]})j"));
  EXPECT_EQ(seen["classes"]["metadata"]["kind"], "memorizer");
  EXPECT_EQ(seen["classes"]["metadata"]["data"], "x.csv");
  X.row(3).setZero();
  run<double>({{"constant", classifier("float64", 4, true)}}, X);
}

}  // namespace
}  // namespace zeroloss
