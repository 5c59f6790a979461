#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <thread>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/sqlite.hpp"
#include "support/temp_folder.hpp"

/// `zeroloss certify`, `fit` and `sweep` with `--device`, as people run them.
namespace zeroloss::test {
namespace {

class DeviceCommand : public TempFolder {};

bool gpu_there() {
  static const bool there =
      zeroloss({"certify", "sphere:n=5,d=3", "--device", "cuda", "--json"}).exit_code == 0;
  return there;
}

void expect_same(const Json& found, const Json& here) {
  EXPECT_EQ(keys(found), [&] {
    auto names = keys(here);
    names.insert("engine");
    return names;
  }());
  for (const char* key : {"n", "d", "digest", "outcome", "reason", "n_distinct", "kernel", "network",
                          "method", "separation", "near_pairs", "closest", "duplicates", "conflicts",
                          "antipodal", "nearest", "classes", "widths", "leave_one_out_error"})
    if (here.contains(key)) {
      EXPECT_EQ(found.at(key), here.at(key)) << key;
    }
  const double largest = here.at("lambda_max").get<double>();
  const auto near = [&](const char* key, double error) {
    EXPECT_NEAR(found.at(key).get<double>(), here.at(key).get<double>(), error) << key;
  };
  const auto n = here.at("n").get<double>();
  const double off = 2 * test::backward_error(n) * largest;
  near("lambda_min", off);
  near("lambda_max", off + 1e-11 * largest);  // where Lanczos ends
  // Each proof begins with a gap of 1e-7 of it, or of a loss, some n^2 u/2, and is doubled until it is
  // enough.
  near("lambda_min_verified", off + 4e-7 * here.at("lambda_min").get<double>() + 8 * n * n * test::kUnit);
  near("norm_X", 2 * test::backward_error(n) * here.at("norm_X").get<double>());
  EXPECT_LT(found.at("lambda_min_verified").get<double>(), here.at("lambda_min").get<double>());
  EXPECT_EQ(found.at("proof"), "residual");
  EXPECT_EQ(here.at("proof"), "theorem");
  ASSERT_EQ(found.at("bottleneck").size(), here.at("bottleneck").size());
  for (std::size_t k = 0; k < here.at("bottleneck").size(); ++k)
    EXPECT_EQ(found.at("bottleneck")[k].at("sample"), here.at("bottleneck")[k].at("sample"));
  ASSERT_EQ(found.at("suspects").size(), here.at("suspects").size());
  for (std::size_t k = 0; k < here.at("suspects").size(); ++k)
    EXPECT_EQ(found.at("suspects")[k].at("sample"), here.at("suspects")[k].at("sample"));
}

TEST_F(DeviceCommand, DigitsAreCertifiedAlike) {
  const Json here = answer({"certify", "digits"});
  const Json found = answer({"certify", "digits", "--device", "cpu"});
  expect_same(found, here);
  EXPECT_NE(found.at("engine").get<std::string>().find("on cpu"), std::string::npos) << found.at("engine");
}

TEST_F(DeviceCommand, DigitsAreCertifiedAlikeOnGpu) {
  if (!gpu_there()) GTEST_SKIP() << "no GPU";
  const Json here = answer({"certify", "digits"}), there = answer({"certify", "digits", "--device", "cuda"});
  expect_same(there, here);
  EXPECT_NE(there.at("engine").get<std::string>().find("cuda"), std::string::npos) << there.at("engine");
}

TEST_F(DeviceCommand, WritesARunFolder) {
  ASSERT_EQ(zeroloss({"certify", "digits", "--n", "60", "--device", "cpu", "--out", path("run")}).exit_code,
            0);
  EXPECT_EQ(json_of(path("run/result.json")).at("proof"), "residual");
  EXPECT_NE(content(path("run/manifest.json")).find("--device"), std::string::npos);
}

TEST_F(DeviceCommand, NamesWhatIsWrong) {
  refused({"certify", "digits", "--device", "gpu"}, {"--device", "cpu, cuda, cuda:N or auto", "gpu"});
  refused({"certify", "digits", "--n", "50", "--device", "cpu", "--proof", "theorem"},
          {"theorem", "--proof", "--device"});
  refused({"certify", "nothing.csv", "--device", "cpu"}, {"nothing.csv"});
  EXPECT_EQ(zeroloss({"certify", "--help"}).exit_code, 0);
}

TEST_F(DeviceCommand, SaysThatThereIsNoGpu) {
  if (gpu_there()) GTEST_SKIP() << "there is a GPU";
  refused({"certify", "digits", "--device", "cuda"}, {"cuda", "LibTorch", "0 CUDA devices"}, 3);
  refused({"certify", "digits", "--device", "cuda:3"}, {"cuda:3", "0 CUDA devices"}, 3);
}

TEST_F(DeviceCommand, RequirementsHoldOfADevice) {
  EXPECT_EQ(
      zeroloss({"certify", "digits", "--n", "80", "--device", "auto", "--require", "certified"}).exit_code,
      0);
  EXPECT_EQ(
      zeroloss({"certify", "digits", "--n", "80", "--device", "cpu", "--require", "lambda_min>=5"}).exit_code,
      1);
}

// ---- fit ----

const Arguments kFit{"fit", "digits",  "--classes", "3,8",         "--n",
                     "100", "--width", "200",       "--optimizer", "gauss_newton"};

TEST_F(DeviceCommand, FitsEndAlike) {
  const Json here = answer(with(kFit, {"--space", "weights"})),
             there = answer(with(kFit, {"--device", "cpu"}));
  auto names = keys(here);
  names.insert("engine");
  EXPECT_EQ(keys(there), names);
  for (const char* key : {"status", "steps", "n", "d", "n_distinct", "width", "tolerance", "space", "digest"})
    EXPECT_EQ(there.at(key), here.at(key)) << key;
  EXPECT_EQ(there.at("status"), "certified");
  EXPECT_NE(there.at("engine").get<std::string>().find("on cpu"), std::string::npos) << there.at("engine");
  const Outcome text = zeroloss(with(kFit, {"--device", "cpu", "--require", "certified"}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("computed by"), std::string::npos) << text.out;
}

TEST_F(DeviceCommand, FitsOnAGpuEndAlike) {
  if (!gpu_there()) GTEST_SKIP() << "no GPU";
  EXPECT_EQ(answer(with(kFit, {"--device", "cuda"})).at("status"), "certified");
}

TEST_F(DeviceCommand, AFitWritesARunThatOthersRead) {
  const Arguments fit = with(kFit, {"--device", "cpu", "--out", path("run")});
  ASSERT_EQ(zeroloss(fit).exit_code, 0);
  EXPECT_NE(content(path("run/manifest.json")).find("--device"), std::string::npos);
  const Outcome again = zeroloss(with(fit, {"--resume"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("is finished"), std::string::npos) << again.out;
  EXPECT_EQ(zeroloss({"predict", path("run"), "digits", "--classes", "3,8", "--n", "100"}).exit_code, 0);
}

TEST_F(DeviceCommand, WhatADeviceCannotFitIsNamed) {
  const Arguments fit{"fit", "sphere:n=5,d=3,y=normal", "--device", "cpu", "--out", path("run")};
  refused(fit, {"gauss_newton", "got gd", "--device"});
  refused(with(fit, {"--optimizer", "gauss_newton", "--depth", "2"}), {"one hidden layer", "--device"});
  refused(with(fit, {"--optimizer", "gauss_newton", "--space", "gram"}), {"--space gram", "--device"});
  refused({"fit", "sphere:n=5,d=3", "--device", "gpu"}, {"--device", "cpu, cuda, cuda:N or auto", "gpu"});
  refused({"fit", "nothing.csv", "--device", "cpu"}, {"nothing.csv"});
  if (!gpu_there())
    refused({"fit", "sphere:n=5,d=3", "--device", "cuda"}, {"cuda", "LibTorch", "0 CUDA devices"}, 3);
}

// ---- sweep ----

const Arguments kSweep{"sweep", "sphere:n=12", "--d", "1:3",         "--width", "4:52:24",     "--max-steps",
                       "1000",  "--trials",    "4",   "--tolerance", "0.1",     "--precision", "float64"};

TEST_F(DeviceCommand, SweepsFindTheSame) {
  const Json here = answer(kSweep), there = answer(with(kSweep, {"--device", "cpu"}));
  auto names = keys(here);
  names.insert("engine");
  EXPECT_EQ(keys(there), names);
  for (const char* key : {"conclusion", "trials", "rounds", "panels", "options"})
    EXPECT_EQ(there.at(key), here.at(key)) << key;
  ASSERT_EQ(there.at("cells").size(), here.at("cells").size());
  for (std::size_t c = 0; c < here.at("cells").size(); ++c)
    for (const char* key : {"successes", "diverged", "mean_steps", "d", "width"})
      EXPECT_EQ(there.at("cells")[c].at(key), here.at("cells")[c].at(key)) << c << " " << key;
  EXPECT_NE(there.at("engine").get<std::string>().find("on cpu"), std::string::npos) << there.at("engine");
  const Outcome text = zeroloss(with(kSweep, {"--device", "cpu"}));
  EXPECT_NE(text.out.find("computed by"), std::string::npos) << text.out;
  EXPECT_EQ(answer(with(kSweep, {"--device", "none"})).at("cells"), here.at("cells"));
}

TEST_F(DeviceCommand, SweepsOnAGpuFindTheSame) {
  if (!gpu_there()) GTEST_SKIP() << "no GPU";
  const Json here = answer(kSweep), there = answer(with(kSweep, {"--device", "cuda"}));
  for (std::size_t c = 0; c < here.at("cells").size(); ++c)
    EXPECT_EQ(there.at("cells")[c].at("successes"), here.at("cells")[c].at("successes")) << c;
}

// Some have ended when it is stopped.
TEST_F(DeviceCommand, AStoppedSweepGoesOn) {
  const Arguments sweep{"sweep",       "sphere:n=30", "--d",         "4,8",      "--width",     "20,40,60",
                        "--trials",    "10",          "--max-steps", "2000",     "--tolerance", "0.1",
                        "--precision", "float64",     "--out",       path("run")};
  const std::filesystem::path store = path("run.partial/trials.db");
  const auto stored = [&] { return std::stol(sqlite(store, "SELECT count(*) FROM trials")[0][0]); };
  RunOptions interrupted;
  interrupted.interrupt_when = [&](const Outcome&) {
    return std::filesystem::exists(store) &&
           !sqlite(store, "SELECT 1 FROM sqlite_master WHERE name = 'trials'").empty() && stored() > 0;
  };
  const Outcome stopped = zeroloss(with(sweep, {"--device", "cpu"}), interrupted);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  const long before = stored();
  EXPECT_GT(before, 0);
  EXPECT_LT(before, 60);
  EXPECT_EQ(sqlite(store, "SELECT (SELECT count(*) FROM claims) + (SELECT count(*) FROM workers)")[0][0],
            "0");
  std::smatch command;
  ASSERT_TRUE(
      std::regex_search(stopped.err, command, std::regex("zeroloss: interrupted; go on with: (.*)\n")))
      << stopped.err;
  EXPECT_NE(command[1].str().find("--device cpu"), std::string::npos) << stopped.err;
  EXPECT_EQ(command[1].str().find("zeroloss-torch"), std::string::npos) << "what people call is zeroloss";
  const Outcome resumed = run_program("sh", {"-c", command[1].str() + " --json"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Json::parse(resumed.out)["before"], before);
  EXPECT_EQ(Json::parse(resumed.out)["trials"], 60);
  Arguments here = sweep;
  here.back() = path("here");
  ASSERT_EQ(zeroloss(here).exit_code, 0);
  const char* told = "SELECT cell, trial, seed, steps, status FROM trials ORDER BY cell, trial";
  EXPECT_EQ(sqlite(path("run/trials.db"), told), sqlite(path("here/trials.db"), told));
}

// The processor comes when the device has all trials in its hands, and waits for what is left.
TEST_F(DeviceCommand, AStoreIsSharedWithTheProcessor) {
  const Arguments sweep = with(kSweep, {"--out", path("run")});
  const std::filesystem::path store = path("run.partial/trials.db");
  const auto claimed = [&] {
    return std::filesystem::exists(store) &&
           !sqlite(store, "SELECT 1 FROM sqlite_master WHERE name = 'claims'").empty() &&
           sqlite(store, "SELECT count(*) FROM claims")[0][0] != "0";
  };
  const auto wait_for = [&](const auto& what) {
    for (int k = 0; k < 2000 && !what(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  Process beside("sh", with({"-c", "exec \"$0\" \"$@\" > /dev/null", ZEROLOSS_COMMAND},
                            with(sweep, {"--device", "cpu", "--quiet"})));
  wait_for([&] { return claimed() || std::filesystem::exists(path("run")); });
  zeroloss(sweep);  // writes the folder, or leaves that to the other
  wait_for([&] { return std::filesystem::exists(path("run/result.json")); });
  EXPECT_EQ(sqlite(path("run/trials.db"), "SELECT count(*) FROM trials")[0][0], "36");
}

TEST_F(DeviceCommand, WhatADeviceCannotSweepIsNamed) {
  const Arguments sweep{"sweep", "sphere:n=5,d=3", "--device", "cpu", "--out", path("run")};
  refused(with(sweep, {"--activation", "relu,tanh"}), {"relu networks only", "tanh", "--device"});
  refused(with(sweep, {"--optimizer", "momentum"}), {"gd only", "momentum", "--device"});
  refused(with(sweep, {"--depth", "1,2"}), {"one hidden layer", "depth 2", "--device"});
  refused(with(sweep, {"--step", "theorem"}), {"theorem", "--device"});
  refused(with(sweep, {"--space", "gram"}), {"--space gram", "--device"});
  refused({"sweep", "sphere:n=5,d=3", "--device", "gpu"}, {"--device", "cpu, cuda, cuda:N or auto", "gpu"});
  refused({"sweep", "sphere:n=5,d=3", "--device", "cpu", "--width", "0"}, {"width"});
  refused({"sweep", "nothing.csv", "--device", "cpu"}, {"nothing.csv"});
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  if (!gpu_there())
    refused({"sweep", "sphere:n=5,d=3", "--device", "cuda"}, {"cuda", "LibTorch", "0 CUDA devices"}, 3);
}

}  // namespace
}  // namespace zeroloss::test
