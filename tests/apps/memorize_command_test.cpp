// zeroloss memorize from end to end: the text, the JSON object, the run folder, and what predict and export
// make of it.
#include <gtest/gtest.h>

#include <sstream>

#include "support/command.hpp"
#include "support/number.hpp"
#include "support/python.hpp"
#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

class MemorizeCommand : public TempFolder {};

TEST_F(MemorizeCommand, ConclusionComesFirst) {
  const Outcome outcome = zeroloss({"memorize", "digits", "--hidden", "8"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::istringstream lines(outcome.out);
  std::string heading, empty, conclusion;
  std::getline(lines, heading);
  std::getline(lines, empty);
  std::getline(lines, conclusion);
  EXPECT_EQ(heading.rfind("digits: 1,797 points, 64 features, 10 classes", 0), 0u) << heading;
  EXPECT_EQ(conclusion,
            "every one of 1,797 points is memorised by 225 residual blocks of width 8 (31.3 k parameters), "
            "proved in exact arithmetic and in float64, sums in any order");
}

TEST_F(MemorizeCommand, JsonHasEveryKey) {
  using Keys = std::set<std::string>;
  const Json json = answer({"memorize", "digits", "--labels", "random"});
  EXPECT_EQ(keys(json), (Keys{"data",
                              "next",
                              "digest",
                              "labels",
                              "options",
                              "conclusion",
                              "status",
                              "n",
                              "d",
                              "r",
                              "n_distinct",
                              "correct",
                              "hidden",
                              "blocks",
                              "parameters",
                              "max_error",
                              "min_margin",
                              "margin",
                              "closest",
                              "theorem_parameters",
                              "wrong",
                              "tried",
                              "build_s",
                              "verify_s",
                              "seconds",
                              "proved_exact",
                              "proved_any_order",
                              "proved_error",
                              "exact_within",
                              "nonzero"}));
  EXPECT_EQ(json["proved_exact"], 1797);
  EXPECT_EQ(json["proved_any_order"], 1797);
  EXPECT_TRUE(json["exact_within"].is_null()) << "of real-valued targets alone";
  EXPECT_EQ(json["status"], "memorized");
  EXPECT_EQ(json["labels"], "random");
  EXPECT_EQ(json["correct"], 1797);
  EXPECT_EQ(json["hidden"], 2);
  EXPECT_EQ(json["margin"], 1e-9);
  EXPECT_DOUBLE_EQ(json["theorem_parameters"], 1797 * std::log(1797.0) + 100);
  ASSERT_EQ(json["tried"].size(), 1u);
  EXPECT_EQ(keys(json["tried"][0]), (Keys{"hidden", "first_layer", "correct", "min_margin"}));
  ASSERT_FALSE(json["closest"].empty());
  EXPECT_EQ(keys(json["closest"][0]), (Keys{"sample", "label", "id"}));
  EXPECT_LT(json["max_error"], 1e-6);  // the usual tolerance
}

TEST_F(MemorizeCommand, IntegersAreExactInAnyProgram) {
  const Outcome outcome = zeroloss(
      {"memorize", "digits", "--construction", "integer", "--labels", "random", "--out", path("run")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("proved in exact arithmetic and in float64, sums in any order"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(json_of(path("run/result.json"))["proved_error"], 0);
  EXPECT_FALSE(fs::exists(path("run/metrics.csv"))) << "there are no margins";
  const Outcome predicted = zeroloss({"predict", path("run"), "digits", "--labels", "random"});
  EXPECT_NE(predicted.out.find("all 1,797 points are right\n"), std::string::npos) << predicted.out;
  refused({"memorize", "digits", "--construction", "integer", "--hidden", "4"},
          {"--hidden", "leave them out"});
}

TEST_F(MemorizeCommand, ProveFollowsTheBlocks) {
  for (const std::string precision : {"float32", "float64"}) {
    SCOPED_TRACE(precision);
    const std::string run = path(precision);
    ASSERT_EQ(
        zeroloss({"memorize", "digits", "--n", "300", "--precision", precision, "--out", run}).exit_code, 0);
    const Outcome proved = zeroloss({"prove", run, "digits", "--n", "300", "--require", "right"});
    EXPECT_EQ(proved.exit_code, 0) << proved.err;
    EXPECT_NE(proved.out.find("all 300 labels right"), std::string::npos) << proved.out;
    EXPECT_NE(proved.out.find("in every " + precision + " execution, in any order of sums"),
              std::string::npos)
        << proved.out;
    const Json json = answer({"prove", run, "digits", "--n", "300"});
    EXPECT_EQ(json["networks"][0]["right"], 300);
    EXPECT_EQ(json["executed"]["execution"], precision);
    EXPECT_EQ(json["executed"]["right"], 300);
    // Other labels, and points that it has not seen.
    const Json others = answer({"prove", run, "digits", "--n", "300", "--labels", "random"});
    EXPECT_LT(others["networks"][0]["right"], 100);
    EXPECT_EQ(zeroloss({"prove", run, "digits", "--require", "right"}).exit_code, 1);
    refused({"prove", run, "digits", "--execution", "tf32"}, {"must be exact or " + precision});
    refused({"prove", run, "digits", "--shape", "8,8"}, {"--shape is for ONNX files"});
    write("two.csv", "a,b,label\n1,2,0\n3,4,1\n");
    refused({"prove", run, path("two.csv")}, {"points have 2 features, the memoriser takes 64"});
  }
  // Integers are exact in doubles: 0 and 1.
  ASSERT_EQ(zeroloss({"memorize", "digits", "--construction", "integer", "--out", path("whole")}).exit_code,
            0);
  const Json whole = answer({"prove", path("whole"), "digits"});
  EXPECT_EQ(whole["networks"][0]["right"], 1797);
  EXPECT_EQ(whole["networks"][0]["output_error"], 0);
  EXPECT_EQ(whole["executed"]["right"], 1797);
}

TEST_F(MemorizeCommand, RunFolderIsWholeAndItsModelPredicts) {
  const Arguments command{"memorize", "digits", "--precision", "float32", "--out", path("run")};
  const Outcome outcome = zeroloss(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file : {"run/manifest.json", "run/result.json", "run/metrics.csv", "run/model.safetensors",
                           "run/margins.vl.json"})
    EXPECT_TRUE(fs::exists(path(file))) << file;
  EXPECT_FALSE(fs::exists(path("run.partial")));
  const Json result = json_of(path("run/result.json"));
  const std::string metrics = content(path("run/metrics.csv"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), result["blocks"].get<int>() + 1);
  EXPECT_EQ(json_of(path("run/manifest.json"))["kind"], "memorize");
  EXPECT_FALSE(json_of(path("run/margins.vl.json"))["data"]["values"].empty());

  const Outcome predicted = zeroloss({"predict", path("run"), "digits"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_NE(predicted.out.find("digits: all 1,797 points are right\n"), std::string::npos) << predicted.out;
  EXPECT_NE(predicted.out.find(": memoriser of 225 residual blocks of width 8, float32\n"), std::string::npos)
      << predicted.out;
  const Json found = answer({"predict", path("run"), "digits"});
  EXPECT_EQ(found["kind"], "memorizer");
  EXPECT_EQ(found["error"], 0);

  refused(command, {"exists already"});

  const Outcome exported = zeroloss({"export", path("run"), path("a.onnx")});
  EXPECT_TRUE(exported.out.starts_with(path("a.onnx") +
                                       ": x [batch, 64] float32 -> y [batch, 10], label [batch] int64\n"))
      << exported.out;
  const Outcome piped =
      run_program("sh", {"-c", "\"$0\" export run - 2>said | cmp - a.onnx && cat said", ZEROLOSS_COMMAND},
                  {.folder = folder.string()});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_NE(piped.out.find("x [batch, 64] float32"), std::string::npos)
      << piped.out << "said beside the model";
  ZEROLOSS_NEEDS_PYTHON();
  ASSERT_EQ(zeroloss({"predict", path("run"), "digits", "--out", path("out.csv")}).exit_code, 0);
  // Points as the command reads them, by way of certify's own reader: the csv of digits in the source tree.
  std::vector<float> x;
  std::vector<std::int64_t> labels;
  const Outcome csv = run_program("gzip", {"-dc", ZEROLOSS_SOURCE_DIR "/data/digits.csv.gz"});
  std::istringstream rows(csv.out);
  std::string row;
  std::getline(rows, row);  // header
  while (std::getline(rows, row)) {
    std::istringstream cells(row);
    std::vector<float> numbers;
    for (std::string cell; std::getline(cells, cell, ',');)
      numbers.push_back(static_cast<float>(test::number(cell)));
    labels.push_back(static_cast<std::int64_t>(numbers.back()));
    x.insert(x.end(), numbers.begin(), numbers.end() - 1);
  }
  ASSERT_EQ(labels.size(), 1797u);
  write_tensors(path("a.in.safetensors"), {view_of("x", {1797, 64}, x.data())});
  const Outcome run = run_python("storage/run_onnx.py", {folder});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TensorFile out = read_tensors(path("a.out.safetensors"));
  const auto* label = out.find("label")->data<std::int64_t>();
  EXPECT_EQ(std::vector<std::int64_t>(label, label + 1797), labels);
}

TEST_F(MemorizeCommand, RegressionAndOneClassName) {
  const Outcome outcome = zeroloss({"memorize", "sphere:n=100,d=6", "--out", path("run")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("every one of 100 points is memorised to within "), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find(" by 50 residual blocks of width 2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" of that of an exact network, proved"), std::string::npos) << outcome.out;
  EXPECT_LT(json_of(path("run/result.json"))["exact_within"], 1e-3);  // doubles over margins of 1e-9 at least
  const Json proved = answer({"prove", path("run"), "sphere:n=100,d=6"});
  EXPECT_LT(proved["networks"][0]["largest_error"], 1e-6);
  const Json found = answer({"predict", path("run"), "sphere:n=100,d=6"});
  const double reached = json_of(path("run/result.json"))["max_error"];
  EXPECT_LE(found["error"], 2 * reached);  // relative to 100 targets of N(0, 1)
  EXPECT_LT(reached, 1e-6);                // the usual tolerance
  EXPECT_TRUE(zeroloss({"export", path("run"), path("b.onnx")})
                  .out.starts_with(path("b.onnx") + ": x [batch, 6] float64 -> y [batch, 1]\n"));
}

TEST_F(MemorizeCommand, FailureIsAnAnswerWithExitCode1AndLeavesNoRun) {
  write("close.csv", "a,b,label\n1,2,x\n1.0000001,2,y\n3,1,x\n-1,4,y\n");
  const RunOptions here{.folder = folder.string()};
  const Arguments single{"memorize", "close.csv", "--precision", "float32"};
  const Outcome failed = zeroloss(with(single, {"--json"}), here);
  EXPECT_EQ(failed.exit_code, 1);
  const Json json = Json::parse(failed.out);
  EXPECT_EQ(json["status"], "not_separated");
  EXPECT_EQ(json["max_error"], nullptr);
  EXPECT_EQ(json["closest"].size(), 2u);
  EXPECT_EQ(json["next"]["command"], "zeroloss memorize close.csv");
  EXPECT_EQ(answer({"memorize", "close.csv"}, 0, here)["status"], "memorized");
  const Outcome required = zeroloss(with(single, {"--require", "memorized", "--out", path("run")}), here);
  EXPECT_EQ(required.exit_code, 1);
  EXPECT_NE(required.out.find("not memorised: samples 1 (label y) and 0 (label x)"), std::string::npos)
      << required.out;
  EXPECT_NE(required.err.find("required property does not hold: memorized"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("run")));
  EXPECT_FALSE(fs::exists(path("run.partial")));
  EXPECT_EQ(zeroloss({"memorize", "close.csv", "--require", "memorized"}, here).exit_code, 0);
}

TEST_F(MemorizeCommand, ThePapersConstruction) {
  const Json json = answer({"memorize", "sphere:n=30,d=100,y=sign", "--construction", "paper"});
  EXPECT_EQ(json["status"], "memorized");
  const Outcome outcome = zeroloss({"memorize", "digits", "--construction", "paper", "--hidden", "64"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("not memorised: the paper's construction does not apply with width 64: sample "),
            std::string::npos)
      << outcome.out;
}

TEST_F(MemorizeCommand, BadUsageAndBadDataAreNamed) {
  EXPECT_NE(zeroloss({"memorize", "--help"}).out.find("--construction"), std::string::npos);
  refused({"memorize", "digits", "--hidden", "0"}, {"--hidden must be >= 1; got 0"});
  refused({"memorize", "digits", "--hidden", "many"}, {"--hidden"});
  refused({"memorize", "digits", "--width", "3"}, {"--width"});
  refused({"memorize", "digits", "--margin", "1"}, {"margin must be in (0, 0.25]; got 1"});
  refused({"memorize", "digits", "--precision", "float16"}, {"--precision"});
  refused({"memorize", "sphere:n=9,d=3", "--construction", "paper"}, {"construction paper is for classes"});
  refused({"memorize", path("absent.csv")}, {"absent.csv"});
  refused({"memorize", write("nan.csv", "a,b,label\n1,2,x\nnan,1,y\n"), "--missing", "error"}, {"nan.csv"});
  refused({"memorize", write("same.csv", "a,b,label\n1,2,x\n4,1,y\n1,2,y\n")},
          {"samples 0 (label x) and 2 (label y) are the same point"});
  refused({"memorize", write("none.csv", "a,b\n1,2\n4,1\n")}, {"memorize needs targets"});
  refused({"memorize", "digits", "--hidden", "100000000"}, {"hidden width 100000000 needs"}, 3);
}

TEST_F(MemorizeCommand, StopsOnInterrupt) {
  RunOptions terminal;
  terminal.terminal = true;
  terminal.interrupt_when = [](const Outcome& so_far) {
    return so_far.err.find("thresholds") != std::string::npos;
  };
  const Outcome outcome =
      zeroloss({"memorize", "sphere:n=60000,d=4", "--hidden", "128", "--out", path("run")}, terminal);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("run")));
  EXPECT_FALSE(fs::exists(path("run.partial")));
}

// All 50,000 training images of CIFAR-10: true and random labels, and ONNX Runtime on the exported files.
TEST_F(MemorizeCommand, SlowCifar10) {
  ZEROLOSS_NEEDS_CIFAR10(folder);
  const std::string images = path("cifar-10-batches-bin");
  for (const std::string hidden : {"16", "4"})
    for (const std::string labels : {"given", "random"}) {
      SCOPED_TRACE("k = " + hidden + ", labels " + labels);
      const std::string run = path(labels + hidden);
      const Json json = answer({"memorize", images, "--hidden", hidden, "--labels", labels, "--precision",
                                "float32", "--out", run});
      EXPECT_EQ(json["n"], 50000);
      EXPECT_EQ(json["correct"], 50000) << json["conclusion"];
      EXPECT_EQ(json["parameters"], hidden == "16" ? 1699422 : 462438);
      if (labels == "random") continue;
      ZEROLOSS_NEEDS_PYTHON();
      ASSERT_EQ(zeroloss({"export", run, path("cifar.onnx")}).exit_code, 0);
      const Outcome onnx = run_python("apps/cifar_onnx.py", {images, path("cifar.onnx")});
      ASSERT_EQ(onnx.exit_code, 0) << onnx.err;
      EXPECT_EQ(onnx.out, "50000\n");
    }
}

}  // namespace
}  // namespace zeroloss::test
