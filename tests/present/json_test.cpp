// JSON of answers and the lists of fields say the same.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/fit_cases.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/present/certify.hpp"
#include "zeroloss/present/conv.hpp"
#include "zeroloss/present/fit.hpp"
#include "zeroloss/present/linear.hpp"
#include "zeroloss/present/memorize.hpp"
#include "zeroloss/present/sweep.hpp"

namespace zeroloss::test {
namespace {

using Json = nlohmann::ordered_json;
using Keys = std::set<std::string>;

Keys keys_of(const Json& json) {
  Keys keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

/// Of the fields that are told, and of `others`.
template <class S>
Keys fields_of(const Keys& others = {}) {
  Keys keys = others;
  const auto blank = std::make_unique<const S>();
  fields(*blank, [&](const Field& field, const auto&) {
    if (field.serialized) keys.insert(field.json_key());
  });
  return keys;
}

/// Every text in it: none is empty, but for the names in lists.
void expect_no_empty_text(const Json& json, const std::string& at = "") {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) expect_no_empty_text(value, at + "/" + key);
    EXPECT_NE(value, "") << at << "/" << key;
  }
}

TEST(AnswersJson, OfFitIsItsFields) {
  Dataset data = three_classes(12, 4);
  data.X.row(7) = data.X.row(0);  // a conflict
  for (Index i = 0; i < 12; ++i) data.records.push_back(i);
  FitOptions options = small();
  const Json json = Json::parse(fit_json(data, options, fit(data, options)));
  EXPECT_EQ(keys_of(json), fields_of<FitResult>({"data", "digest", "labels", "options", "next"}));
  EXPECT_EQ(keys_of(json["options"]), fields_of<FitOptions>());
  EXPECT_EQ(keys_of(json["certificate"]), fields_of<Certificate>());
  EXPECT_EQ(keys_of(json["per_class"][0]), fields_of<OutputResult>());
  EXPECT_EQ(keys_of(json["per_class"][0]["theorem"]), fields_of<TheoremBeside>());
  EXPECT_EQ(keys_of(json["conflicts"][0][0]), (Keys{"sample", "label", "id"}));
  EXPECT_TRUE(json["certificate"]["radius"].is_null());
  expect_no_empty_text(json);
}

TEST(AnswersJson, OfCertifyIsItsFields) {
  const Dataset data = three_classes(12, 4);
  CertifyOptions options;
  const Json json = Json::parse(certify_json(data, options, certify(data, options)));
  EXPECT_EQ(keys_of(json), fields_of<CertifyResult>({"data", "digest", "labels", "options", "next"}));
  EXPECT_EQ(keys_of(json["options"]), fields_of<CertifyOptions>());
  EXPECT_EQ(keys_of(json["guarantees"][0]), fields_of<Guarantee>());
  EXPECT_EQ(keys_of(json["forecast"]), fields_of<Forecast>());
  EXPECT_EQ(keys_of(json["bottleneck"][0]), (Keys{"sample", "label", "id", "weight"}));
  expect_no_empty_text(json);
}

TEST(AnswersJson, OfSweepIsItsFields) {
  SweepOptions options;
  options.axes.n = {4};
  options.axes.d = {2, 3};
  options.axes.width = {8};
  options.trials = 2;
  options.fit.max_steps = 20;
  const Json json = Json::parse(sweep_json(options, sweep("sphere:", options)));
  EXPECT_EQ(keys_of(json), fields_of<SweepResult>({"options", "next"}));
  EXPECT_EQ(keys_of(json["cells"][0]), fields_of<CellResult>());
  EXPECT_EQ(keys_of(json["panels"][0]), fields_of<Panel>({"transition"}));
  Keys keys = fields_of<SweepOptions>({"seed"});
  fields(options.fit, [&](const Field& field, const auto&) {
    if (field.trial) keys.insert(field.name);
  });
  EXPECT_EQ(keys_of(json["options"]), keys);
  expect_no_empty_text(json);
}

TEST(AnswersJson, OfLinearIsItsFields) {
  const NamedProblem named = read_linear_problem("gaussian:d=3");
  for (const bool train : {true, false}) {
    LinearOptions options;
    options.layers = {2, 40};
    options.train = train;
    const Json json = Json::parse(linear_json(named, options, linear(named.problem, options)));
    Keys descent = fields_of<DescentResult>();
    descent.merge(fields_of<Landscape>({"in_domain"}));
    if (train) {
      Keys one = descent;
      one.insert("layers");
      EXPECT_EQ(keys_of(json["training"][0]), one);
    }
    descent.merge(fields_of<LinearResult>({"data", "digest", "options", "next", "sigma_min", "sigma_max",
                                           "least_risk", "layers", "factorizations", "missing", "training"}));
    EXPECT_EQ(keys_of(json), descent);
    EXPECT_EQ(json["steps"].is_null(), !train);
    EXPECT_EQ(keys_of(json["options"]), fields_of<LinearOptions>());
    EXPECT_EQ(keys_of(json["factorizations"][0]), fields_of<Factorization>());
    expect_no_empty_text(json);
  }
}

TEST(AnswersJson, OfMemorizeIsItsFields) {
  Dataset data = three_classes(12, 4);
  for (Index i = 0; i < 12; ++i) data.records.push_back(i);
  MemorizeOptions options;
  const Json json = Json::parse(memorize_json(data, options, memorize(data, options)));
  EXPECT_EQ(keys_of(json), fields_of<MemorizeResult>({"data", "digest", "labels", "options", "next"}));
  EXPECT_EQ(keys_of(json["options"]), fields_of<MemorizeOptions>());
  EXPECT_EQ(keys_of(json["tried"][0]), fields_of<MemorizeAttempt>());
  expect_no_empty_text(json);
}

TEST(AnswersJson, OfConvIsItsFields) {
  ImageSet images;
  images.name = "images";
  images.class_names = {"a", "b"};
  ConvResult result;
  const Json json = Json::parse(conv_json(images, {}, result));
  EXPECT_EQ(keys_of(json), fields_of<ConvResult>({"data", "digest", "labels", "corrupt", "architecture",
                                                  "options", "next", "images_per_s"}));
  EXPECT_EQ(keys_of(json["options"]), fields_of<ConvOptions>());
  EXPECT_EQ(keys_of(json["architecture"]), fields_of<ConvArchitecture>());
  EXPECT_EQ(keys_of(json["architecture"]["stages"][0]), fields_of<ConvStage>());
  EXPECT_TRUE(json["train"].is_null());
  result.train = ConvEvaluation{.n = 2, .confusion = {{1, 0}, {1, 0}}, .per_class_error = {0, NAN}};
  const Json train = Json::parse(conv_json(images, {}, result))["train"];
  EXPECT_EQ(keys_of(train), fields_of<ConvEvaluation>({"class_names"}));
  EXPECT_TRUE(train["per_class_error"][1].is_null());
  expect_no_empty_text(json);
}

class Manifest : public TempFolder {};

TEST_F(Manifest, HasTheFieldsOfReading) {
  Dataset data = sphere_data(9, 4);
  const FitOptions options = small();
  RunFolder folder(path("run"));
  write_fit(folder, data, {}, options, fit(data, options), {"zeroloss", "fit", "it's"});
  const Json manifest = Json::parse(std::ifstream(path("run") + "/manifest.json"));
  EXPECT_EQ(keys_of(manifest["data"]), fields_of<ReadOptions>({"name", "digest"}));
  EXPECT_EQ(keys_of(manifest["options"]), fields_of<FitOptions>());
  EXPECT_EQ(manifest["command"][2], "it's");
  EXPECT_TRUE(manifest["data"]["target"].is_null());
}

}  // namespace
}  // namespace zeroloss::test
