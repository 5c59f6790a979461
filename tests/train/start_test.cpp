// Training from weights of one's own: the bits of a drawn start, certificates of these very weights, files,
// refusals.
#include "zeroloss/train/start.hpp"

#include <gtest/gtest.h>

#include "support/fit_cases.hpp"
#include "support/numpy.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/network/model.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss::test {
namespace {

class FitStart : public TempFolder {
 protected:
  /// The model file of a run that has taken no step.
  std::string file_of_drawn(const Dataset& data, FitOptions o,
                            const std::string& name = "model.safetensors") {
    o.max_steps = 0;
    save_model(path(name), fit(data, o).network);
    return path(name);
  }
};

FitOptions from(FitOptions o, const Start& start) {
  o.start = start;
  o.width = start.width();
  return o;
}

// Measured numbers alone: the forecast is of drawn weights only.
bool measured_same(const OutputResult& a, const OutputResult& b) {
  auto plain = [](std::vector<CurvePoint> curve) {
    for (CurvePoint& p : curve) p.forecast = std::nullopt;
    return curve;
  };
  return same(plain(a.curve), plain(b.curve));
}

TEST_F(FitStart, FromTheFileOfADrawnNetworkIsTheDrawnRunBitForBit) {
  for (const auto& data : {sphere_data(21, 7), three_classes(21, 7)})
    for (const OptimizerFacts& facts : optimizers())
      for (const char* precision : {"float64", "float32"})
        for (const Index width : {60, 300}) {  // the small trainer's and the large one's
          if (facts.infinite) continue;        // no weights
          if (!facts.float32 && std::string(precision) == "float32") continue;
          FitOptions o = small(std::string(facts.name), "relu");
          o.precision = precision;
          o.width = width;
          o.seed = 3;
          o.max_steps = 30;
          const FitResult drawn = fit(data, o);
          const Start start = read_start(file_of_drawn(data, o));
          const FitResult given = fit(data, from(o, start));
          const auto what = std::string(facts.name) + " " + precision;
          EXPECT_TRUE(same(drawn.network, given.network)) << what;
          EXPECT_EQ(drawn.status, given.status) << what;
          EXPECT_EQ(drawn.certificate.radius, given.certificate.radius) << what;
          for (std::size_t c = 0; c < drawn.outputs.size(); ++c)
            EXPECT_TRUE(measured_same(drawn.outputs[c], given.outputs[c])) << what;
        }
}

TEST_F(FitStart, NoStepsCertifyTheseVeryWeights) {
  const Dataset data = sphere_data(30, 10);
  const FitResult trained = fit(data, small("gauss_newton", "relu"));
  ASSERT_EQ(trained.status, Status::certified);
  save_model(path("model.safetensors"), trained.network);
  FitOptions o = from(small("gd", "relu"), read_start(path("model.safetensors")));
  o.max_steps = 0;
  const FitResult again = fit(data, o);
  EXPECT_EQ(again.status, Status::certified) << again.conclusion;
  EXPECT_EQ(again.steps, 0);
  EXPECT_EQ(again.certificate.radius, trained.certificate.radius);
  EXPECT_TRUE(same(again.network, trained.network));

  TwoLayer moved = trained.network.outputs[0];
  moved.W *= 1.5;
  const FitResult other = fit(data, [&] {
    FitOptions p = from(o, start_of({moved}));
    p.max_steps = 0;
    return p;
  }());
  EXPECT_GT(other.certificate.misfit, 1e3 * trained.certificate.misfit) << "of the weights that were given";
}

TEST(Start, WithoutVHasTheSignsThatAreDrawn) {
  const Dataset data = sphere_data(12, 5);
  const TwoLayer drawn = draw({.width = 60, .d = 5, .seed = 4});
  FitOptions o = small();
  o.seed = 4;
  o.max_steps = 20;
  const FitResult whole = fit(data, o);
  const FitResult given = fit(data, from(o, start_of({{drawn.W, {}}})));
  EXPECT_TRUE(same(whole.network, given.network));
  TwoLayer other = drawn;
  other.v *= -1;
  EXPECT_TRUE(fit(data, from(o, start_of({other}))).network.outputs[0].v == -drawn.v);
}

TEST(Start, NoTheoremHoldsForWeightsThatWereGiven) {
  FitOptions o = small("gd", "softplus");
  o.scaling = "balanced";
  o.width = 60'000;
  o.step = "theorem";
  o.max_steps = 2;
  o.certify_every = 0;
  const Dataset data = regression(RowMatrix::Identity(8, 8), normals(8));
  const FitResult drawn = fit(data, o);
  ASSERT_TRUE(drawn.outputs[0].theorem.holds) << drawn.outputs[0].theorem.reason;
  ASSERT_TRUE(drawn.outputs[0].curve[0].forecast);
  FitOptions zero = o;
  zero.max_steps = 0;
  const FitResult given = fit(data, from(o, start_of(fit(data, zero).network.outputs)));
  const TheoremBeside& t = given.outputs[0].theorem;
  EXPECT_EQ(t.id, drawn.outputs[0].theorem.id);
  EXPECT_FALSE(t.holds);
  EXPECT_NE(t.reason.find("independent N(0, 1) entries"), std::string::npos) << t.reason;
  EXPECT_FALSE(given.outputs[0].curve[0].forecast);
  EXPECT_NE(given.forecast_missing.find("Gaussian"), std::string::npos) << given.forecast_missing;
  EXPECT_TRUE(same(drawn.network, given.network));
}

TEST(Start, IsRoundedToThePrecision) {
  const Dataset data = sphere_data(9, 4);
  FitOptions o = small();
  o.precision = "float32";
  o.max_steps = 0;
  TwoLayer weights{RowMatrix::Constant(3, 4, 0.1), Vector::Constant(3, 0.3)};
  const FitResult r = fit(data, from(o, start_of({weights})));
  EXPECT_EQ(r.network.outputs[0].W(2, 3), static_cast<double>(0.1F));
  EXPECT_EQ(r.network.outputs[0].v(0), static_cast<double>(0.3F));
  weights.W(1, 1) = 1e39;
  EXPECT_MESSAGE(std::invalid_argument, fit(data, from(o, start_of({weights}))),
                 "beyond the range of float32");
}

TEST(Start, OfImpossibleWeightsIsRefused) {
  const RowMatrix W = RowMatrix::Ones(3, 4);
  EXPECT_MESSAGE(std::invalid_argument, start_of({}), "arrays: no weights");
  EXPECT_MESSAGE(std::invalid_argument, start_of({{W, Vector::Ones(2)}}), "different sizes", "[m, d]");
  EXPECT_MESSAGE(std::invalid_argument, start_of({{W, {}}, {W, Vector::Ones(3)}}), "different sizes");
  EXPECT_MESSAGE(std::invalid_argument, start_of({{W * INFINITY, {}}}), "not finite");
  EXPECT_NE(start_of({{W, {}}}), start_of({{2 * W, {}}}));
  EXPECT_EQ(start_of({{W, {}}}), start_of({{W, {}}}, "elsewhere")) << "it is what it is, wherever it is from";
  EXPECT_EQ(text_of(Start()), "gaussian");
}

TEST(Start, ThatDoesNotFitTheDataIsRefused) {
  const Dataset data = sphere_data(9, 4);
  const auto refused = [&](const Start& start) {
    return message_of<DataError>([&] { fit(data, from(small(), start)); });
  };
  EXPECT_NE(refused(start_of({{RowMatrix::Ones(3, 5), {}}})).find("has W of 5 columns"), std::string::npos);
  const TwoLayer one{RowMatrix::Ones(3, 4), {}};
  EXPECT_NE(refused(start_of({one, one})).find("weights of 2 outputs; points needs 1"), std::string::npos);
  EXPECT_MESSAGE(DataError, fit(three_classes(9, 4), from(small(), start_of({one}))),
                 "needs 3, one for each");
  FitOptions o = from(small(), start_of({one}));
  o.width = 7;
  EXPECT_MESSAGE(std::invalid_argument, fit(data, o), "width is 7", "3 hidden units", "leave `width` out");
}

TEST_F(FitStart, OfAModelThatMeansSomethingElseIsRefused) {
  const Dataset data = sphere_data(9, 4);
  const auto start = [&](const FitOptions& o, const Dataset& on) { return read_start(file_of_drawn(on, o)); };
  FitOptions balanced = small(), centred = small();
  balanced.scaling = "balanced";
  centred.center = true;
  EXPECT_MESSAGE(std::invalid_argument, fit(data, from(small(), start(small("gd", "relu"), data))),
                 "activation relu, not softplus", "`activation=relu`");
  EXPECT_MESSAGE(std::invalid_argument, fit(data, from(small(), start(balanced, data))),
                 "`scaling=balanced`");
  EXPECT_MESSAGE(DataError, fit(data, from(small(), start(centred, data))), "points that are centred");
  EXPECT_MESSAGE(DataError, fit(data, from(centred, start(small(), data))), "points that are not centred");
  EXPECT_MESSAGE(DataError, fit(data, from(centred, start(centred, sphere_data(9, 4, 5)))), "another point");
  EXPECT_MESSAGE(DataError, fit(three_classes(9, 4), from(small(), start(small(), data))),
                 "trained for regression", "classification of");

  Dataset standardised = data, wider = data;
  standardised.standardization = standardization(data.X * 100, "yes", 0);
  wider.standardization = standardization(data.X, "no", 1);
  EXPECT_MESSAGE(DataError, fit(standardised, from(small(), start(small(), data))), "another scale");
  EXPECT_MESSAGE(DataError, fit(wider, from(small(), start(small(), data))), "constant 0 appended");
  EXPECT_EQ(fit(wider, from(small(), start(small(), wider))).network.d(), 5)
      << "W is that of points as trained";
  EXPECT_MESSAGE(DataError, fit(wider, from(small(), start_of({{RowMatrix::Ones(3, 4), {}}}))),
                 "the points of points have 5 numbers, the constant included");
}

TEST_F(FitStart, ReadsFilesOfMatrices) {
  const RowMatrix W = normals(24).reshaped<Eigen::RowMajor>(6, 4);
  const Vector v = normals(6);
  const auto is = [&](const Start& start, bool with_v) {
    EXPECT_EQ(start.network->outputs.size(), 1u);
    EXPECT_EQ(start.network->outputs[0].W, W);
    EXPECT_EQ(start.has_v(), with_v);
    if (with_v) {
      EXPECT_EQ(start.network->outputs[0].v, v);
    }
    EXPECT_EQ(start.digest, sha256_file(start.source));
  };
  const auto tensors = [&](const std::string& name, const std::vector<TensorView>& views) {
    write_tensors(path(name), views);
    return path(name);
  };
  is(read_start(tensors("Wv.safetensors", {view_of("W", {6, 4}, W.data()), view_of("v", {6}, v.data())})),
     true);
  is(read_start(tensors("W.safetensors", {view_of("W", {6, 4}, W.data())})), false);
  is(read_start(write("W.npy", npy(W))), false);
  write_npz(path("Wv.npz"), {{"W", npy(W)}, {"v", npy(v, "(6,)")}});
  is(read_start(path("Wv.npz")), true);

  const Rows<float> singles = W.cast<float>();
  EXPECT_EQ(
      read_start(tensors("f.safetensors", {view_of("W", {6, 4}, singles.data())})).network->outputs[0].W,
      singles.cast<double>());
  // Of three classes: 3 x 2 x 4 and 3 x 2.
  write_npz(path("K.npz"), {{"W", npy(W, "(3, 2, 4)")}, {"v", npy(v, "(3, 2)")}});
  for (const Start& start :
       {read_start(path("K.npz")), read_start(tensors("K.safetensors", {view_of("W", {3, 2, 4}, W.data()),
                                                                        view_of("v", {3, 2}, v.data())}))}) {
    ASSERT_EQ(start.network->outputs.size(), 3u);
    EXPECT_EQ(start.network->outputs[2].W, W.bottomRows(2));
    EXPECT_EQ(start.network->outputs[1].v, v.segment(2, 2));
  }
}

TEST_F(FitStart, RefusesOtherFiles) {
  const RowMatrix W = RowMatrix::Ones(6, 4);
  const auto tensors = [&](const std::vector<TensorView>& views, const Metadata& metadata = {}) {
    write_tensors(path("t.safetensors"), views, metadata);
    return path("t.safetensors");
  };
  EXPECT_MESSAGE(DataError, read_start(tensors({view_of("weight", {6, 4}, W.data())})), "t.safetensors",
                 "weight of [6, 4]", "W of shape [m, d]");
  EXPECT_MESSAGE(DataError,
                 read_start(tensors({view_of("W", {6, 4}, W.data()), view_of("v", {4}, W.data())})),
                 "v of [4]", "v of [m]");
  EXPECT_MESSAGE(DataError, read_start(tensors({view_of("W", {24}, W.data())})), "W of [24]");
  EXPECT_MESSAGE(DataError, read_start(tensors({view_of("W", {6, 4}, W.data())}, {{"kind", "memorizer"}})),
                 "memorizer");
  const std::vector<std::int64_t> integers(24);
  EXPECT_MESSAGE(DataError, read_start(tensors({view_of("W", {6, 4}, integers.data())})), "I64",
                 "F64 or F32");
  write_npz(path("t.npz"), {{"X", npy(W)}});
  EXPECT_MESSAGE(DataError, read_start(path("t.npz")), "X of [6, 4]", "expected W");
  EXPECT_MESSAGE(DataError, read_start(write("t.csv", "1,2\n3,4\n")), "t.csv");
  EXPECT_MESSAGE(DataError, read_start(path("gausian")), "gausian: no such file", "expected gaussian");
  const RowMatrix broken = W * NAN;
  EXPECT_MESSAGE(DataError, read_start(tensors({view_of("W", {6, 4}, broken.data())})), "not finite");
}

TEST_F(FitStart, AnotherOneIsNotResumed) {
  const Dataset data = sphere_data(9, 4);
  const TwoLayer weights = draw({.width = 60, .d = 4, .seed = 8});
  FitOptions o = from(small(), start_of({weights}));
  o.checkpoint = path("checkpoint");
  const FitResult whole = fit(data, o);
  o.resume = true;
  EXPECT_TRUE(same(fit(data, o).network, whole.network));
  EXPECT_MESSAGE(std::invalid_argument, fit(data, from(o, start_of({{2 * weights.W, weights.v}}))),
                 "resume: start was " + o.start.digest);
  o.start = {};
  EXPECT_MESSAGE(std::invalid_argument, fit(data, o), "is gaussian now");
}

}  // namespace
}  // namespace zeroloss::test
