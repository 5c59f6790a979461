// zeroloss fit from end to end: the text, the JSON object, the run folder, interruption and resuming.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <thread>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/number.hpp"
#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

class FitCommand : public TempFolder {};

const Arguments kQuick{"fit", "sphere:n=40,d=10", "--width", "50", "--optimizer", "gauss_newton"};

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
  using Keys = std::set<std::string>;
  const Json json = answer(kQuick);
  EXPECT_EQ(keys(json), (Keys{"data",
                              "digest",
                              "labels",
                              "layers",
                              "leave_one_out_error",
                              "guessing_error",
                              "solution",
                              "options",
                              "conclusion",
                              "status",
                              "n",
                              "d",
                              "n_distinct",
                              "conflicts",
                              "nearest",
                              "steps",
                              "step",
                              "relative_misfit",
                              "certificate",
                              "certified_at",
                              "max_distance",
                              "flipped_fraction",
                              "per_class",
                              "forecast_missing",
                              "space",
                              "engine",
                              "seconds",
                              "tolerance",
                              "test",
                              "next",
                              "width"}));
  EXPECT_TRUE(json["test"].is_null());
  EXPECT_EQ(json["options"]["start"]["source"], "gaussian");
  const Keys certificate{"kind",   "holds", "radius", "margin", "any_margin", "misfit", "lambda_min",
                         "norm_J", "step",  "rate",   "kinks",  "kink_bound", "reason"};
  EXPECT_EQ(keys(json["certificate"]), certificate);
  ASSERT_EQ(json["per_class"].size(), 1u);
  const Json& output = json["per_class"][0];
  EXPECT_EQ(keys(output), (Keys{"label", "status", "reason", "steps", "step", "relative_misfit",
                                "certified_at", "certificate", "theorem", "seconds"}));
  EXPECT_EQ(keys(output["certificate"]), certificate);
  EXPECT_EQ(keys(output["theorem"]),
            (Keys{"id", "theorem", "holds", "step", "width", "failure_probability", "reason"}));
  EXPECT_EQ(json["status"], "certified");
  EXPECT_TRUE(json["certificate"]["holds"]);
  EXPECT_GT(json["certificate"]["margin"], 1.0);
  EXPECT_LE(json["relative_misfit"], json["tolerance"]);
}

std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  return cells;
}

// Proved before the first step, for any labels of this length; and what is proved is what happens.
TEST_F(FitCommand, PairsAreCertifiedAtTheStart) {
  const Arguments pairs{"fit",     "digits", "--classes",      "3,8", "--start", "pairs",
                        "--width", "64",     "--output-scale", "2e5"};
  const Json start = answer(with(pairs, {"--max-steps", "0"}))["certificate"];
  ASSERT_EQ(start["kind"], "descent") << start["reason"];
  EXPECT_GT(start["any_margin"], 1.0);
  const Json any = answer(with(pairs, {"--max-steps", "0", "--labels", "random"}))["certificate"];
  EXPECT_EQ(any["kind"], "descent");
  const std::string step = start["step"].dump();
  const Json run = answer(with(pairs, {"--max-steps", "300", "--step", step, "--out", path("run")}));
  EXPECT_EQ(run["certified_at"], 0);
  EXPECT_TRUE(run["per_class"][0]["theorem"]["holds"]);
  std::istringstream rows(content(path("run/metrics.csv")));
  std::string line;
  std::getline(rows, line);
  const auto columns = csv_cells(line);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
  };
  int points = 0;
  // An output has 64 terms |v| |w x|, of |v| = 2e5/8 and 64 products of about N(0, 1); targets are +-1.
  const double rounding = test::gamma_of(64 + 64) * 64 * 2e5 / 8;
  for (; std::getline(rows, line); ++points) {
    const auto cells = csv_cells(line);
    EXPECT_LE(test::number(cells.at(column("relative_misfit"))),
              test::number(cells.at(column("bound_misfit"))) + rounding);
    EXPECT_LE(test::number(cells.at(column("distance"))), test::number(cells.at(column("bound_distance"))));
  }
  EXPECT_GT(points, 20);
  refused(with(pairs, {"--scaling", "balanced"}), {"leave scaling out"});
  refused({"fit", "digits", "--start", "pairs", "--width", "7"}, {"width must be even"});
}

