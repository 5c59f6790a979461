// zeroloss sweep as a process: axes, answers as text and JSON, run folders, the command that repeats a trial.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/number.hpp"
#include "support/sqlite.hpp"
#include "support/temp_folder.hpp"

namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

class SweepCommand : public TempFolder {};

// Some cells always succeed, some never, some now and then.
const Arguments kMixed{"sweep",       "sphere:n=12", "--d",      "1:4", "--width",     "4:52:16",
                       "--max-steps", "1000",        "--trials", "4",   "--tolerance", "0.1"};

// ---- axes ----

TEST_F(SweepCommand, AxesAreListsAndRanges) {
  const auto axis = [](const std::string& flag, const std::string& text) {
    const Json options = answer({"sweep", "sphere:n=3,d=2", "--max-steps", "0", "--trials", "1", flag, text});
    return options["options"][flag.substr(2)];
  };
  EXPECT_EQ(axis("--width", "5"), Json({5}));
  EXPECT_EQ(axis("--width", "3:6"), Json({3, 4, 5, 6}));
  EXPECT_EQ(axis("--width", "10:45:10"), Json({10, 20, 30, 40}));
  EXPECT_EQ(axis("--width", "2:64:*2"), Json({2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(axis("--width", "9,1:3,20:25:5"), Json({9, 1, 2, 3, 20, 25}));
  EXPECT_EQ(axis("--width", "7:7"), Json({7}));
  EXPECT_EQ(axis("--width", "1e1"), Json({10}));
  EXPECT_EQ(axis("--noise", "0:0.5:0.1"), Json({0, 0.1, 0.2, 0.3, 0.4, 0.5}));
  EXPECT_EQ(axis("--tolerance", "1e-4:0.1:*10"), Json({1e-4, 1e-3, 1e-2, 1e-1}));
  EXPECT_EQ(axis("--step", "auto,0.5,1e-3:0.1:*10"), Json({"auto", "0.5", "0.001", "0.01", "0.1"}));
  EXPECT_EQ(axis("--activation", "tanh,relu"), Json({"tanh", "relu"}));
  EXPECT_EQ(axis("--scaling", "balanced"), Json({"balanced"}));
  EXPECT_EQ(axis("--n", "1:3"), Json({1, 2, 3}));
}

TEST_F(SweepCommand, WrongAxesAreNamed) {
  const auto wrong = [](const std::string& flag, const std::string& text, const std::string& reason) {
    refused({"sweep", "sphere:n=30,d=3", flag, text}, {flag, text, reason});
  };
  wrong("--width", "5:1", "ends before it begins");
  wrong("--width", "a", "\"a\" is no number");
  wrong("--width", "1:2:3:4", "too many parts");
  wrong("--width", "1:10:*1", "factor must be above 1");
  wrong("--width", "0:10:*2", "begin above 0");
  wrong("--width", "1:10:0", "step must be above 0");
  wrong("--width", "1:10:-1", "step must be above 0");
  wrong("--width", "1:10:*", "is no number");
  wrong("--width", "1:", "is no number");
  wrong("--width", ":", "is no number");
  wrong("--width", "1,,2", "is no number");
  wrong("--width", "1:x", "\"x\" is no number");
  wrong("--width", "1.5", "no whole number");
  wrong("--width", "1:2:0.5", "no whole number");
  wrong("--width", "1e300", "no whole number");
  wrong("--width", "inf", "is no number");
  wrong("--width", "1:1e9", "more than a million");
  wrong("--noise", "nan", "is no number");
  wrong("--step", "0.1:a", "is no number");
}

TEST_F(SweepCommand, WrongOptionsAreNamed) {
  refused({"sweep"}, {"data"});
  refused({"sweep", "sphere:d=3"}, {"number of points is missing", "--n"});
  refused({"sweep", "sphere:n=3"}, {"dimension is missing", "--d"});
  refused({"sweep", "sphere:"}, {"is missing"});
  refused({"sweep", "sphere:d=3", "--n", "5", "--n", "6"}, {"--n"});
  refused({"sweep", "sphere:n=30,d=3", "--width", "4,4"}, {"width", "twice"});
  refused({"sweep", "sphere:n=30,d=3", "--width", "0"}, {"width must be >= 1"});
  refused({"sweep", "sphere:n=30,d=3", "--activation", "relu,"}, {"activation"});
  refused({"sweep", "sphere:n=30,d=3", "--scaling", "mup"}, {"scaling", "mup"});
  refused({"sweep", "sphere:n=30,d=3", "--step", "0"}, {"step"});
  refused({"sweep", "sphere:n=30,d=3", "--noise", "0.1", "--labels", "random"}, {"noise", "labels"});
  refused({"sweep", "sphere:n=30,d=3", "--trials", "0"}, {"trials"});
  refused({"sweep", "sphere:n=30,d=3", "--adaptive", "--max-trials", "3"}, {"--max-trials"});
  refused({"sweep", "sphere:n=30,d=3", "--optimizer", "flow"}, {"float32"});
  refused({"sweep", "digits", "--d", "65"}, {"d = 65", "64 features"});
  refused({"sweep", path("absent.csv")}, {"absent.csv"});
  refused({"sweep", "sphere:n=3,d=2", "--width", "0", "--out", path("run")}, {"width"});
  EXPECT_TRUE(fs::is_empty(folder));  // a refused run leaves nothing
}

TEST_F(SweepCommand, ReadsTheConfigThatItPrints) {
  const Outcome config = zeroloss(with(kMixed, {"--print-config"}));
  ASSERT_EQ(config.exit_code, 0) << config.err;
  Json from_file = answer({"sweep", "--config", write("a.toml", config.out)}), given = answer(kMixed);
  for (const char* own : {"seconds", "next"}) {
    from_file.erase(own);
    given.erase(own);
  }
  EXPECT_EQ(from_file, given);
}

// ---- answers ----

TEST_F(SweepCommand, JsonHasEveryKey) {
  const Json json = answer(kMixed);
  const auto keys = [](const Json& object) {
    std::vector<std::string> names;
    for (const auto& [key, value] : object.items()) names.push_back(key);
    return names;  // sorted
  };
  EXPECT_EQ(keys(json),
            (std::vector<std::string>{"before", "cells", "complete", "conclusion", "digest", "engine", "next",
                                      "options", "panels", "rounds", "seconds", "source", "trials"}));
  EXPECT_EQ(keys(json["cells"][0]),
            (std::vector<std::string>{"activation", "certified", "d", "depth", "diverged", "high", "low",
                                      "mean_steps", "median_misfit", "n", "noise", "probability", "scaling",
                                      "step", "successes", "tolerance", "trials", "width"}));
  EXPECT_EQ(keys(json["panels"][0]),
            (std::vector<std::string>{"title", "transition", "x", "x_values", "y", "y_values"}));
  EXPECT_EQ(keys(json["panels"][0]["transition"][0]), (std::vector<std::string>{"high", "low", "x", "y"}));
  EXPECT_EQ(json["source"], "sphere:n=12");
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["cells"].size(), 16u);
  EXPECT_EQ(json["trials"], 64);
  EXPECT_EQ(json["before"], 0);
  EXPECT_EQ(json["rounds"], 1);
  EXPECT_EQ(json["options"]["precision"], "float32");
  EXPECT_EQ(json["options"]["d"], Json({1, 2, 3, 4}));
  EXPECT_EQ(json["panels"][0]["x"], "d");
  EXPECT_EQ(json["panels"][0]["y"], "width");
}

TEST_F(SweepCommand, TextShowsTheMap) {
  const Json json = answer(kMixed);
  const Outcome outcome = zeroloss(kMixed);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(
      outcome.out.rfind("sphere:n=12: 16 cells, 64 trials\n\n" + json["conclusion"].get<std::string>(), 0),
      0u)
      << outcome.out;
  std::istringstream lines(outcome.out);
  std::string line;
  while (std::getline(lines, line) && line != "width") {
  }
  int kinds[3] = {0, 0, 0};
  for (int width = 52; width >= 4; width -= 16) {  // wide above
    std::getline(lines, line);
    const auto bar = line.find('|');
    ASSERT_NE(bar, std::string::npos) << outcome.out;
    EXPECT_EQ(std::stoi(line), width);
    std::string expected;
    for (int d = 1; d <= 4; ++d)
      for (const Json& cell : json["cells"])
        if (cell["d"] == d && cell["width"] == width) {
          const double p = cell["probability"];
          expected += p == 0        ? "  "
                      : p == 1      ? "\u2588\u2588"
                      : p < 1.0 / 3 ? "\u2591\u2591"
                      : p < 2.0 / 3 ? "\u2592\u2592"
                                    : "\u2593\u2593";
          ++kinds[p == 0 ? 0 : p == 1 ? 2 : 1];
        }
    EXPECT_EQ(line.substr(bar), "|" + expected + "|");
  }
  std::getline(lines, line);
  EXPECT_EQ(line, "       1 2 3 4  d");
  for (const int kind : kinds) EXPECT_GT(kind, 0) << outcome.out;
}

TEST_F(SweepCommand, AdaptiveGoesOnWhereItIsUndecided) {
  const Json json = answer(with(kMixed, {"--adaptive", "--max-trials", "10"}));
  EXPECT_GE(json["rounds"], 2);
  EXPECT_LE(json["rounds"], 3);
  bool grown = false;
  for (const Json& cell : json["cells"]) {
    const int trials = cell["trials"], good = cell["successes"];
    EXPECT_TRUE(trials == 4 || trials == 8 || trials == 10) << cell;
    EXPECT_TRUE(trials == 10 || good == 0 || good == trials) << cell;
    grown = grown || trials == 10;
  }
  EXPECT_TRUE(grown);
}

// ---- run folders ----

TEST_F(SweepCommand, RunFolderIsWhole) {
  const Json json = answer(with(kMixed, {"--out", path("run")}));
  EXPECT_FALSE(fs::exists(path("run.partial")));
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path("run"))) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"heat.vl.json", "manifest.json", "metrics.csv", "result.json",
                                             "trials.db"}));
  EXPECT_EQ(json_of(path("run/result.json")), json);
  EXPECT_EQ(json_of(path("run/manifest.json"))["options"]["width"], Json({4, 20, 36, 52}));

  const Rows rows =
      sqlite(path("run/trials.db"),
             "SELECT n, d, width, activation, scaling, step, trial, seed, steps, relative_misfit, status, "
             "success FROM trials ORDER BY d, width, trial");
  ASSERT_EQ(rows.size(), 64u);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    EXPECT_EQ(rows[k][0], "12");
    EXPECT_EQ(rows[k][1], std::to_string(1 + k / 16));
    EXPECT_EQ(rows[k][2], std::to_string(4 + 16 * (k / 4 % 4)));
    EXPECT_EQ(rows[k][3] + rows[k][4], "reluntk");
    EXPECT_EQ(rows[k][6], std::to_string(k % 4));
    EXPECT_EQ(rows[k][11], rows[k][10] == "converged" ? "1" : "0");
  }
  EXPECT_EQ(sqlite(path("run/trials.db"), "SELECT count(DISTINCT seed) FROM trials")[0][0], "64");

  const std::string metrics = content(path("run/metrics.csv"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 17);
  const Json figure = json_of(path("run/heat.vl.json"));
  EXPECT_EQ(figure["layer"][0]["data"]["values"].size(), 16u);
  std::size_t points = 0;
  for (const Json& line : figure["layer"].back()["data"]["values"]) {
    if (line["line"] != "m d = n") continue;
    ++points;
    EXPECT_NEAR(line["x"].get<double>() * line["y"].get<double>(), 12, gamma_of(3) * 12);  // and a division
  }
  EXPECT_GT(points, 100u);

  refused(with(kMixed, {"--out", path("run")}), {"exists already"});
  refused(with(kMixed, {"--out", path("run"), "--seed", "1"}), {"exists already"});
}

