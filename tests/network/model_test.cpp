#include "zeroloss/network/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "network/prepare.hpp"
#include "support/bounds.hpp"
#include "support/python.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/kernel/activation.hpp"

namespace zeroloss {
namespace {

using Json = nlohmann::json;

/// n x d numbers of size about 3, off the origin.
RowMatrix points(Index n, Index d) {
  Random random(7, Stream::points);
  RowMatrix X(n, d);
  for (double& x : X.reshaped<Eigen::RowMajor>()) x = 1 + 3 * random.normal();
  return X;
}

Network network(const std::string& activation, const std::string& precision, Index c, bool raw = false) {
  constexpr Index kWidth = 33, kFeatures = 6;
  Network result{.activation = activation, .precision = precision, .outputs = {}, .normalize = !raw};
  for (Index k = 0; k < c; ++k)
    result.outputs.push_back(draw({.width = kWidth,
                                   .d = kFeatures,
                                   .precision = precision,
                                   .seed = 3,
                                   .index = static_cast<std::uint64_t>(k)}));
  if (!raw) result.center = mean_point(points(20, kFeatures));
  result.task = c == 2 ? Task::none : Task::classification;
  if (c == 1) result.class_names = {"no", "yes"};
  for (Index k = 0; c > 2 && k < c; ++k) result.class_names.push_back(std::to_string(k));
  return result;
}

void expect_equal(const Network& a, const Network& b) {
  EXPECT_EQ(a.activation, b.activation);
  EXPECT_EQ(a.scaling, b.scaling);
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.normalize, b.normalize);
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.class_names, b.class_names);
  EXPECT_EQ(a.center.high, b.center.high);
  EXPECT_EQ(a.center.low, b.center.low);
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (std::size_t k = 0; k < a.outputs.size(); ++k) {
    EXPECT_EQ(a.outputs[k].W, b.outputs[k].W);
    EXPECT_EQ(a.outputs[k].v, b.outputs[k].v);
  }
}

class Model : public test::TempFolder {};

TEST_F(Model, IsLoadedAsItWasSaved) {
  for (const std::string precision : {"float32", "float64"})
    for (const Index c : {1, 2, 5})
      for (const bool raw : {false, true}) {
        Network saved = network("gelu", precision, c, raw);
        saved.scaling = raw ? "balanced" : "ntk";
        save_model(path("m"), saved);
        expect_equal(load_model(path("m")), saved);
      }
  Network saved = network("relu", "float64", 1);
  saved.task = Task::regression;
  saved.class_names.clear();
  save_model(path("m"), saved);
  expect_equal(load_model(path("m")), saved);
}

TEST_F(Model, HasTheTensorsAndMetadataThatAreDocumented) {
  save_model(path("m"), network("silu", "float32", 5), {{"step", "0.1"}, {"activation", "another"}});
  const TensorFile file = read_tensors(path("m"));
  EXPECT_EQ(file.metadata, (Metadata{{"kind", "two_layer"},
                                     {"format_version", "1"},
                                     {"activation", "silu"},
                                     {"scaling", "ntk"},
                                     {"precision", "float32"},
                                     {"task", "classification"},
                                     {"class_names", R"(["0","1","2","3","4"])"},
                                     {"normalize", "true"},
                                     {"step", "0.1"}}));
  EXPECT_EQ(file.find("W")->shape, (std::vector<Index>{5, 33, 6}));
  EXPECT_EQ(file.find("v")->shape, (std::vector<Index>{5, 33}));
  EXPECT_EQ(file.find("W")->dtype, Dtype::f32);
  EXPECT_EQ(file.find("mean")->shape, std::vector<Index>{6});
  EXPECT_EQ(file.find("mean")->dtype, Dtype::f64);
}

