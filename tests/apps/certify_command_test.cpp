// zeroloss certify from end to end: the text, the JSON object, the run folder, required properties.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/numpy.hpp"
#include "support/subprocess.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::test {
namespace {

class CertifyCommand : public TempFolder {};

const std::set<std::string> kKeys{"data",
                                  "next",
                                  "digest",
                                  "proof",
                                  "engine",
                                  "options",
                                  "conclusion",
                                  "outcome",
                                  "reason",
                                  "n",
                                  "d",
                                  "n_distinct",
                                  "task",
                                  "classes",
                                  "labels",
                                  "kernel",
                                  "network",
                                  "method",
                                  "tail",
                                  "left_out",
                                  "lambda_min",
                                  "lambda_min_verified",
                                  "rounding_loss",
                                  "lambda_max",
                                  "ridge",
                                  "norm_X",
                                  "separation",
                                  "near_pairs",
                                  "closest",
                                  "duplicates",
                                  "conflicts",
                                  "nearest",
                                  "center",
                                  "antipodal",
                                  "bottleneck",
                                  "bottleneck_distance",
                                  "bottleneck_antipodal",
                                  "complexity",
                                  "complexity_shuffled",
                                  "leave_one_out_error",
                                  "suspects",
                                  "widths",
                                  "guarantees",
                                  "forecast",
                                  "spectrum",
                                  "seconds",
                                  "peak_bytes"};

TEST_F(CertifyCommand, PrintsTheConclusionFirst) {
  const Outcome outcome = zeroloss({"certify", "digits", "--n", "400"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  const std::string start =
      "digits: 400 points, 64 features, 10 classes (0, 1, 2, 3, 4, 5, 6, 7, 8, 9); rows of unit length\n\n"
      "Any labels on these points can be fitted to zero loss by a wide enough relu network:\nlambda_min >= "
      "0.0";
  EXPECT_EQ(outcome.out.substr(0, start.size()), start);
  for (const char* part :
       {"It is held down most by samples", "guarantee", "Du et al. 2018", "Oymak & Soltanolkotabi 2019",
        "forecast at infinite width: misfit 0.001 after", "leave-one-out error"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos);
  EXPECT_NE(outcome.out.find("  time "), std::string::npos) << "of a flow, which takes no steps";
}

// What to do stands above what is known, and the theorems come last.
TEST_F(CertifyCommand, SaysWhatToDoFirst) {
  const std::string text = zeroloss({"certify", "digits", "--classes", "3,8"}).out;
  std::size_t at = 0;
  for (const char* part :
       {"Any labels on these points", "\nunseen  0 % wrong by leave-one-out",
        "\nwidth   16 hidden units are proved to fit any labels", "fewer than 7 fit almost no labels",
        "\nstep    with steps of 0.0134", "(forecast)", "\nlabels  the other samples predict each of them",
        "\nlambda_min, lambda_max", "\ntoo few below", "\nenough for any", "\nforecast at infinite width",
        "\ntheorems about random weights"}) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in order:\n" << text;
    at = found;
  }
  const std::string noisy = zeroloss({"certify", "digits", "--classes", "3,8", "--labels", "noise:0.02"}).out;
  EXPECT_NE(noisy.find("\nlabels  hardest to predict: samples "), std::string::npos) << noisy;
  EXPECT_EQ(zeroloss({"certify", "sphere:n=20,d=4,y=none"}).out.find("\nwidth   "), std::string::npos);
}

// Of numbers at random they know nothing; equal targets have no spread; a point beyond the others is on its
// own.
TEST_F(CertifyCommand, SaysOfNumbersWhatTheOthersKnow) {
  std::string random = "a,b,y\n", same = random, curve = "x,y\n";
  const auto drawn = [](int i) { return std::fmod(std::abs(std::sin(i * 12.9898)) * 43758.5453, 1); };
  for (int i = 0; i < 40; ++i) {
    random += fmt::format("{},{},{}\n", drawn(i), drawn(i + 100), drawn(i + 200));
    same += fmt::format("{},{},2.5\n", drawn(i), drawn(i + 100));
    const double x = -2 + 4 * drawn(i);
    curve += fmt::format("{},{}\n", x, std::sin(3 * x));
  }
  const auto said = [&](const std::string& text) {
    return zeroloss({"certify", write("t.csv", text), "--target", "y", "--task", "regression"}).out;
  };
  const std::string of_random = said(random);
  EXPECT_NE(
      of_random.find("\nlabels  cannot be judged: the other samples predict them no better than their mean"),
      std::string::npos)
      << of_random;
  const std::string of_same = said(same);
  EXPECT_NE(of_same.find("leave-one-out error       of no use: the targets are all the same"),
            std::string::npos)
      << of_same;
  const std::string of_curve = said(curve);
  EXPECT_NE(of_curve.find("which labels are wrong, and which at the edge of the data\n"), std::string::npos)
      << of_curve;
  EXPECT_NE(of_curve.find("another one, or these lie at the edge of the data (closed-form"),
            std::string::npos)
      << of_curve;
}

TEST_F(CertifyCommand, RowsOfWidthsAreInJsonAndFigure) {
  const Json json = answer({"certify", "digits", "--classes", "3,8", "--out", path("run")});
  ASSERT_EQ(json.at("widths").size(), 3u);
  EXPECT_EQ(json.at("widths").at(2).at("id"), "any_labels");
  EXPECT_EQ(json.at("widths").at(2).at("status"), "proved");
  EXPECT_EQ(json.at("widths").at(2).at("width"), 16);
  EXPECT_NE(content(path("run/widths.vl.json")).find("enough for any: any labels"), std::string::npos);
}

TEST_F(CertifyCommand, StreamedPointsAreThoseInMemory) {
  RowMatrix X(300, 7);
  for (Index i = 0; i < X.size(); ++i) X.data()[i] = std::cos(static_cast<double>(i * i % 911));
  X.row(17) = 2 * X.row(211);
  write("X.npy", npy(X));
  const Json memory = answer({"certify", path("X.npy"), "--method", "tail"}),
             stored = answer({"certify", path("X.npy"), "--stream"});
  EXPECT_EQ(stored.at("method"), "tail");
  for (const char* key : {"n", "d", "digest", "outcome", "n_distinct", "duplicates", "closest", "separation"})
    EXPECT_EQ(memory.at(key), stored.at(key)) << key;
  EXPECT_EQ(memory.at("lambda_min_verified"), stored.at("lambda_min_verified"));

  write("t.csv", "a,b\n1,2\n3,4\n");
  const Outcome table = zeroloss({"certify", path("t.csv"), "--stream"});
  EXPECT_EQ(table.exit_code, 2);
  EXPECT_NE(table.err.find("a table is not read by blocks; save it as npy"), std::string::npos) << table.err;
  const Outcome factor = zeroloss({"certify", path("X.npy"), "--stream", "--method", "factor"});
  EXPECT_EQ(factor.exit_code, 2);
  EXPECT_NE(factor.err.find("left in their file"), std::string::npos) << factor.err;
}

TEST_F(CertifyCommand, SlowPointsThatDoNotFitAreStreamed) {
  RowMatrix X(20'000, 1'000);  // 160 MB; in memory 400 MB would be needed
  for (Index i = 0; i < X.size(); ++i) X.data()[i] = std::cos(static_cast<double>(i % 1'000'003 * i % 7919));
  write("X.npy", npy(X));
  const Outcome outcome =
      run_program("sh", {"-c", "ulimit -v 620000; exec \"$0\" certify \"$1\" --json --threads 1",
                         ZEROLOSS_COMMAND, path("X.npy")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("method"), "tail");
  EXPECT_LT(Json::parse(outcome.out).at("peak_bytes").get<double>(), 300e6);
}

TEST_F(CertifyCommand, SlowAllDigits) {
  const Json json = answer({"certify", "digits"});
  EXPECT_EQ(json.at("n"), 1797);
  EXPECT_EQ(json.at("outcome"), "verified");
  EXPECT_EQ(json.at("digest"), sha256_file(ZEROLOSS_SOURCE_DIR "/data/digits.csv.gz"));
  EXPECT_GT(json.at("suspects").size(), 0u);
}

TEST_F(CertifyCommand, JsonHasEveryKey) {
  const Json json =
      answer({"certify", "digits", "--n", "100", "--spectrum", "--all-bounds", "--width", "1e9"});
  EXPECT_EQ(keys(json), kKeys);
  for (const auto& key : kKeys) {
    if (!std::set<std::string>{"reason", "center", "nearest", "tail", "left_out", "engine"}.contains(key)) {
      EXPECT_FALSE(json.at(key).is_null()) << key;
    }
  }
  EXPECT_EQ(json.at("n"), 100);
  EXPECT_EQ(json.at("d"), 64);
  EXPECT_EQ(json.at("task"), "classification");
  EXPECT_EQ(json.at("classes").size(), 10u);
  EXPECT_EQ(json.at("complexity").size(), 10u);
  EXPECT_EQ(json.at("spectrum").size(), 100u);
  EXPECT_EQ(json.at("options").at("width"), 1e9);
  const double verified = json.at("lambda_min_verified"), computed = json.at("lambda_min"),
               largest = json.at("lambda_max");
  EXPECT_GT(verified, 0);
  EXPECT_LE(verified, computed);
  EXPECT_LT(computed, largest);
  const double off = 2 * backward_error(100) * largest;
  EXPECT_NEAR(json.at("spectrum").front(), computed, off);
  EXPECT_NEAR(json.at("spectrum").back(), largest, off);
  ASSERT_GT(json.at("guarantees").size(), 0u);
  for (const Json& guarantee : json.at("guarantees"))
    EXPECT_EQ(keys(guarantee), (std::set<std::string>{"id", "theorem", "lambda_from", "lambda_bound",
                                                      "verified", "flow", "holds", "width", "step", "rate",
                                                      "steps", "failure_probability", "reason"}));
  EXPECT_EQ(keys(json.at("bottleneck").at(0)), (std::set<std::string>{"sample", "label", "id", "weight"}));
  EXPECT_GE(json.at("seconds").get<double>(), 0);
  EXPECT_GT(json.at("peak_bytes").get<double>(), 0);
}

TEST_F(CertifyCommand, WithoutLabelsWhatDependsOnThemIsNull) {
  const Json json = answer({"certify", "sphere:n=30,d=5,y=none"});
  EXPECT_EQ(keys(json), kKeys);
  EXPECT_EQ(json.at("outcome"), "verified");
  for (const char* key : {"task", "classes", "labels", "conflicts", "complexity", "complexity_shuffled",
                          "leave_one_out_error", "suspects", "forecast"})
    EXPECT_TRUE(json.at(key).is_null()) << key;
  const Outcome text = zeroloss({"certify", "sphere:n=30,d=5,y=none"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("30 points, 5 features, no labels"), std::string::npos);
}

TEST_F(CertifyCommand, NumbersAreTheSameWithAndWithoutLabels) {
  const Json with = answer({"certify", "sphere:n=30,d=5"}),
             without = answer({"certify", "sphere:n=30,d=5,y=none"});
  EXPECT_EQ(with.at("task"), "regression");
  EXPECT_NEAR(with.at("lambda_min"), without.at("lambda_min").get<double>(),
              2 * backward_error(30) * with.at("lambda_max").get<double>());
}

TEST_F(CertifyCommand, TheTailNeedsNoKernel) {
  const Json json = answer({"certify", "digits", "--classes", "3,8", "--method", "tail", "--passes", "2"});
  EXPECT_EQ(keys(json), kKeys);
  EXPECT_EQ(json.at("method"), "tail");
  EXPECT_EQ(json.at("outcome"), "verified");
  EXPECT_GT(json.at("lambda_min_verified").get<double>(), 0.0115);
  EXPECT_EQ(keys(json.at("tail")), (std::set<std::string>{"power", "diagonal", "row_sum", "passes"}));
  EXPECT_EQ(json.at("tail").at("passes").size(), 2u);
  for (const char* key : {"lambda_min", "lambda_max", "rounding_loss", "forecast", "leave_one_out_error"})
    EXPECT_TRUE(json.at(key).is_null()) << key;
  const Outcome text =
      zeroloss({"certify", "digits", "--n", "100", "--method", "tail", "--out", path("run")});
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part :
       {"lambda_min >= 0.0", "This bound is held down most by samples", "kernel's power series",
        "pass over all pairs", "(--method factor): what lambda_min is", "Thm 6.3"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  for (const char* part : {"nan", "lost to rounding", "leave-one-out error", "`"})
    EXPECT_EQ(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  refused({"certify", "digits", "--method", "tail", "--spectrum"}, {"spectrum needs the kernel itself"});
  refused({"certify", "digits", "--method", "cholesky"}, {"--method"});
}

TEST_F(CertifyCommand, OfManyLayersSaysWhatIsLeftOut) {
  const std::vector<std::string> words{"certify", "digits", "--classes", "3,8", "--depth", "3", "--residual"};
  const Outcome text = zeroloss(words);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.out.find("hidden units"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("theorems about random weights\n"), std::string::npos) << text.out;
  for (const char* said : {"residual relu network of 3 blocks", "E[phi(g)^2] = 1", "left out", "(--depth 1)"})
    EXPECT_NE(text.out.find(said), std::string::npos) << said << " in\n" << text.out;
  auto json_words = words;
  json_words.insert(json_words.end(), {"--require", "certified"});
  const Json json = answer(json_words);
  EXPECT_EQ(keys(json), kKeys);
  EXPECT_EQ(json.at("kernel"), "Theta_L(relu, 3 blocks, a = 1)");
  EXPECT_EQ(json.at("options").at("depth"), 3);
  EXPECT_EQ(json.at("options").at("residual"), true);
  EXPECT_TRUE(json.at("guarantees").empty());
  EXPECT_TRUE(json.at("widths").empty());
  const Outcome tail = zeroloss({"certify", "digits", "--depth", "2", "--method", "tail"});
  EXPECT_EQ(tail.exit_code, 0);
  EXPECT_NE(tail.out.find("(--method factor)"), std::string::npos) << tail.out;
}

TEST_F(CertifyCommand, WritesARunFolderOnce) {
  const Arguments arguments{"certify", "digits", "--classes",  "3,8",   "--n",      "80",
                            "--seed",  "4",      "--spectrum", "--out", path("run")};
  const Json json = answer(arguments);

  EXPECT_EQ(json_of(path("run/result.json")), json);
  const Json manifest = json_of(path("run/manifest.json"));
  EXPECT_EQ(manifest.at("kind"), "certify");
  EXPECT_EQ(manifest.at("version"), ZEROLOSS_VERSION);
  EXPECT_EQ(manifest.at("options").at("seed"), 4);
  EXPECT_EQ(manifest.at("data").at("digest"), sha256_file(ZEROLOSS_SOURCE_DIR "/data/digits.csv.gz"));
  Arguments command = manifest.at("command").get<Arguments>();
  command.erase(command.begin());
  EXPECT_EQ(command, with(arguments, {"--json"}));
  for (const char* key : {"options", "machine", "finished", "seconds", "peak_bytes"})
    EXPECT_TRUE(manifest.contains(key)) << key;

  for (const char* name : {"forecast.vl.json", "widths.vl.json", "spectrum.vl.json"}) {
    const Json chart = json_of(folder / "run" / name);
    EXPECT_EQ(chart.at("$schema"), "https://vega.github.io/schema/vega-lite/v5.json") << name;
    EXPECT_GT(chart.at("data").at("values").size(), 0u) << name;
  }
  const std::string header = "step,misfit,standard_error\n", csv = content(path("run/forecast.csv"));
  EXPECT_EQ(csv.substr(0, header.size()), header);
  const Json steps = json.at("forecast").at("at_step");
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), steps.size() + 1);

  refused(arguments, {"exists already"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

// data/digits.csv.gz: 64 values of 0..16 a record. The picture of a record is its row, 16 being ff.
TEST_F(CertifyCommand, ImagesAreInTheRunFolder) {
  ASSERT_EQ(zeroloss({"certify", "digits", "--n", "60", "--out", path("run")}).exit_code, 0);
  const Json pictures = json_of(folder / "run" / "pictures.json");
  EXPECT_EQ(pictures.at("height"), 8);
  EXPECT_EQ(pictures.at("width"), 8);
  EXPECT_EQ(pictures.at("channels"), 1);
  const Json result = json_of(folder / "run" / "result.json");
  for (const Json& suspect : result.at("suspects"))
    EXPECT_TRUE(pictures.at("samples").contains(std::to_string(suspect.at("sample").get<int>()))) << suspect;
  const Dataset digits = read_dataset("digits");
  ASSERT_FALSE(pictures.at("samples").empty());
  for (const auto& [record, pixels] : pictures.at("samples").items()) {
    const std::string text = pixels;
    ASSERT_EQ(text.size(), 128u);
    for (Index k = 0; k < 64; ++k)
      EXPECT_EQ(std::stoi(text.substr(static_cast<std::size_t>(2 * k), 2), nullptr, 16),
                std::lround(digits.X(std::stol(record), k) * 255 / 16));
  }
}

// 3 planes of 32 x 32; the pixel side by side has red first.
TEST_F(CertifyCommand, ColoursOfAPixelStandTogether) {
  std::string csv;
  for (int row = 0; row < 3; ++row) {
    for (int k = 0; k < 3072; ++k) csv += fmt::format("{}{}", k ? "," : "", row == k % 3 ? 255 : k / 1024);
    csv += "\n";
  }
  ASSERT_EQ(zeroloss({"certify", write("points.csv", csv), "--out", path("run")}).exit_code, 0);
  const Json pictures = json_of(folder / "run" / "pictures.json");
  EXPECT_EQ(pictures.at("height"), 32);
  EXPECT_EQ(pictures.at("channels"), 3);
  const std::string first = pictures.at("samples").at("0");
  ASSERT_EQ(first.size(), 2u * 3072);
  EXPECT_EQ(first.substr(0, 12),
            "ff0102"
            "0001ff");  // 1024 = 1 mod 3, 2048 = 2 mod 3
}

TEST_F(CertifyCommand, OtherPointsAreNoImages) {
  ASSERT_EQ(zeroloss({"certify", "sphere:n=10,d=64", "--out", path("negative")}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("negative/pictures.json")));
  ASSERT_EQ(zeroloss({"certify", "digits", "--n", "20", "--d", "10", "--out", path("projected")}).exit_code,
            0);
  EXPECT_FALSE(std::filesystem::exists(path("projected/pictures.json")));
}

TEST_F(CertifyCommand, ARunThatCannotBeWrittenIsAMissingResource) {
  refused({"certify", "sphere:n=10,d=3", "--out", write("file", "x") + "/run"}, {"cannot be created"}, 3);
}

int require(const std::string& property, const std::string& data = "sphere:n=30,d=5") {
  return zeroloss({"certify", data, "--require", property}).exit_code;
}

TEST_F(CertifyCommand, ARequiredPropertyDecidesTheExitCode) {
  EXPECT_EQ(require("certified"), 0);
  EXPECT_EQ(require("conflict-free"), 0);
  EXPECT_EQ(require("conflict-free", "sphere:n=30,d=5,y=none"), 0);
  EXPECT_EQ(require("lambda_min>=1e-3"), 0);
  EXPECT_EQ(require("lambda_min>=1e-400"), 0);
  EXPECT_EQ(require("lambda_min>=0.25"), 1);
  EXPECT_EQ(require("lambda_min>=-1"), 0);
}

TEST_F(CertifyCommand, AFailedRequirementStillAnswers) {
  const Outcome outcome = zeroloss(
      {"certify", "sphere:n=30,d=5", "--json", "--require", "lambda_min>=9", "--require", "certified"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "zeroloss: required property does not hold: lambda_min>=9\n");
  EXPECT_EQ(Json::parse(outcome.out).at("outcome"), "verified");
}

TEST_F(CertifyCommand, TheRequiredBoundIsTheVerifiedOne) {
  const Json json = answer({"certify", "sphere:n=30,d=5"});
  EXPECT_LT(json.at("lambda_min_verified").get<double>(), json.at("lambda_min").get<double>());
  EXPECT_EQ(require("lambda_min>=" + json.at("lambda_min").dump()), 1);
}

TEST_F(CertifyCommand, EveryActivationAnswers) {
  for (const std::string name : {"relu", "softplus", "tanh", "sigmoid", "erf", "gelu", "silu", "quadratic"}) {
    const Json json = answer({"certify", "sphere:n=12,d=6", "--activation", name});
    EXPECT_EQ(json.at("outcome"), "verified") << name;
    EXPECT_EQ(json.at("options").at("activation"), name);
  }
}

}  // namespace
}  // namespace zeroloss::test