TEST_F(SweepCommand, EveryPanelHasItsFigure) {
  const Arguments base{"sweep", "sphere:n=6,d=3", "--trials", "2", "--max-steps", "20", "--width", "8"};
  const auto figures = [&](const Arguments& axes) {
    fs::remove_all(path("run"));
    EXPECT_EQ(zeroloss(with(with(base, {"--out", path("run")}), axes)).exit_code, 0);
    std::vector<std::pair<std::string, Json>> found;
    for (const auto& entry : fs::directory_iterator(path("run")))
      if (entry.path().filename().string().starts_with("heat"))
        found.emplace_back(entry.path().filename(), json_of(entry.path()));
    std::sort(found.begin(), found.end());
    return found;
  };
  EXPECT_EQ(figures({}).size(), 0u);  // a single cell
  const auto column = figures({"--noise", "0,0.5,1"});
  ASSERT_EQ(column.size(), 1u);
  EXPECT_EQ(column[0].first, "heat.vl.json");
  EXPECT_EQ(column[0].second["data"]["values"].size(), 9u);  // the probability and both ends of its interval
  const auto words = figures({"--activation", "relu,tanh,erf"});
  ASSERT_EQ(words.size(), 1u);
  std::vector<std::string> names;  // by name, not at the number that a word is not
  for (const Json& point : words[0].second["data"]["values"]) names.push_back(point.value("name", ""));
  EXPECT_EQ(names, (std::vector<std::string>{"relu", "tanh", "erf"}));
  const auto several = figures({"--activation", "relu,tanh", "--scaling", "ntk,balanced", "--noise", "0,1"});
  ASSERT_EQ(several.size(), 2u);
  EXPECT_EQ(several[0].first, "heat-1.vl.json");
  EXPECT_EQ(several[1].first, "heat-2.vl.json");
  EXPECT_EQ(several[1].second["layer"][0]["data"]["values"].size(), 4u);
}

