// What the last line of an answer advises, and that the advice is a command that can be given.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/fit_cases.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/present/certify.hpp"
#include "zeroloss/present/fit.hpp"
#include "zeroloss/present/memorize.hpp"
#include "zeroloss/present/predict.hpp"
#include "zeroloss/present/prove.hpp"
#include "zeroloss/present/width.hpp"

namespace zeroloss::test {
namespace {

std::string line(const Next& next) { return shell_command(next.command); }

class NextLine : public ::testing::Test {
 protected:
  NextLine() {
    data_ = three_classes(12, 4);
    data_.name = "my table.csv";
    read_.target = "kind";
  }

  Next of(const FitResult& result) const { return after_fit(data_, read_, options_, result, ""); }

  static FitResult with(Status status) {
    FitResult result;
    result.status = status;
    result.n = result.n_distinct = 1000;
    result.width = 1024;
    return result;
  }

  Dataset data_;
  ReadOptions read_;
  FitOptions options_;
};

TEST_F(NextLine, ACertifiedFitIsKeptOrApplied) {
  options_.optimizer = "output_layer";
  const FitResult certified = with(Status::certified);
  EXPECT_EQ(line(of(certified)),
            "zeroloss fit 'my table.csv' --target kind --optimizer output_layer --out run");
  EXPECT_EQ(line(after_fit(data_, read_, options_, certified, "runs/a")),
            "zeroloss predict runs/a 'my table.csv' --target kind");
}

TEST_F(NextLine, OfOwnWeightsAndTestPointsSaysWhereTheyAre) {
  options_.start = start_of({{RowMatrix::Ones(2, 4), Vector::Ones(2)}}, "own weights.npz");
  options_.test.source = "new.csv";
  options_.test.data = std::make_shared<Dataset>(data_);
  const std::string words = "zeroloss fit 'my table.csv' --target kind";
  EXPECT_EQ(line(of(with(Status::certified))), words + " --start 'own weights.npz' --test new.csv --out run");
  options_.optimizer = "gauss_newton";  // random features are drawn
  EXPECT_EQ(line(of(with(Status::stalled))), words + " --optimizer output_layer --test new.csv");
}

TEST_F(NextLine, WhatIsReadStaysWhatItWas) {
  read_.classes = {"3", "8"};
  EXPECT_EQ(line(after_predict("runs/a", data_, read_, "")),
            "zeroloss predict runs/a 'my table.csv' --target kind --classes 3,8 --out predicted.csv");
  options_.optimizer = "output_layer";
  options_.center = true;
  FitResult result = with(Status::stalled);
  result.width = 4096;
  EXPECT_EQ(line(of(result)),
            "zeroloss fit 'my table.csv' --target kind --classes 3,8 --width 16384 --optimizer output_layer "
            "--center");
  result.width = 16384;  // as many as are proposed
  EXPECT_EQ(line(of(result)), "zeroloss certify 'my table.csv' --target kind --classes 3,8 --center");
}

TEST_F(NextLine, MoreFeaturesAreProposedOnce) {
  options_.optimizer = "output_layer";
  FitResult result = with(Status::stalled);
  result.width = 2048;
  EXPECT_EQ(line(of(result)),
            "zeroloss fit 'my table.csv' --target kind --width 8192 --optimizer output_layer");
  options_.width = result.width = 8192;
  EXPECT_EQ(line(of(result)), "zeroloss certify 'my table.csv' --target kind");
}

// No width helps there.
TEST_F(NextLine, OfOppositePointsAppendsAConstant) {
  data_.X.row(7) = -data_.X.row(2);
  options_.optimizer = "output_layer";
  const std::string constant = "zeroloss fit 'my table.csv' --target kind --bias 1";
  EXPECT_EQ(line(of(with(Status::stalled))), constant + " --optimizer output_layer");
  options_.optimizer = "gauss_newton";
  EXPECT_EQ(line(of(with(Status::stalled))), constant + " --optimizer gauss_newton");
  WidthResult width;
  width.rows.emplace_back();
  EXPECT_EQ(line(after_width(data_, read_, {}, width)),
            "zeroloss width 'my table.csv' --target kind --bias 1");
  read_.bias = 1;
  EXPECT_EQ(line(of(with(Status::stalled))), constant + " --optimizer output_layer");
}

// What certify says sends there.
TEST_F(NextLine, OfWidthThatProvesNothingWritesANetworkDown) {
  WidthResult result;
  EXPECT_EQ(line(after_width(data_, read_, {}, result)), "zeroloss certify 'my table.csv' --target kind");
  result.rows.emplace_back();
  EXPECT_EQ(line(after_width(data_, read_, {}, result)), "zeroloss memorize 'my table.csv' --target kind");
}

TEST_F(NextLine, TooFewRandomFeaturesBecomeMore) {
  options_.optimizer = "output_layer";
  options_.width = 64;
  EXPECT_EQ(line(of(with(Status::stalled))),
            "zeroloss fit 'my table.csv' --target kind --optimizer output_layer");
}

TEST_F(NextLine, DescentThatWasNotDoneBecomesGaussNewtonAndThatRandomFeatures) {
  EXPECT_EQ(line(of(with(Status::budget_spent))),
            "zeroloss fit 'my table.csv' --target kind --optimizer gauss_newton");
  options_.optimizer = "gauss_newton";
  EXPECT_EQ(line(of(with(Status::stalled))),
            "zeroloss fit 'my table.csv' --target kind --optimizer output_layer");
}

TEST_F(NextLine, AnotherOptimizerTakesWhatIsOfTheProblemAlone) {
  options_.optimizer = "momentum";
  options_.momentum = 0.95;
  options_.scaling = "balanced";
  options_.test.source = "new.csv";
  options_.test.data = std::make_shared<Dataset>(data_);
  options_.seed = read_.seed = 5;
  const std::string words = "zeroloss fit 'my table.csv' --target kind --seed 5 --scaling balanced";
  FitResult result = with(Status::stalled);
  EXPECT_EQ(line(of(result)), words + " --optimizer gauss_newton --test new.csv");
  result.n = 100'000;
  EXPECT_EQ(line(of(result)), words + " --optimizer output_layer --test new.csv");
}

TEST_F(NextLine, AStepThatIsTooLargeIsLeftToTheProgram) {
  options_.step = "1e9";
  EXPECT_EQ(line(of(with(Status::diverged))), "zeroloss fit 'my table.csv' --target kind");
}

TEST_F(NextLine, ColumnsOfManyScalesComeFirst) {
  data_.X.col(1) *= 1e4;
  EXPECT_EQ(line(of(with(Status::budget_spent))),
            "zeroloss fit 'my table.csv' --target kind --standardize yes --bias 1");
  data_.standardization.how = "yes";
  EXPECT_EQ(line(of(with(Status::budget_spent))),
            "zeroloss fit 'my table.csv' --target kind --optimizer gauss_newton");
}

TEST_F(NextLine, ARidgeTakesEqualPoints) {
  FitResult result = with(Status::solved);
  result.conflicts = {{{3, "ant"}, {7, "bee"}}};
  result.kernel.emplace();
  EXPECT_EQ(of(result).why.find("correct the labels"), std::string::npos) << of(result).why;
}

TEST_F(NextLine, EqualPointsWithDifferentLabelsAreNamed) {
  FitResult result = with(Status::stalled);
  result.conflicts = {{{3, "ant"}, {7, "bee"}}, {{1, "ant"}, {2, "cow"}}};
  const Next next = of(result);
  EXPECT_EQ(next.why,
            "correct the labels of samples 3 (label ant), 7 (label bee), or keep one of them; so for 1 more "
            "group of equal points");
  EXPECT_TRUE(next.command.empty());
  EXPECT_EQ(next_text(next), "next: " + next.why + "\n");
}

TEST_F(NextLine, OfManyEqualPointsAFewAreNamed) {
  FitResult result = with(Status::stalled);
  result.conflicts.emplace_back();
  for (Index i = 0; i < 60; ++i) result.conflicts[0].push_back({i, "ant"});
  const Next many = of(result);
  EXPECT_NE(many.why.find("7 (label ant) and 52 more, or keep one of them"), std::string::npos) << many.why;
  data_.X.setOnes();
  EXPECT_EQ(of(result).why,
            "every feature is constant, so that all points are the same: give them features that differ");
}

TEST_F(NextLine, NothingFollowsAnInterruption) { EXPECT_EQ(next_text(of(with(Status::interrupted))), ""); }

TEST_F(NextLine, OfCertifyTrainsWhatWasProved) {
  CertifyResult result;
  result.outcome = "verified";
  result.activation = "gelu";
  result.n = result.n_distinct = 12;
  const auto of = [&] { return line(after_certify(data_, read_, {}, result)); };
  EXPECT_EQ(of(), "zeroloss fit 'my table.csv' --target kind --activation gelu --optimizer output_layer");
  read_.seed = 5;
  EXPECT_EQ(of(),
            "zeroloss fit 'my table.csv' --target kind --seed 5 --activation gelu --optimizer output_layer");
  result.task = Task::classification;
  result.leave_one_out_error = 0.25;  // zero loss errs: a ridge is for that
  EXPECT_EQ(of(), "zeroloss fit 'my table.csv' --target kind --seed 5 --optimizer kernel");
  EXPECT_EQ(after_certify(data_, read_, {}, result).why,
            "train with a ridge for unseen points: zero loss gets 25 % of them wrong by leave-one-out");
  result.leave_one_out_error = 0;
  EXPECT_EQ(of(),
            "zeroloss fit 'my table.csv' --target kind --seed 5 --activation gelu --optimizer output_layer");
  read_.seed = 0;
  result.outcome = "not verified";
  EXPECT_EQ(of(), "zeroloss certify 'my table.csv' --target kind");
}

TEST_F(NextLine, TheSameCommandIsTypedInOneForm) {
  const std::string audit = "zeroloss audit t.csv --seed 3 --out run";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"/opt/bin/zeroloss", "audit", "t.csv", "--seed", "3"},
        {"zeroloss", "--threads", "1", "audit", "t.csv", "--seed", "3"},
        {"zeroloss", "--threads=1", "audit", "t.csv", "--seed", "3"},
        {"zeroloss", "audit", "t.csv", "--seed", "3", "--threads", "1"}})
    EXPECT_EQ(line(after_figures(words, "")), audit);
  ProveResult proved;
  proved.networks.emplace_back();
  proved.exact_is_possible = true;
  const std::vector<std::string> words{"build/bin/zeroloss", "--threads", "2", "prove", "a.onnx", "t.csv"};
  EXPECT_EQ(line(after_prove(words, {}, proved, "")), "zeroloss prove a.onnx t.csv --polish");
  for (const auto& execution :
       {std::vector<std::string>{"--execution", "float32"}, {"--execution=float32"}}) {
    std::vector<std::string> of_the_file = words;  // and --polish is of another one
    of_the_file.insert(of_the_file.end(), execution.begin(), execution.end());
    EXPECT_EQ(line(after_prove(of_the_file, {}, proved, "")), "zeroloss prove a.onnx t.csv --polish");
  }
  proved.networks[0].certificate.exists = true;
  EXPECT_EQ(line(after_prove(words, {}, proved, "")), "zeroloss prove a.onnx t.csv --out proved");
}

TEST_F(NextLine, OfMemorizeTriesDoublePrecision) {
  MemorizeOptions options;
  options.precision = "float32";
  options.seed = 3;
  EXPECT_EQ(line(after_memorize(data_, read_, options, {}, "")),
            "zeroloss memorize 'my table.csv' --target kind");
}

}  // namespace
}  // namespace zeroloss::test
