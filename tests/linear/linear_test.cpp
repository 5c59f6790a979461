#include "zeroloss/linear/linear.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/maps.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

using namespace test;

LinearProblem named(const std::string& text) { return read_linear_problem(text).problem; }

TEST(Linear, WhichFactorisationIsTheSmallest) {
  const auto smallest = [](double paper, double polar, double logarithm) {
    DepthResult depth;
    for (const double norm : {paper, polar, logarithm}) {
      Factorization& f = depth.factorizations.emplace_back();
      if (std::isnan(norm)) f.missing = "too few layers";
      f.max_norm = norm;
    }
    return &depth.smallest() - depth.factorizations.data();
  };
  EXPECT_EQ(smallest(1.5, 0.5, 0.4), 2);
  EXPECT_EQ(smallest(0.3, 0.5, 0.4), 0);
  EXPECT_EQ(smallest(NAN, NAN, 2), 2);
  EXPECT_EQ(smallest(NAN, NAN, NAN), 0);
  for (const double rounding : {-1e-15, 0.0, 1e-15}) EXPECT_EQ(smallest(1.5, 0.4, 0.4 + rounding), 1);
}

TEST(Linear, OneDepthIsAnswered) {
  const LinearResult result = linear(named("rotation:d=5"));
  EXPECT_NE(result.conclusion.find("10 layers represent R exactly with every ||A_i|| <= "), std::string::npos)
      << result.conclusion;
  EXPECT_NE(result.conclusion.find("reached relative misfit"), std::string::npos) << result.conclusion;
  ASSERT_EQ(result.depths.size(), 1u);
  const DepthResult& depth = result.depths.front();
  EXPECT_LT(depth.smallest().max_norm, 1);
  EXPECT_EQ(depth.smallest().network.layers(), 10);
  EXPECT_EQ(depth.descent->network.layers(), 10);
  EXPECT_EQ(result.layers_needed, 0);
}

TEST(Linear, SaysHowManyLayersAreNeeded) {
  LinearOptions options;
  options.layers = {2};
  const LinearResult result = linear(population(-Matrix::Identity(2, 2), Matrix::Identity(2, 2)), options);
  EXPECT_EQ(result.layers_needed, 4);
  EXPECT_NE(result.conclusion.find("none with every ||A_i|| < 1 was found"), std::string::npos)
      << result.conclusion;
  EXPECT_NE(result.conclusion.find("4 layers would be enough"), std::string::npos) << result.conclusion;
  EXPECT_NE(result.conclusion.find("did not converge"), std::string::npos) << result.conclusion;
}

TEST(Linear, StudiesDepths) {
  LinearOptions options;
  options.layers = {2, 5, 30};
  const LinearResult result = linear(named("rotation:d=4"), options);
  ASSERT_EQ(result.depths.size(), 3u);
  double before = 1e300;
  for (const DepthResult& depth : result.depths) {
    EXPECT_LT(depth.smallest().max_norm, before);
    before = depth.smallest().max_norm;
    EXPECT_EQ(depth.descent->status, DescentStatus::converged);
    EXPECT_EQ(depth.descent->network.layers(), depth.layers == 30 ? 30 : 0);  // the last depth's are kept
    for (const Factorization& f : depth.factorizations)
      EXPECT_EQ(f.network.layers(), depth.layers == 30 && f.missing.empty() ? 30 : 0);
  }
  EXPECT_NE(result.conclusion.find("converged at 3 of 3 depths"), std::string::npos) << result.conclusion;
}

TEST(Linear, OneLayerIsTheMapItself) {
  LinearOptions options;
  options.layers = {1};
  const LinearResult result = linear(named("rotation:d=2,seed=4"), options);
  EXPECT_EQ(result.conclusion.rfind("1 layer represents R exactly", 0), 0u) << result.conclusion;
  const double rounding = backward_error(2) * result.problem.R.norm();  // of a Schur form
  EXPECT_LE((result.depths.front().smallest().network.product() - result.problem.R).norm(), rounding);
}