// ---- the command that repeats a trial ----

TEST_F(SweepCommand, ATrialCanBeRepeated) {
  std::string csv = "a,b,the y\n";
  for (int i = 0; i < 12; ++i)
    csv +=
        std::to_string(i) + "," + std::to_string(i * i % 7 + 1) + "," + fmt::format("{:f}", 0.1 * i) + "\n";
  const Arguments few{"--trials", "2", "--max-steps", "300", "--width", "6,20"};
  for (const Arguments& sweep : std::vector<Arguments>{
           kMixed,
           with({"sweep", "digits", "--classes", "3,8", "--n", "20,30", "--d", "10", "--noise", "0.2"}, few),
           with({"sweep", "digits", "--classes", "0,1,2", "--n", "30", "--center", "--scaling", "balanced"},
                few),
           with({"sweep", write("my table's.csv", csv), "--target", "the y", "--precision", "float64"}, few),
           with({"sweep", "sphere:n=10,d=3", "--optimizer", "sgd", "--batch", "2", "--step", "0.1"}, few),
           with({"sweep", "sphere:n=10,d=3", "--optimizer", "flow", "--flow-tolerance", "1e-4", "--precision",
                 "float64"},
                few),
           with({"sweep", "sphere:n=10,d=3", "--step", "theorem", "--activation", "softplus", "--scaling",
                 "balanced"},
                few)}) {
    SCOPED_TRACE(testing::PrintToString(sweep));
    fs::remove_all(path("run"));
    const Outcome outcome = zeroloss(with(sweep, {"--out", path("run")}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::smatch found;
    ASSERT_TRUE(
        std::regex_search(outcome.out, found, std::regex("one of the trials again:  zeroloss( fit .*)\n")));
    const Outcome again = run_program("sh", {"-c", "\"$0\"" + found[1].str() + " --json", ZEROLOSS_COMMAND});
    ASSERT_EQ(again.exit_code, 0) << found[1] << "\n" << again.err;
    const Json json = Json::parse(again.out);
    const std::string command = found[1], seed = command.substr(command.find("--seed ") + 7);
    const Rows rows = sqlite(path("run/trials.db"),
                             "SELECT steps, relative_misfit, status FROM trials WHERE seed = " + seed);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(json["steps"], std::stol(rows[0][0]));
    EXPECT_EQ(json["relative_misfit"].get<double>(), test::number(rows[0][1]));
    // fit also tries to prove, and a proof counts more than what stopped the run.
    EXPECT_TRUE(json["status"] == "certified" || json["status"] == rows[0][2])
        << json["status"] << rows[0][2];
  }
}

}  // namespace
}  // namespace zeroloss::test
