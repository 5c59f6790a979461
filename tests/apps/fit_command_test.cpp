// zeroloss fit from end to end: the text, the JSON object, the run folder, interruption and resuming.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/shared_data.hpp"
#include "support/subprocess.hpp"
#include "support/temp_folder.hpp"

namespace zeroloss::test {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;
namespace fs = std::filesystem;

class FitCommand : public TempFolder {};

const Arguments kQuick{"fit", "sphere:n=40,d=10", "--width", "50", "--optimizer", "gauss_newton"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// A run of a few seconds that does not end before it is told to.
const Arguments kLong{"fit",         "digits", "--classes",       "3,8", "--width",     "64",
                      "--max-steps", "3000",   "--certify-every", "0",   "--precision", "float32"};

TEST_F(FitCommand, ConclusionComesFirst) {
  const Outcome outcome = zeroloss(kQuick);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::istringstream lines(outcome.out);
  std::string heading, empty, conclusion, proof;
  std::getline(lines, heading);
  std::getline(lines, empty);
  std::getline(lines, conclusion);
  std::getline(lines, proof);
  EXPECT_EQ(heading.rfind("sphere:n=40,d=10: 40 points, 10 features", 0), 0u) << heading;
  EXPECT_EQ(conclusion.rfind("zero loss: certified at step ", 0), 0u) << conclusion;
  EXPECT_NE(conclusion.find("an exact solution lies within"), std::string::npos);
  EXPECT_EQ(proof.rfind("proved, rounding included: ", 0), 0u) << proof;
}

TEST_F(FitCommand, JsonHasEveryKey) {
  const Outcome outcome = zeroloss(with(kQuick, {"--json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  for (const char* key : {"data",         "digest",           "labels",      "options",
                          "conclusion",   "status",           "n",           "d",
                          "n_distinct",   "conflicts",        "nearest",     "steps",
                          "step",         "relative_misfit",  "certificate", "certified_at",
                          "max_distance", "flipped_fraction", "per_class",   "forecast_missing",
                          "space",        "seconds"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"kind", "holds", "radius", "margin", "misfit", "lambda_min", "norm_J", "step",
                          "rate", "kinks", "kink_bound", "reason"})
    EXPECT_TRUE(json["certificate"].contains(key)) << key;
  EXPECT_EQ(json["status"], "certified");
  EXPECT_TRUE(json["certificate"]["holds"]);
  EXPECT_GT(json["certificate"]["margin"], 1.0);
  EXPECT_LE(json["relative_misfit"], 1e-6);
}

TEST_F(FitCommand, RunFolderIsWhole) {
  const Outcome outcome = zeroloss(with(kQuick, {"--out", path("run"), "--record-every", "1"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file : {"run/manifest.json", "run/result.json", "run/metrics.csv", "run/model.safetensors",
                           "run/curve.vl.json", "run/distance.vl.json"})
    EXPECT_TRUE(fs::exists(path(file))) << file;
  EXPECT_FALSE(fs::exists(path("run/checkpoint.safetensors")));
  EXPECT_FALSE(fs::exists(path("run.partial")));
  const Json result = Json::parse(content(path("run/result.json")));
  const std::string metrics = content(path("run/metrics.csv"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), result["steps"].get<int>() + 2);
  EXPECT_EQ(Json::parse(content(path("run/manifest.json")))["options"]["width"], 50);
  for (const char* figure : {"run/curve.vl.json", "run/distance.vl.json"})
    EXPECT_FALSE(Json::parse(content(path(figure)))["data"]["values"].empty()) << figure;

  // What was trained predicts what it was trained on.
  const Outcome predicted =
      zeroloss({"predict", path("run/model.safetensors"), "sphere:n=40,d=10", "--json"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_LE(Json::parse(predicted.out)["error"], 1e-6);

  const Outcome again = zeroloss(with(kQuick, {"--out", path("run")}));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("exists already"), std::string::npos) << again.err;
}

TEST_F(FitCommand, NothingIsKnownOfWhatDiverged) {
  const Outcome outcome = zeroloss({"fit", "sphere:n=40,d=10", "--width", "50", "--step", "1e6", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["status"], "diverged");
  EXPECT_TRUE(json["certificate"]["misfit"].is_null());
  EXPECT_TRUE(json["per_class"][0]["certificate"]["misfit"].is_null());
}

TEST_F(FitCommand, InterruptedRunsGoOn) {
  const Outcome whole = zeroloss(with(kLong, {"--out", path("whole")}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  RunOptions terminal;
  terminal.terminal = true;
  terminal.interrupt_when = [](const Outcome& so_far) {
    return so_far.err.find("training") != std::string::npos;
  };
  const Arguments part = with(kLong, {"--out", path("part")});
  const Outcome stopped = zeroloss(part, terminal);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("--resume"), std::string::npos) << stopped.err;
  EXPECT_NE(stopped.out.find("interrupted at step"), std::string::npos) << stopped.out;
  ASSERT_TRUE(fs::exists(path("part.partial/checkpoint.safetensors")));

  const Outcome forgotten = zeroloss(part);
  EXPECT_EQ(forgotten.exit_code, 2);
  EXPECT_NE(forgotten.err.find("unfinished run"), std::string::npos);
  const Outcome other = zeroloss(with(part, {"--resume", "--n", "300"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("SHA-256"), std::string::npos) << other.err;

  const Outcome resumed = zeroloss(with(part, {"--resume"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(content(path("part/metrics.csv")), content(path("whole/metrics.csv")));
  EXPECT_EQ(content(path("part/model.safetensors")), content(path("whole/model.safetensors")));
}

TEST_F(FitCommand, KilledRunsGoOn) {
  const Outcome whole = zeroloss(with(kLong, {"--out", path("whole")}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Arguments part = with(kLong, {"--out", path("part"), "--resume", "--checkpoint-every-s", "0.05"});
  for (int kill_no = 0; kill_no < 3; ++kill_no) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<char*> argv{const_cast<char*>(ZEROLOSS_COMMAND)};
      for (const auto& argument : part) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      execv(ZEROLOSS_COMMAND, argv.data());
      _exit(127);
    }
    const std::string checkpoint = path("part.partial/checkpoint.safetensors");
    const auto before = fs::exists(checkpoint) ? fs::last_write_time(checkpoint) : fs::file_time_type::min();
    for (int wait = 0; wait < 2000; ++wait) {  // until it has written a checkpoint of its own
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::error_code error;
      const auto written = fs::last_write_time(checkpoint, error);
      if ((!error && written > before) || fs::exists(path("part"))) break;
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  if (!fs::exists(path("part"))) {
    const Outcome resumed = zeroloss(part);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  }
  EXPECT_EQ(content(path("part/metrics.csv")), content(path("whole/metrics.csv")));
  EXPECT_EQ(content(path("part/model.safetensors")), content(path("whole/model.safetensors")));
}

TEST_F(FitCommand, RequiredPropertiesDecideTheExitCode) {
  const Arguments short_run{"fit", "sphere:n=40,d=10", "--max-steps", "3"};
  EXPECT_EQ(zeroloss(short_run).exit_code, 0);
  const Outcome outcome = zeroloss(with(short_run, {"--require", "converged"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("required property does not hold: converged"), std::string::npos);
  EXPECT_EQ(zeroloss(with(kQuick, {"--require", "certified"})).exit_code, 0);
}

TEST_F(FitCommand, BadOptionsAreNamed) {
  const auto refused = [](const Arguments& more, const std::string& what) {
    const Outcome outcome = zeroloss(with({"fit", "sphere:n=10,d=4"}, more));
    EXPECT_EQ(outcome.exit_code, 2) << what;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  refused({"--width", "0"}, "width");
  refused({"--step", "0"}, "step");
  refused({"--step", "-0.1"}, "step");
  refused({"--optimizer", "flow", "--batch", "8"}, "batch");
  refused({"--optimizer", "adam"}, "--optimizer");
  refused({"--resume"}, "--out");
  refused({"--width", "many"}, "--width");
  refused({"--scaling", "balanced", "--target", "none"}, "target");
  refused({"--d", "5"}, "d = 5");
  refused({"--d", "-1"}, "d must be >= 1");
}

TEST_F(FitCommand, PointsCanBeProjected) {
  const Arguments data{"digits", "--classes", "3,8", "--n", "30", "--d", "12", "--seed", "4"};
  const Arguments options{"--optimizer", "gauss_newton", "--width", "64", "--json", "--out", path("run")};
  const Outcome outcome = zeroloss(with(with({"fit"}, data), options));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["d"], 12);
  EXPECT_EQ(json["n"], 30);
  EXPECT_EQ(json["status"], "certified");
  // The network belongs to this subspace.
  const Outcome same = zeroloss(with(with({"predict", path("run")}, data), {"--json"}));
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(Json::parse(same.out)["error"], 0);
  const Outcome whole = zeroloss({"predict", path("run"), "digits", "--classes", "3,8", "--n", "30"});
  EXPECT_EQ(whole.exit_code, 2);
  EXPECT_NE(whole.err.find("64 features; the network was trained on 12"), std::string::npos) << whole.err;
}

TEST_F(FitCommand, LabelsCanBeRandom) {
  const Outcome outcome = zeroloss({"fit", "digits", "--classes", "3,8", "--labels", "random", "--center",
                                    "--optimizer", "gauss_newton", "--width", "256", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["labels"], "random");
  EXPECT_EQ(json["status"], "certified");
}

// The command of the README, and the same on 2,000 MNIST images.
TEST_F(FitCommand, SlowRealDataEndsCertified) {
  std::vector<Arguments> runs{
      {"fit", "digits", "--center", "--optimizer", "gauss_newton"},
      {"fit", "digits", "--center", "--optimizer", "gauss_newton", "--classes", "3,8"}};
  if (const auto shared = shared_data(); !shared.empty())
    for (const char* labels : {"given", "random"})
      runs.push_back({"fit", (shared / "mnist").string(), "--n", "2000", "--center", "--optimizer",
                      "gauss_newton", "--width", "512", "--labels", labels});
  for (const Arguments& run : runs) {
    const Outcome outcome = zeroloss(with(run, {"--json"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["status"], "certified") << json["conclusion"];
    for (const Json& output : json["per_class"]) EXPECT_TRUE(output["certificate"]["holds"]);
  }
}

}  // namespace
}  // namespace zeroloss::test