TEST(Linear, TreatmentsAreReported) {
  EXPECT_EQ(linear(named("gaussian:d=4,seed=1")).treatment,
            determinant(named("gaussian:d=4,seed=1").R) < 0 ? "augmented" : "none");
  LinearOptions options;
  options.train = false;
  const LinearResult flipped = linear(population(Matrix{{-3}}, Matrix{{1}}), options);
  EXPECT_EQ(flipped.treatment, "flipped");
  EXPECT_FALSE(flipped.depths.front().descent);
  EXPECT_EQ(flipped.conclusion.find("descent"), std::string::npos);
}

TEST(Linear, ErrorsComeBeforeWork) {
  const LinearProblem problem = named("gaussian:d=3");
  LinearOptions options;
  options.layers = {};
  EXPECT_MESSAGE(std::invalid_argument, linear(problem, options), "layers");
  options.layers = {3, 0};
  EXPECT_MESSAGE(std::invalid_argument, linear(problem, options), "linear: layers must be >= 1", "got 0");
  options.layers = {3};
  options.descent.tolerance = -1;
  EXPECT_MESSAGE(std::invalid_argument, linear(problem, options), "tolerance");
  EXPECT_MESSAGE(DataError, linear(population(Matrix{{1, 2}, {2, 4}}, Matrix::Identity(2, 2))), "singular",
                 "rank is 1");
  options = {};
  options.layers = {1'000'000};
  EXPECT_MESSAGE(ResourceError, linear(named("gaussian:d=400"), options), "layers", "try fewer layers");
}

TEST(Linear, InterruptedStudiesKeepWhatIsDone) {
  std::atomic<bool> cancel{false};
  Progress progress([&](const ProgressReport& report) { cancel = report.stage == "descent, 8 layers"; },
                    &cancel, 0);
  LinearOptions options;
  options.layers = {4, 8, 16};
  const LinearResult result = linear(named("rotation:d=4"), options, progress);
  EXPECT_TRUE(result.interrupted);
  ASSERT_EQ(result.depths.size(), 2u);
  EXPECT_EQ(result.depths[0].descent->status, DescentStatus::converged);
  EXPECT_EQ(result.depths[1].descent->status, DescentStatus::interrupted);

  cancel = true;
  EXPECT_THROW(linear(named("rotation:d=4"), options, progress), Interrupted);
}

class LinearModel : public TempFolder {};

TEST_F(LinearModel, FileHoldsTheLastDepth) {
  LinearOptions options;
  options.layers = {3, 6};
  const LinearResult result = linear(named("gaussian:d=3,seed=2"), options);
  save_linear(path("m.safetensors"), result, {{"data", "here"}});
  const TensorFile file = read_tensors(path("m.safetensors"));
  EXPECT_EQ(file.metadata.at("kind"), "linear");
  EXPECT_EQ(file.metadata.at("layers"), "6");
  EXPECT_EQ(file.metadata.at("data"), "here");
  const Tensor* R = file.find("R");
  ASSERT_NE(R, nullptr);
  const Eigen::Map<const RowMatrix> map(R->data<double>(), 3, 3);
  EXPECT_EQ(Matrix(map), result.problem.R);
  for (const char* tensor_name : {"polar", "descent"}) {
    const Tensor* tensor = file.find(tensor_name);
    ASSERT_NE(tensor, nullptr) << tensor_name;
    EXPECT_EQ(tensor->shape, (std::vector<Index>{6, 3, 3}));
    std::vector<Matrix> A;
    for (Index i = 0; i < 6; ++i)
      A.emplace_back(Eigen::Map<const RowMatrix>(tensor->data<double>() + 9 * i, 3, 3));
    const double rounding = product_rounding(result.problem, LinearResnet{A}.max_norm(), 6);
    EXPECT_LE((plain_product(A) - map).norm(), options.descent.tolerance * map.norm() + rounding);
  }
}

}  // namespace
}  // namespace zeroloss