TEST_F(FitCommand, RunFolderIsWhole) {
  const Outcome outcome = zeroloss(with(kQuick, {"--out", path("run"), "--record-every", "1"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file : {"run/manifest.json", "run/result.json", "run/metrics.csv", "run/model.safetensors",
                           "run/curve.vl.json", "run/distance.vl.json"})
    EXPECT_TRUE(fs::exists(path(file))) << file;
  EXPECT_FALSE(fs::exists(path("run/checkpoint.safetensors")));
  EXPECT_FALSE(fs::exists(path("run.partial")));
  const Json result = json_of(path("run/result.json"));
  const std::string metrics = content(path("run/metrics.csv"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), result["steps"].get<int>() + 2);
  EXPECT_EQ(json_of(path("run/manifest.json"))["options"]["width"], 50);
  for (const char* figure : {"run/curve.vl.json", "run/distance.vl.json"})
    EXPECT_FALSE(json_of(path(figure))["data"]["values"].empty()) << figure;

  // What was trained predicts what it was trained on.
  // Of 50 terms |v| ||w||, 50^-1/2 times about 10^1/2, with sums of 10 and of 50.
  const double rounding = 2 * test::gamma_of(2 * 10 + 50 + 8) * 2 * std::sqrt(50.0 * 10);
  EXPECT_NEAR(answer({"predict", path("run/model.safetensors"), "sphere:n=40,d=10"})["error"],
              result["relative_misfit"], rounding);

  refused(with(kQuick, {"--out", path("run")}), {"exists already"});
}

// Classes that lie over each other: zero loss errs on points left out, and certify says so.
TEST_F(FitCommand, KernelIsForPointsThatAreNotFitted) {
  const auto table = [&](const char* name, int first, int last) {
    std::string csv = "a,b,c,kind\n";
    for (int i = first; i < last; ++i) {
      const double turn = 0.7 * i, noise = std::sin(12.9898 * i);
      csv += fmt::format(
          "{:.6f},{:.6f},{:.6f},{}\n", std::cos(turn) + 0.3 * noise, std::sin(1.3 * turn), noise,
          std::array{"ant", "bee", "cow"}[static_cast<std::size_t>(std::cos(turn) + noise > 0.6 ? 2
                                                                   : std::sin(turn) + noise > 0 ? 1
                                                                                                : 0)]);
    }
    return write(name, csv);
  };
  const std::string train = table("train.csv", 0, 90), other = table("other.csv", 200, 260);
  const Json certified = answer({"certify", train, "--target", "kind"});
  EXPECT_EQ(certified["next"]["command"],
            shell_command({"zeroloss", "fit", train, "--target", "kind", "--optimizer", "kernel"}));
  const Arguments run{"fit", train, "--target", "kind", "--optimizer", "kernel"};
  const Outcome fitted = zeroloss(with(run, {"--test", other, "--out", path("run")}));
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  const Json result = json_of(path("run/result.json"));
  EXPECT_EQ(result["status"], "solved");
  EXPECT_EQ(result["test"]["n"], 60);
  EXPECT_GT(result["guessing_error"], result["leave_one_out_error"]);
  for (const char* words :
       {"\nunseen points: ", " % wrong by leave-one-out; by guessing the most frequent class, ", "\nridge ",
        "next: apply the network\n"})
    EXPECT_NE(fitted.out.find(words), std::string::npos) << fitted.out;
  EXPECT_EQ(fitted.out.find("certified"), std::string::npos) << fitted.out;

  const Json said = answer({"predict", path("run"), other});
  EXPECT_EQ(said["error"], result["test"]["error"]);
  EXPECT_EQ(said["decided"], std::vector<bool>(60, true));
  ASSERT_EQ(zeroloss({"predict", path("run"), other, "--out", path("said.csv")}).exit_code, 0);
  std::ifstream file(path("said.csv"));
  const std::string csv{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(csv.rfind("sample,label,predicted,decided,output_", 0), 0U) << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 61);
  EXPECT_EQ(result["solution"]["solver"], "exact");
  EXPECT_EQ(result["solution"]["activation_chosen_on"], result["n"]);
  refused(with(run, {"--require", "certified"}), {"a certificate is of weights"}, 2);
  const Outcome by_steps = zeroloss(with(run, {"--solver", "cg", "--out", path("steps")}));
  ASSERT_EQ(by_steps.exit_code, 0) << by_steps.err;
  for (const char* words : {", by conjugate gradients\n", " steps of conjugate gradients, residual ",
                            " of every output at every point, before that is rounded, proved\n"})
    EXPECT_NE(by_steps.out.find(words), std::string::npos) << by_steps.out;
  const Outcome predicted = zeroloss({"predict", path("steps"), other});
  EXPECT_NE(predicted.out.find("60 of 60 predicted classes are those of the exact predictor, proved\n"),
            std::string::npos)
      << predicted.out;
  ASSERT_EQ(zeroloss({"export", path("run"), path("model.onnx")}).exit_code, 0);
  EXPECT_EQ(answer({"predict", path("model.onnx"), other, "--target", "kind"})["predictions"],
            said["predictions"]);
  refused(with(run, {"--width", "5"}), {"leave --width out"});
  refused(with(run, {"--ridge", "less"}), {"ridge must be a number >= 0, or auto"});
  refused({"fit", train, "--target", "kind", "--ridge", "1"}, {"ridge is for kernel"});
}

TEST_F(FitCommand, BeginsAtTheWeightsOfAFile) {
  const Arguments run{"fit", "sphere:n=40,d=10", "--width", "50", "--seed", "3"};
  ASSERT_EQ(zeroloss(with(run, {"--max-steps", "0", "--out", path("zero")})).exit_code, 0);
  ASSERT_EQ(zeroloss(with(run, {"--max-steps", "30", "--out", path("drawn")})).exit_code, 0);
  const std::string model = path("zero/model.safetensors");
  const Arguments given{"fit", "sphere:n=40,d=10", "--seed",
                        "3",   "--start",          model};  // the width is the file's
  const Outcome outcome = zeroloss(with(given, {"--max-steps", "30", "--out", path("given")}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("weights of " + model), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("does not hold: it asks for W_0"), std::string::npos) << outcome.out;
  const auto weights = [&](const std::string& name) {
    return read_tensors(path(name + "/model.safetensors")).find("W")->bytes;
  };
  EXPECT_EQ(weights("given"), weights("drawn"));
  const Json manifest = json_of(path("given/manifest.json"));
  EXPECT_EQ(manifest["options"]["start"]["source"], model);
  EXPECT_EQ(manifest["options"]["start"]["digest"], sha256_file(model));
  EXPECT_EQ(manifest["options"]["width"], 50);
  // Of the folder; and these very weights.
  EXPECT_EQ(answer({"fit", "sphere:n=40,d=10", "--start", path("given"), "--max-steps", "0", "--seed",
                    "3"})["relative_misfit"],
            json_of(path("given/result.json"))["relative_misfit"]);

  refused(with(given, {"--width", "1024"}), {"--width is 1024", "50 hidden units", "leave --width out"});
  refused(with(given, {"--activation", "tanh"}), {"trained with activation relu", "--activation relu"});
  refused({"fit", "sphere:n=40,d=11", "--start", model},
          {"--start " + model + " has W of 10 columns", "11 numbers"});
  refused({"fit", "sphere:n=40,d=10", "--start", "gausian"},
          {"--start gausian: no such file", "expected gaussian"});
  refused({"fit", "sphere:n=40,d=10", "--test", "absent.csv"}, {"'absent.csv': no such file or folder"});
  refused({"sweep", "sphere:n=9", "--d", "3", "--width", "4", "--start", model}, {"--start"});
}

TEST_F(FitCommand, LooksAtPointsThatAreNotFitted) {
  std::string train = "a,b,price\n", test = "price,b,a\n";
  for (int i = 0; i < 20; ++i) train += fmt::format("{},{},{}\n", i, i * i % 7, 0.5 * i + i % 3 + 0.25);
  for (int i = 0; i < 9; ++i) test += fmt::format("{},{},{}\n", 0.5 * i + 0.25, i * i % 7, i + 0.5);
  const std::string source = write("train.csv", train), other = write("test.csv", test);
  const Arguments run{"fit",     source, "--target", "price",     "--optimizer", "gauss_newton",
                      "--width", "60",   "--out",    path("run"), "--test",      other};
  const Outcome outcome = zeroloss(run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json result = json_of(path("run/result.json"));
  EXPECT_EQ(result["test"]["n"], 9);
  EXPECT_TRUE(result["test"]["wrong"].is_null());
  EXPECT_EQ(result["options"]["test"]["digest"], sha256_file(other));
  EXPECT_NE(outcome.out.find(other + ", not fitted: root mean square error "), std::string::npos)
      << outcome.out;
  // predict, which goes its own way, says ||f - y||/||y||.
  double squares = 0;
  for (int i = 0; i < 9; ++i) squares += std::pow(0.5 * i + 0.25, 2);
  const double error = answer({"predict", path("run"), other, "--target", "price"})["error"];
  EXPECT_NEAR(result["test"]["error"].get<double>(), error * std::sqrt(squares / 9),
              test::gamma_of(2 * (60 + 2 * 3 + 9)) * 100 * error);  // sizes of terms are below 100 errors
  const std::string metrics = content(path("run/metrics.csv"));
  EXPECT_NE(metrics.find(",test_error\n"), std::string::npos);
  EXPECT_EQ(metrics.find(",\n"), std::string::npos) << "no record without one";
  EXPECT_FALSE(json_of(path("run/test.vl.json"))["data"]["values"].empty());

  refused({"fit", source, "--target", "price", "--test", source},
          {"train.csv: the data and --test are the same file"});
  refused({"fit", source, "--target", "price", "--test", write("c.csv", "a,price\n1,2\n")},
          {"c.csv", "not there: b"});
}

TEST_F(FitCommand, CountsClassesThatWereNotFitted) {
  const std::string source = write("train.csv", "a,b,class\n1,2,x\n2,5,y\n3,3,x\n7,1,y\n4,4,x\n");
  const auto run = [&](const std::string& csv) {
    return Arguments{"fit",     source, "--optimizer", "gauss_newton",
                     "--width", "60",   "--test",      write("test.csv", csv)};
  };
  const Json json = answer(run("a,b,class\n1,2,x\n2,5,x\n3,3,x\n"));
  EXPECT_EQ(json["test"]["wrong"], 1) << "two of these points are fitted, one with another label";
  EXPECT_DOUBLE_EQ(json["test"]["error"], 1.0 / 3);
  EXPECT_NE(zeroloss(run("a,b,class\n1,2,x\n2,5,x\n3,3,x\n")).out.find("1 of 3 points wrong (33.3 %)"),
            std::string::npos);
  refused(run("a,b,class\n1,2,x\n2,5,w\n"), {"test.csv", "class 'w'", "x, y"});
}

TEST_F(FitCommand, ShowsTheClassesThatStandInTheWay) {
  std::string csv = "a,b,class\n";
  for (int k = 0; k < 40; ++k) csv += fmt::format("{},{},c{}\n{},{},c{}\n", k, 40 - k, k, k * k, -k, k);
  const Arguments run{"fit", write("many.csv", csv), "--optimizer", "gauss_newton", "--width", "200"};
  std::vector<std::pair<double, std::string>> misfits;
  const Json json = answer(run);
  for (const Json& each : json["per_class"]) {
    ASSERT_FALSE(each["certificate"]["holds"]) << "else the order is another one";
    misfits.emplace_back(-each["relative_misfit"].get<double>(), each["label"]);
  }
  ASSERT_EQ(misfits.size(), 40u);
  std::ranges::sort(misfits);
  const std::string text = zeroloss(run).out;
  EXPECT_NE(text.find("and 10 more, fitted no worse (JSON lists all)\n"), std::string::npos) << text;
  for (std::size_t k = 0; k < misfits.size(); ++k)
    EXPECT_EQ(text.find("\n" + misfits[k].second + " ") != std::string::npos, k < 30) << misfits[k].second;
}

TEST_F(FitCommand, NothingIsKnownOfWhatDiverged) {
  const Json json = answer({"fit", "sphere:n=40,d=10", "--width", "50", "--step", "1e6"});
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

  refused(part, {"unfinished run"});
  refused(with(part, {"--resume", "--n", "300"}), {"SHA-256"});

  const Outcome resumed = zeroloss(with(part, {"--resume"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(content(path("part/metrics.csv")), content(path("whole/metrics.csv")));
  EXPECT_EQ(content(path("part/model.safetensors")), content(path("whole/model.safetensors")));
}

TEST_F(FitCommand, AFinishedRunIsNotDoneAgain) {
  const Arguments run = with(kQuick, {"--out", path("run"), "--resume"});
  ASSERT_EQ(zeroloss(run).exit_code, 0);
  const auto written = fs::last_write_time(path("run/result.json"));
  const std::string steps = std::to_string(json_of(path("run/result.json"))["steps"].get<int>());
  const Outcome again = zeroloss(run);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, path("run") + " is finished: certified after " + steps + " steps\n");
  EXPECT_EQ(answer(run), json_of(path("run/result.json")));
  EXPECT_EQ(zeroloss(with(run, {"--require", "converged"})).exit_code, 0);
  EXPECT_EQ(fs::last_write_time(path("run/result.json")), written);
  EXPECT_FALSE(fs::exists(path("run.partial")));

  const Arguments cut{"fit", "sphere:n=40,d=10", "--max-steps", "3", "--out", path("cut"), "--resume"};
  ASSERT_EQ(zeroloss(cut).exit_code, 0);
  EXPECT_EQ(zeroloss(cut).out, path("cut") + " is finished: budget spent after 3 steps\n");
  EXPECT_EQ(zeroloss(with(cut, {"--require", "certified"})).exit_code, 1);

  refused({"fit", "sphere:n=50,d=10", "--max-steps", "3", "--out", path("cut"), "--resume"},
          {"finished, and of other data than sphere:n=50,d=10"});
  refused(with(cut, {"--width", "77"}), {"finished, and its width was 1024, not 77"});
  EXPECT_EQ(zeroloss(with(cut, {"--max-seconds", "9"})).exit_code, 0) << "not of its course";
}

TEST_F(FitCommand, ARunInWorkIsLocked) {
  const Arguments run{"fit",         "digits",   "--classes",       "3,8", "--width", "64",
                      "--max-steps", "10000000", "--certify-every", "0",   "--out",   path("run"),
                      "--resume"};
  Process first(ZEROLOSS_COMMAND, run);
  for (int wait = 0; wait < 4000 && !fs::exists(path("run.partial")); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // between the folder and its lock
  const Outcome second = zeroloss(run);
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_TRUE(
      std::regex_search(second.err, std::regex("run: process \\d+ is writing it; choose another --out")))
      << second.err;
  refused({"sweep", "sphere:n=9", "--d", "3", "--width", "4", "--out", path("run")}, {"is writing it"});
  EXPECT_TRUE(first.kill());
}

TEST_F(FitCommand, SigtermSavesTheRunToo) {
  const Outcome stopped =
      zeroloss(with(kLong, {"--out", path("run")}),
               {.terminal = true,
                .interrupt_when =
                    [](const Outcome& so_far) { return so_far.err.find("training") != std::string::npos; },
                .signal = SIGTERM});
  EXPECT_EQ(stopped.exit_code, 143) << stopped.err;
  EXPECT_NE(stopped.err.find("--resume"), std::string::npos) << stopped.err;
  EXPECT_TRUE(fs::exists(path("run.partial/checkpoint.safetensors")));
}

TEST_F(FitCommand, KilledRunsGoOn) {
  const Outcome whole = zeroloss(with(kLong, {"--out", path("whole")}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Arguments part = with(kLong, {"--out", path("part"), "--resume", "--checkpoint-every-s", "0.02"});
  // Steps that the last whole checkpoint has behind it.
  const auto stored = [&] {
    const fs::path checkpoint = path("part.partial/checkpoint.safetensors");
    if (!fs::exists(checkpoint)) return Index{0};
    return Json::parse(read_tensors(checkpoint).metadata.at("current")).at("result").at("steps").get<Index>();
  };
  Index before = 0;
  for (const Index first :
       {1000, 1, 1}) {  // a run that began anew would not be beyond 1000 at its first checkpoint
    Process process(ZEROLOSS_COMMAND, part);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (stored() < before + first && !fs::exists(path("part")) &&
           std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(process.kill()) << "the run had ended before the kill, after " << before << " steps";
    ASSERT_FALSE(fs::exists(path("part")));
    EXPECT_GE(stored(), before + first);
    before = stored();
  }
  const Outcome resumed = zeroloss(part);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
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
  const auto wrong = [](const Arguments& more, const std::string& what) {
    refused(with({"fit", "sphere:n=10,d=4"}, more), {what});
  };
  wrong({"--width", "-1"}, "width");
  wrong({"--step", "0"}, "step");
  wrong({"--step", "-0.1"}, "step");
  wrong({"--optimizer", "flow", "--batch", "8"}, "batch");
  wrong({"--optimizer", "adam"}, "--optimizer");
  wrong({"--resume"}, "--out");
  wrong({"--width", "many"}, "--width");
  wrong({"--scaling", "balanced", "--target", "none"}, "target");
  wrong({"--d", "5"}, "d = 5");
  wrong({"--d", "-1"}, "d must be >= 1");
}

TEST_F(FitCommand, PointsCanBeProjected) {
  const Arguments data{"digits", "--classes", "3,8", "--n", "30", "--d", "12", "--seed", "4"};
  const Arguments options{"--optimizer", "gauss_newton", "--width", "64", "--out", path("run")};
  const Json json = answer(with(with({"fit"}, data), options));
  EXPECT_EQ(json["d"], 12);
  EXPECT_EQ(json["n"], 30);
  EXPECT_EQ(json["status"], "certified");
  // The network belongs to this subspace.
  EXPECT_EQ(answer(with({"predict", path("run")}, data))["error"], 0);
  refused({"predict", path("run"), "digits", "--classes", "3,8", "--n", "30"},
          {"64 features; the network was trained on 12"});
}

TEST_F(FitCommand, LabelsCanBeRandom) {
  const Json json = answer({"fit", "digits", "--classes", "3,8", "--labels", "random", "--center",
                            "--optimizer", "gauss_newton", "--width", "256"});
  EXPECT_EQ(json["labels"], "random");
  EXPECT_EQ(json["status"], "certified");
}

// fit's answer on real data, every class of which must be certified.
void ends_certified(const Arguments& run) {
  const Json json = answer(run);
  EXPECT_EQ(json["status"], "certified") << json["conclusion"];
  for (const Json& output : json["per_class"]) EXPECT_TRUE(output["certificate"]["holds"]) << output["label"];
}

TEST_F(FitCommand, SlowDigitsEndCertified) {
  const Arguments run{"fit", "digits", "--center", "--optimizer", "gauss_newton"};  // of docs/guide/fit.md
  ends_certified(run);
  ends_certified(with(run, {"--classes", "3,8"}));
}

TEST_F(FitCommand, SlowMnistEndsCertified) {
  ZEROLOSS_NEEDS_SHARED("mnist");
  for (const std::string labels : {"given", "random"})
    ends_certified({"fit", shared_data() / "mnist", "--n", "2000", "--center", "--optimizer", "gauss_newton",
                    "--width", "512", "--labels", labels});
}

}  // namespace
}  // namespace zeroloss::test