TEST_F(Model, NamesInOtherEncodingsBecomeUtf8) {
  Network saved = network("relu", "float64", 1);
  saved.class_names = {"gr\xFCn", "rot"};
  save_model(path("m"), saved, {{"out", "\xFF"}});
  EXPECT_EQ(load_model(path("m")).class_names.front(), "gr\xC3\xBCn");
  EXPECT_EQ(read_metadata(path("m")).at("out"), "\xC3\xBF");
  saved.class_names.back() = "gr\xC3\xBCn";
  EXPECT_MESSAGE(std::invalid_argument, save_model(path("m"), saved), "two classes called");
}

TEST_F(Model, WhatCouldNotBeLoadedIsNotSaved) {
  const auto refuses = [&](const std::function<void(Network&)>& spoil, const std::string& reason) {
    Network bad = network("relu", "float64", 5);
    spoil(bad);
    EXPECT_MESSAGE(std::invalid_argument, save_model(path("m"), bad), "save_model: ", reason);
    EXPECT_MESSAGE(std::invalid_argument, export_onnx(path("m"), bad), "export_onnx: ", reason);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  refuses([](Network& n) { n.outputs.clear(); }, "without weights");
  refuses([](Network& n) { n.outputs[2].W.resize(33, 5); }, "different sizes");
  refuses([](Network& n) { n.outputs[2].v.conservativeResize(32); }, "different sizes");
  refuses([&](Network& n) { n.outputs[4].W(0, 0) = kNan; }, "not finite");
  refuses([&](Network& n) { n.center.high(0) = kNan; }, "a mean that is not finite");
  refuses([](Network& n) { n.center.high.resize(5); }, "mean of 5 and 6 values; expected 6");
  refuses([](Network& n) { n.center.low(0) = n.center.high(0); }, "rounded to double");
  refuses([](Network& n) { n.activation = "swish"; }, "unknown activation 'swish'; expected relu");
  refuses([](Network& n) { n.scaling = "mean"; }, "unknown scaling 'mean'");
  refuses([](Network& n) { n.precision = "float16"; }, "unknown precision 'float16'");
  refuses([](Network& n) { n.class_names[0] = "4"; }, "two classes called '4'");
  refuses([](Network& n) { n.class_names.resize(4); }, "5 outputs; expected 4");
  refuses([](Network& n) { n.class_names.resize(2); }, "5 outputs; expected 1");
  refuses([](Network& n) { n.class_names.resize(1); }, "1 class names");
  refuses([](Network& n) { n.task = Task::none; }, "5 class names for the task none");
  refuses([](Network& n) { n.task = Task::regression, n.class_names.clear(); }, "5 outputs; expected 1");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Model, LoaderRefusesOtherFiles) {
  save_model(path("good"), network("relu", "float64", 5));
  const TensorFile good = read_tensors(path("good"));
  const auto refuses = [&](const std::function<void(TensorFile&)>& spoil, const std::string& reason) {
    TensorFile bad = good;
    spoil(bad);
    std::vector<TensorView> views;
    for (const Tensor& t : bad.tensors) views.push_back({t.name, t.dtype, t.shape, {t.bytes.data()}});
    write_tensors(path("bad"), views, bad.metadata);
    EXPECT_MESSAGE(DataError, load_model(path("bad")), path("bad") + ": ", reason);
  };
  const auto meta = [&](const std::string& key, const std::string& value, const std::string& reason) {
    refuses([&](TensorFile& f) { f.metadata[key] = value; }, reason);
  };
  const auto tensor = [&](const std::string& name, const std::function<void(Tensor&)>& spoil,
                          const std::string& reason) {
    refuses([&](TensorFile& f) { spoil(const_cast<Tensor&>(*f.find(name))); }, reason);
  };
  for (const auto& [key, value] : good.metadata)
    refuses([key = key](TensorFile& f) { f.metadata.erase(key); },
            "not a model of zeroloss: no '" + key + "' in its metadata");
  meta("kind", "conv", "kind 'conv'; expected two_layer");
  meta("format_version", "2", "format_version '2'; expected 1");
  meta("activation", "swish", "unknown activation 'swish'");
  meta("scaling", "mean", "unknown scaling 'mean'");
  meta("precision", "float16", "precision 'float16'; expected float64, float32");
  meta("precision", "float32", "tensor 'W' is F64 of shape [5, 33, 6]; expected F32");
  meta("task", "ranking", "task 'ranking'");
  meta("normalize", "yes", "normalize 'yes'");
  meta("class_names", "3,8", "class_names is not a JSON list of texts");
  meta("class_names", "[3,8]", "class_names is not a JSON list of texts");
  meta("class_names", R"(["3","8","3","4","5"])", "two classes called '3'");
  meta("class_names", R"(["3","8","4","5"])", "5 outputs; expected 4");
  tensor(
      "W", [](Tensor& t) { t.name = "w"; }, "no tensor 'W'");
  tensor(
      "v", [](Tensor& t) { t.name = "w"; }, "no tensor 'v'");
  tensor(
      "W",
      [](Tensor& t) {
        t.shape = {5 * 33, 6};
      },
      "expected F64 with 3 sizes");
  tensor(
      "W",
      [](Tensor& t) {
        t.shape = {0, 33, 6}, t.bytes.resize(0);
      },
      "expected F64 with 3 sizes >= 1");
  tensor(
      "W",
      [](Tensor& t) {
        t.shape = {33, 5, 6};
      },
      "expected [outputs, m, d] and [outputs, m]");
  tensor(
      "v",
      [](Tensor& t) {
        t.shape = {33, 5};
      },
      "expected [outputs, m, d] and [outputs, m]");
  tensor(
      "mean", [](Tensor& t) { t.shape = {5}, t.bytes.conservativeResize(40); },
      "mean of 5 and 6 values; expected 6");
  tensor(
      "mean", [](Tensor& t) { t.dtype = Dtype::i64; }, "tensor 'mean' is I64");
  tensor(
      "v", [](Tensor& t) { t.bytes.tail(8).setConstant(0xFF); }, "weights that are not finite");
}

TEST_F(Model, WhatOthersAddIsLeftAlone) {
  save_model(path("m"), network("relu", "float64", 5), {{"added", "text"}});
  const TensorFile file = read_tensors(path("m"));
  std::vector<TensorView> views;
  for (const Tensor& t : file.tensors) views.push_back({t.name, t.dtype, t.shape, {t.bytes.data()}});
  views.push_back(view_of("momentum", {5}, file.find("W")->data<double>()));
  write_tensors(path("more"), views, file.metadata);
  expect_equal(load_model(path("more")), network("relu", "float64", 5));
}

/// The size that the rounding errors of phi(z) are relative to, as ONNX Runtime computes it from
/// exponentials.
double error_scale(const std::string& activation, double z, double phi) {
  if (activation == "sigmoid") return 1;                                 // 1/(1 + exp(-z))
  if (activation == "softplus") return 1 + std::abs(z);                  // max(z, 0) + log(1 + exp(-|z|))
  if (activation == "silu" || activation == "gelu") return std::abs(z);  // z times a factor between 0 and 1
  return std::abs(phi);
}

/// Bounds |found - predict(network, X)| for outputs that are found in T, entry by entry. Both sides round the
/// points, sums of products in an order of their own, and phi, which is taken to be kept to `kUnits` units of
/// error_scale; errors of a pre-activation are multiplied by sup |phi'| on the way. In particular a
/// pre-activation of 3,000 is known to some 1e-12, and so are its sine and cosine.
template <class T>
Matrix largest_difference(const Network& network, const RowMatrix& X) {
  constexpr double u = std::numeric_limits<T>::epsilon() / 2, kUnits = 16;
  const auto d = static_cast<double>(network.d()), m = static_cast<double>(network.width());
  const Activation& phi = activation(network.activation);
  // Erf is taken in float32 by the exported graph, its argument rounded to that.
  const bool rough = network.activation == "erf" || network.activation == "gelu";
  const double u_phi = rough ? std::max<double>(u, std::numeric_limits<float>::epsilon() / 2) : u;
  Dataset prepared;
  prepared.X = X;
  prepared.name = "prepared";
  internal::prepare(prepared, network);
  // Differences to the mean (2), division by the largest entry (1) and by the length ((d + 4)/2 + 1).
  RowMatrix e_x = (network.normalize ? test::gamma_of(2 * (d / 2 + 6), u) : 0) * prepared.X.cwiseAbs();
  if (!network.center.empty()) {  // the mean is known to 2 u^2, which counts where a point is near to it
    const Vector& mean = network.center.high;
    for (Index i = 0; i < X.rows(); ++i) {
      const double length = network.normalize ? (X.row(i).transpose() - mean).norm() : 1;
      e_x.row(i).array() +=
          test::gamma_of(4, u) * u * mean.norm() / length + test::gamma_of(4, u) * prepared.X.row(i).norm();
    }
  }
  Matrix bound(X.rows(), static_cast<Index>(network.outputs.size()));
  for (Index k = 0; k < bound.cols(); ++k) {
    const auto& [W, v] = network.outputs[static_cast<std::size_t>(k)];
    const RowMatrix z = prepared.X * W.transpose();
    const RowMatrix e_z = e_x * W.cwiseAbs().transpose() +
                          2 * test::gamma_of(d + 1, u) * (prepared.X.cwiseAbs() * W.cwiseAbs().transpose());
    for (Index i = 0; i < X.rows(); ++i) {
      double sum = 0;
      for (Index r = 0; r < W.rows(); ++r) {
        const double value = phi.phi(z(i, r));
        const double slope = std::isfinite(phi.B) ? phi.B : std::abs(z(i, r)) + e_z(i, r);  // of z^2/2
        const double e_phi =
            slope * e_z(i, r) + 2 * kUnits * u_phi * error_scale(network.activation, z(i, r), value);
        sum += std::abs(v(r)) * (e_phi + 2 * test::gamma_of(m + 1, u) * (std::abs(value) + e_phi));
      }
      bound(i, k) = sum;
    }
  }
  return bound;
}

/// Exports every network to the folder, runs all in ONNX Runtime on X, and compares with predict().
class Exported : public test::TempFolder {
 protected:
  template <class T>
  void run(const std::map<std::string, Network>& cases, const RowMatrix& X) {
    const Rows<T> x = X.cast<T>();
    for (const auto& [name, network] : cases) {
      export_onnx(path(name + ".onnx"), network, {{"step", "0.1"}});
      write_tensors(path(name + ".in.safetensors"), {view_of("x", {x.rows(), x.cols()}, x.data())});
    }
    const auto outcome = test::run_python("storage/run_onnx.py", {folder});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    seen = Json::parse(outcome.out);
    for (const auto& [name, network] : cases) {
      SCOPED_TRACE(name);
      compare<T>(network, x.template cast<double>(), read_tensors(path(name + ".out.safetensors")));
    }
  }

  template <class T>
  void compare(const Network& network, const RowMatrix& X, const TensorFile& out) {
    const Matrix expected = predict(network, X);
    const Tensor* y = out.find("y");
    ASSERT_EQ(y->dtype, dtype_of<T>());
    ASSERT_EQ(y->shape, (std::vector<Index>{expected.rows(), expected.cols()}));
    const Matrix found =
        Eigen::Map<const Rows<T>>(y->data<T>(), expected.rows(), expected.cols()).template cast<double>();
    const Matrix share = (found - expected).cwiseAbs().cwiseQuotient(largest_difference<T>(network, X));
    EXPECT_LT(share.maxCoeff(), 1);
    worst = std::max(worst, share.maxCoeff());
    if (network.task != Task::classification) {
      EXPECT_EQ(out.find("label"), nullptr);
      return;
    }
    const std::vector<Index> classes = predicted_classes(found);
    const Tensor* label = out.find("label");
    ASSERT_EQ(label->shape, std::vector<Index>{expected.rows()});
    EXPECT_EQ(std::vector<Index>(label->data<std::int64_t>(), label->data<std::int64_t>() + label->size()),
              classes);
    EXPECT_NE(*std::ranges::min_element(classes), *std::ranges::max_element(classes));
  }

  /// Every activation, number of outputs and treatment of the points.
  std::map<std::string, Network> all(const std::string& precision) {
    std::map<std::string, Network> cases;
    for (const std::string& activation : activation_names())
      for (const Index c : {1, 2, 5})
        for (const bool raw : {false, true})
          cases[activation + std::to_string(c) + (raw ? "raw" : "")] = network(activation, precision, c, raw);
    return cases;
  }

  Json seen;
  double worst = 0;  // share of largest_difference
};

TEST_F(Exported, Float32PredictsTheSame) {
  ZEROLOSS_NEEDS_PYTHON();
  run<float>(all("float32"), points(50, 6));
  RecordProperty("worst", std::to_string(worst));
  EXPECT_EQ(seen["relu5"]["inputs"], Json::parse(R"j({"x": ["tensor(float)", ["batch", 6]]})j"));
  EXPECT_EQ(
      seen["relu5"]["outputs"],
      Json::parse(R"j({"y": ["tensor(float)", ["batch", 5]], "label": ["tensor(int64)", ["batch"]]})j"));
  EXPECT_EQ(seen["erf5"]["metadata"].count("erf_precision"), 0u);
}

TEST_F(Exported, Float64PredictsTheSame) {
  ZEROLOSS_NEEDS_PYTHON();
  run<double>(all("float64"), points(50, 6));
  EXPECT_EQ(seen["relu5"]["inputs"], Json::parse(R"j({"x": ["tensor(double)", ["batch", 6]]})j"));
  const Json& metadata = seen["gelu5"]["metadata"];
  EXPECT_EQ(metadata["erf_precision"], "float32");
  EXPECT_EQ(metadata["class_names"], R"(["0","1","2","3","4"])");
  EXPECT_EQ(metadata["kind"], "two_layer");
  EXPECT_EQ(metadata["step"], "0.1");
  EXPECT_EQ(seen["relu5"]["metadata"].count("erf_precision"), 0u);
}

TEST_F(Exported, LargeAndSmallArguments) {
  ZEROLOSS_NEEDS_PYTHON();
  std::map<std::string, Network> cases;
  for (const std::string& activation : activation_names())
    cases[activation] = network(activation, "float64", 5, true);
  for (const double scale : {1e-8, 300.0}) {  // z up to about 3000: exp would overflow
    SCOPED_TRACE(scale);
    run<double>(cases, scale * points(20, 6));
  }
}

// Squares of these points leave the range of doubles.
TEST_F(Exported, HugeAndTinyPoints) {
  ZEROLOSS_NEEDS_PYTHON();
  Network normalised = network("softplus", "float64", 1);
  normalised.center = {};
  for (const double scale : {1e200, 1e-200}) {
    SCOPED_TRACE(scale);
    run<double>({{"softplus", normalised}}, scale * points(20, 6));
  }
}

TEST_F(Exported, AZeroRowGivesNan) {
  ZEROLOSS_NEEDS_PYTHON();
  Network normalised = network("tanh", "float32", 1);
  normalised.center = {};
  export_onnx(path("a.onnx"), normalised);
  const std::vector<float> x(6);
  write_tensors(path("a.in.safetensors"), {view_of("x", {1, 6}, x.data())});
  ASSERT_EQ(test::run_python("storage/run_onnx.py", {folder}).exit_code, 0);
  EXPECT_TRUE(std::isnan(read_tensors(path("a.out.safetensors")).find("y")->data<float>()[0]));
}

TEST_F(Exported, AnOutputOfZeroIsTheSecondClass) {
  ZEROLOSS_NEEDS_PYTHON();
  Network zero = network("relu", "float64", 1, true);
  RowMatrix X = points(3, 6);
  zero.outputs[0].W.setZero();
  zero.outputs[0].W.row(0).setOnes();
  zero.outputs[0].v.setZero();
  zero.outputs[0].v(0) = -1;
  X.row(0).setConstant(-1);  // relu gives 0
  X.row(1).setConstant(1);
  run<double>({{"zero", zero}}, X);
}

}  // namespace
}  // namespace zeroloss
