// fit of networks with many layers: gradients by differences, outcomes, resumes, forecasts, bad options.
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>

#include "support/fit_cases.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "train/deep/engine.hpp"
#include "train/deep/optimizer.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/deep/draw.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/deep/tangent.hpp"

namespace zeroloss::test {
namespace {

using namespace internal;

FitOptions layers(const std::string& optimizer, Index depth = 2, const std::string& activation = "tanh") {
  FitOptions o = small(optimizer, activation);
  o.depth = depth;
  o.width = 60;
  return o;
}

DeepNetwork network_of(Index d, Index outputs, bool residual, bool biases) {
  DeepNetwork network = draw({.d = d,
                              .outputs = outputs,
                              .widths = {6, 6, 6},
                              .activation = "tanh",
                              .residual = residual,
                              .biases = biases,
                              .seed = 3});
  if (biases)
    for (Layer& layer : network.layers)
      if (layer.residual) layer.bU = Vector::Zero(6);
  return network;
}

// J^T R, J direction and ||J_i||^2 against J J^T and against differences.
TEST(DeepEngine, DerivativesAreThoseOfDifferences) {
  for (const bool residual : {false, true})
    for (const bool biases : {false, true}) {
      const DeepNetwork network = network_of(4, 3, residual, biases);
      const RowMatrix X = sphere(5, 4, 2);
      const Moving moving(network.layers.size() + 1, true);
      DeepEngine<double> engine(network, X, moving);
      const Matrix f = engine.forward();
      const Matrix off = rounding(network, X);
      EXPECT_LE(((f - predict(network, X)).array().abs() / off.array()).maxCoeff(), 2);
      const Matrix R = Matrix::Random(5, 3);
      const Vector gradient = engine.gradient(R), direction = Vector::Random(gradient.size());
      // A product has 16 roundings a layer and direction, and |W| up to sqrt(6) of the norm of W, three
      // times.
      const Vector squares = engine.row_squares();
      const double lost = test::gamma_of(2 * 4 * 16) * std::pow(6, 1.5);
      EXPECT_NEAR((R.array() * engine.derivative(direction).array()).sum(), gradient.dot(direction),
                  lost * R.norm() * std::sqrt(squares.sum()) * direction.norm());
      const Matrix K = tangent_kernel(network, X);
      for (Index i = 0; i < 5; ++i)
        EXPECT_NEAR(squares(i), K.diagonal().segment(3 * i, 3).sum(), 2 * lost * squares(i));
      const Vector start = engine.weights;
      const double h = std::cbrt(kUnit), off_loss = (R.cwiseAbs().cwiseProduct(off)).sum();
      const auto loss = [&](const Vector& weights) {
        engine.weights = weights;
        return (R.array() * engine.forward().array()).sum();
      };
      for (Index k = 0; k < start.size(); ++k) {
        const auto slope = [&](double step) {
          const Vector moved = Vector::Unit(start.size(), k) * step;
          return (loss(start + moved) - loss(start - moved)) / (2 * step);
        };
        // Twice the step cuts off four times as much.
        const double cut_off = std::abs(slope(2 * h) - slope(h)) / 3;
        EXPECT_NEAR(slope(h), gradient(k), cut_off + difference_error(h, 0, 2 * off_loss)) << k;
      }
      engine.weights = start;
      EXPECT_EQ(flat_weights(engine.network()), flat_weights(network));
    }
}

TEST(DeepEngine, MovesOnlyWhatMoves) {
  const DeepNetwork network = network_of(4, 2, true, true);
  const RowMatrix X = sphere(5, 4, 2);
  const Matrix R = Matrix::Random(5, 2);
  const auto gradient = [&](const Moving& moving) {
    DeepEngine<double> engine(network, X, moving);
    engine.forward();
    return engine.gradient(R);
  };
  const Vector all = gradient({true, true, true, true, true});
  Vector sum = Vector::Zero(all.size());
  for (std::size_t l = 0; l < 5; ++l) {
    Moving one(5, false);
    one[l] = true;
    const Vector part = gradient(one);
    EXPECT_TRUE((part.array() != 0).any());
    sum += part;
  }
  EXPECT_EQ(sum, all);
}

TEST(DeepFit, EndsCertified) {
  const Dataset data = sphere_data(20, 8);
  for (const char* activation : {"tanh", "relu"})
    for (const bool residual : {false, true}) {
      FitOptions o = layers("gauss_newton", 3, activation);
      o.residual = residual;
      const FitResult r = fit(data, o);
      EXPECT_EQ(r.status, Status::certified) << r.conclusion;
      EXPECT_GT(r.certificate.margin, 1);
      EXPECT_GT(r.certificate.lambda_min, 0);
      ASSERT_TRUE(r.deep);
      EXPECT_EQ(r.deep->depth(), residual ? 4 : 3);
      EXPECT_TRUE(r.deep->unit);
      // What it returns is what was proved: of the points as they are.
      const double misfit = (predict(*r.deep, data.X).col(0) - data.y).norm();
      EXPECT_LE(misfit, r.certificate.misfit);
      EXPECT_NEAR(misfit / data.y.norm(), r.relative_misfit,
                  2 * rounding(*r.deep, data.X).norm() / data.y.norm());
      Progress progress;
      const ProveResult again = prove(*r.deep, data, {}, progress);
      EXPECT_TRUE(again.networks[0].certificate.exists);
      EXPECT_EQ(again.networks[0].certificate.lambda_min, r.certificate.lambda_min);
    }
}

// Points of any length, a mean that is subtracted, equal points, and a constant as tables have it.
TEST(DeepFit, ProvesOfPointsAsTheyAre) {
  Dataset data = sphere_data(20, 8);
  for (Index i = 0; i < 20; ++i) data.X.row(i) *= 3.0 + static_cast<double>(i);
  data.X.row(7) = data.X.row(3);
  data.y(7) = data.y(3);
  data.standardization.bias = 2;
  FitOptions o = layers("gauss_newton");
  o.center = true;
  const FitResult r = fit(data, o);
  EXPECT_EQ(r.status, Status::certified) << r.conclusion;
  EXPECT_EQ(r.n_distinct, 19);
  EXPECT_EQ(r.deep->constant, 2);
  EXPECT_EQ(r.deep->features(), 8);
  EXPECT_LE((predict(*r.deep, data.X).col(0) - data.y).norm(), r.certificate.misfit);
  EXPECT_LE(r.relative_misfit, r.tolerance);
}

// The mean of these is no double: without what it loses, the first two are points of their own.
TEST(DeepFit, SubtractsTheWholeMean) {
  const double far = 1.5 * 0x1p40, e = 0x1p-12;
  Dataset data = sphere_data(8, 2);
  data.X = RowMatrix{{far, 1},          {far + 4 + e, 5}, {far - 9, -3},         {far + 3, 2},
                     {far - 7 - e, -6}, {far + 6, 4},     {far - 4 - 2 * e, -1}, {far - 1, -2}};
  data.y = Vector{{1, 1, -1, 0.5, -0.5, 0.3, -1.2, 0.8}};
  FitOptions o = layers("gauss_newton");
  o.center = true;
  const FitResult r = fit(data, o);
  EXPECT_EQ(r.n_distinct, 7);
  EXPECT_EQ(r.deep->shift_low.size(), 2);
  const Matrix f = predict(*r.deep, data.X);
  DeepNetwork rest = *r.deep;  // after the mean, which is subtracted without an error
  rest.shift = rest.shift_low = Vector();
  EXPECT_NEAR(f(0, 0), f(1, 0), 2 * rounding(rest, data.X.rowwise() - r.deep->shift.transpose())(0, 0));
}

TEST(DeepFit, OneNetworkOfAllClassesOrOneOfEach) {
  const Dataset data = three_classes(21, 7);
  for (const bool separate : {false, true}) {
    FitOptions o = layers("gauss_newton");
    o.separate = separate;
    const FitResult r = fit(data, o);
    EXPECT_EQ(r.status, Status::certified) << r.conclusion;
    EXPECT_EQ(r.outputs.size(), separate ? 3u : 1u);
    EXPECT_EQ(r.layers, separate ? "all" : "hidden");
    EXPECT_EQ(r.deep->layers[0].units(), separate ? 180 : 60);
    const Matrix f = predict(*r.deep, data.X);
    for (Index i = 0; i < 21; ++i)
      for (Index k = 0; k < 3; ++k) EXPECT_NEAR(f(i, k), k == i % 3 ? 1 : -1, r.tolerance * std::sqrt(63));
    if (separate) {
      EXPECT_EQ(r.outputs[1].label, "b");
    } else {
      EXPECT_EQ(r.deep->V,
                draw({.d = 7, .outputs = 3, .widths = {60, 60}, .activation = "tanh", .biases = false}).V);
    }
  }
}

void expect_descends_as_the_infinitely_wide(Index width, int steps) {
  const Dataset data = sphere_data(15, 5);
  for (const auto& [activation, residual, trained] : {std::tuple{"relu", false, "all"},
                                                      {"tanh", false, "all"},
                                                      {"gelu", false, "hidden"},
                                                      {"relu", true, "all"}}) {
    FitOptions o = layers("gd", 2, activation);
    o.residual = residual;
    o.layers = trained;
    o.width = width;
    o.max_steps = steps;
    const FitResult r = fit(data, o);
    const CurvePoint& last = r.outputs[0].curve.back();
    ASSERT_TRUE(last.forecast) << r.forecast_missing;
    EXPECT_LT(last.relative_misfit, 0.8 * r.outputs[0].curve.front().relative_misfit);
    // J J^T fluctuates by some 1/sqrt(width) around its limit, and the logarithm of the misfit with it.
    const double fall = std::log(r.outputs[0].curve.front().relative_misfit / *last.forecast);
    EXPECT_NEAR(std::log(last.relative_misfit / *last.forecast), 0,
                4 / std::sqrt(static_cast<double>(width)) * fall)
        << activation << residual << trained;
  }
}

TEST(DeepFit, DescendsAsTheInfinitelyWideNetwork) {
  expect_descends_as_the_infinitely_wide(600, 5);
  FitOptions o = layers("gd", 2, "tanh");
  o.residual = true;
  EXPECT_EQ(fit(sphere_data(15, 5), o).forecast_missing, "of residual networks for relu and leaky_relu only");
}

TEST(DeepFit, SlowDescendsAsTheInfinitelyWideNetworkMoreClosely) {
  expect_descends_as_the_infinitely_wide(1500, 15);
}

bool same_weights(const DeepNetwork& a, const DeepNetwork& b) { return flat_weights(a) == flat_weights(b); }

// Targets times a power of two: the same run in other units, and its forecast.
TEST(DeepFit, TargetsOfAnySizeAreOfOne) {
  Dataset data = sphere_data(14, 6);
  data.y *= std::sqrt(14.0) / data.y.norm();
  for (const char* optimizer : {"gd", "momentum", "gauss_newton"})
    for (const bool residual : {false, true}) {
      FitOptions o = layers(optimizer, 2, "relu");
      o.residual = residual;
      o.max_steps = 40;
      o.stop = "tolerance";
      Dataset large = data;
      large.y *= 0x1p+17;
      const FitResult one = fit(data, o), other = fit(large, o);
      EXPECT_LT(other.relative_misfit, 0.7) << optimizer << residual;
      if (residual) continue;  // its output weights are in other units
      ASSERT_EQ(one.outputs[0].curve.size(), other.outputs[0].curve.size());
      EXPECT_EQ(one.relative_misfit, other.relative_misfit) << optimizer;
      for (std::size_t k = 0; k < one.outputs[0].curve.size(); ++k) {
        EXPECT_EQ(one.outputs[0].curve[k].relative_misfit, other.outputs[0].curve[k].relative_misfit);
        EXPECT_EQ(one.outputs[0].curve[k].forecast.has_value(),
                  other.outputs[0].curve[k].forecast.has_value());
        if (one.outputs[0].curve[k].forecast) {
          EXPECT_EQ(*one.outputs[0].curve[k].forecast, *other.outputs[0].curve[k].forecast);
        }
      }
    }
}

TEST(DeepFit, ThreadsChangeNoBit) {
  const int before = omp_get_max_threads();
  for (const auto& [optimizer, precision] : {std::pair{"gd", "float64"},
                                             {"gd", "float32"},
                                             {"sgd", "float32"},
                                             {"momentum", "float64"},
                                             {"gauss_newton", "float64"}}) {
    FitOptions o = layers(optimizer, 2, "relu");
    o.width = 600;
    o.precision = precision;
    o.max_steps = 12;
    FitResult r[2];
    for (const int threads : {1, 3}) {
      omp_set_num_threads(threads);
      r[threads / 2] = fit(three_classes(70, 9), o);
    }
    EXPECT_TRUE(same_weights(*r[0].deep, *r[1].deep)) << optimizer << precision;
    EXPECT_TRUE(same(r[0].outputs[0].curve, r[1].outputs[0].curve)) << optimizer << precision;
  }
  omp_set_num_threads(before);
}

class DeepFitResume : public TempFolder {};

TEST_F(DeepFitResume, IsBitForBitTheSameRun) {
  const Dataset data = three_classes(21, 7);
  for (const auto& [optimizer, precision] : {std::pair{"gd", "float64"},
                                             {"gd", "float32"},
                                             {"sgd", "float64"},
                                             {"momentum", "float32"},
                                             {"gauss_newton", "float64"}}) {
    FitOptions o = layers(optimizer, 2, "relu");
    o.separate = std::string(optimizer) == "momentum";
    o.precision = precision;
    o.max_steps = 60;
    o.tolerance = 1e-12;
    o.certify_every = 20;
    const FitResult whole = fit(data, o);
    o.checkpoint = path(std::string(optimizer) + precision);
    o.resume = true;
    int interruptions = 0;
    const FitResult r = in_pieces(
        4, 3, [&](Progress& progress) { return fit(data, o, progress); }, [] {}, interruptions);
    ASSERT_LT(interruptions, 300);
    EXPECT_GT(interruptions, 1) << optimizer;
    EXPECT_TRUE(same_weights(*whole.deep, *r.deep)) << optimizer << precision;
    for (std::size_t c = 0; c < whole.outputs.size(); ++c)
      EXPECT_TRUE(same(whole.outputs[c].curve, r.outputs[c].curve)) << optimizer << precision;
    EXPECT_EQ(whole.conclusion, r.conclusion);
  }
}

TEST(DeepFit, WidthsAndTestPoints) {
  Dataset data = three_classes(24, 7);
  FitOptions o = small("gauss_newton", "tanh");
  o.width = 0;
  o.widths = "50,30";
  o.test = TestSet(std::make_shared<Dataset>(three_classes(12, 7)));  // the first of the same
  const FitResult r = fit(data, o);
  EXPECT_EQ(r.deep->layers[0].units(), 50);
  EXPECT_EQ(r.deep->layers[1].units(), 30);
  EXPECT_EQ(r.width, 50);
  ASSERT_TRUE(r.test);
  EXPECT_EQ(r.test->n, 12);
  EXPECT_EQ(r.outputs[0].curve.back().test_error.value(), r.test->error);
}

TEST(DeepFit, RefusesWhatIsForOneLayer) {
  const Dataset data = sphere_data(9, 4);
  const auto refused = [&](FitOptions o, const char* words) {
    EXPECT_MESSAGE(std::invalid_argument, fit(data, o), words);
  };
  FitOptions o = layers("flow");
  refused(o, "flow is for one hidden layer");
  o = layers("output_layer");
  refused(o, "output_layer is for one hidden layer");
  o = layers("gd");
  o.scaling = "balanced";
  refused(o, "scaling");
  o = layers("gd");
  o.step = "theorem";
  refused(o, "step theorem");
  o = layers("gd", 0);
  refused(o, "depth must be from 1 to 1000; got 0");
  o = layers("gd");
  o.width = 0;
  o.widths = "4,5,6";
  refused(o, "depth is 2, but");
  o.depth = 1;
  o.widths = "4,x";
  refused(o, "widths must be whole numbers");
  o = layers("gd");
  o.layers = "9";
  refused(o, "must be auto, all, hidden");
  o = small("gd");
  o.layers = "last1";
  refused(o, "are for networks with");
  o = layers("gd");
  o.residual = true;
  o.widths = "5,6";
  o.width = 0;
  refused(o, "widths of residual layers must be equal");
}

}  // namespace
}  // namespace zeroloss::test
