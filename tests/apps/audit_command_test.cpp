// zeroloss audit and influence from end to end: text, JSON, run folder, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/command.hpp"
#include "support/temp_folder.hpp"

namespace zeroloss::test {
namespace {

class AuditCommand : public TempFolder {
 protected:
  // Two classes far apart but for one label; a category, a missing cell and a name; in units far apart.
  std::string table(const std::string& name, bool wrong) const {
    std::ofstream file(folder / name);
    file << "name,size,weight,colour,kind\n";
    for (int i = 0; i < 60; ++i) {
      const bool big = i % 2 == 0;
      file << "s" << i << "," << (big ? 5 : 1) + 0.01 * i << ","
           << (i == 9 ? "" : std::to_string((big ? 4000 : 900) + i)) << "," << (i % 3 == 0 ? "red" : "blue")
           << "," << ((big != (wrong && i == 20)) ? "big" : "small") << "\n";
    }
    return (folder / name).string();
  }
};

TEST_F(AuditCommand, NamesTheWrongLabelFirst) {
  const Outcome outcome = zeroloss({"audit", table("t.csv", true), "--target", "kind"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 of 60 labels looks wrong"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("s20"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("filled"), std::string::npos)
      << "what was done to the table is said" << outcome.out;
}

TEST_F(AuditCommand, SamplesAreNumbersAndIdsEverywhere) {
  const std::string train = table("train.csv", true), test = table("test.csv", false);
  const std::string text = zeroloss({"audit", train, "--target", "kind"}).out;
  EXPECT_NE(text.find("sample 'id'"), std::string::npos) << text;
  const std::string row = text.substr(text.find("20 's20'  small"));
  for (const Json& one : answer({"audit", train, "--target", "kind"}).at("issues").at(0).at("against")) {
    const int i = one.at("sample");
    const std::string both = std::to_string(i) + " 's" + std::to_string(i) + "'";
    EXPECT_LT(row.find(both), row.find('\n')) << both << " in " << row;
  }
  const std::string leaked = zeroloss({"audit", train, "--target", "kind", "--test", test}).out;
  EXPECT_NE(leaked.find("training sample 'id'"), std::string::npos) << leaked;
  EXPECT_NE(leaked.find("0 's0' (big)"), std::string::npos) << leaked;
  const std::string worth = zeroloss({"influence", train, "--target", "kind", "--test", test}).out;
  EXPECT_NE(worth.find("training sample 'id'"), std::string::npos) << worth;
  EXPECT_NE(worth.find("20 's20' (small)"), std::string::npos) << worth;
}

TEST_F(AuditCommand, JsonHasScoresIssuesAndTheNoiseRate) {
  const Json json = answer({"audit", table("t.csv", true), "--target", "kind"});
  EXPECT_EQ(json.at("scores").size(), 60U);
  EXPECT_EQ(json.at("predicted").size(), 60U);
  EXPECT_EQ(json.at("confidence").size(), 60U);
  ASSERT_EQ(json.at("issues").size(), 1U);
  const Json& issue = json.at("issues").at(0);
  EXPECT_EQ(issue.at("sample"), 20);
  EXPECT_EQ(issue.at("position"), 20);
  EXPECT_EQ(issue.at("label"), "small");
  EXPECT_EQ(issue.at("predicted"), "big");
  EXPECT_EQ(issue.at("score"), json.at("scores").at(20));
  EXPECT_EQ(issue.at("against").size(), 3U);
  EXPECT_LE(json.at("noise_rate").at("low"), 1.0 / 60);
  EXPECT_GE(json.at("noise_rate").at("high"), 1.0 / 60);
  EXPECT_EQ(keys(json),
            (std::set<std::string>{
                "data",          "digest",     "labels",     "options",         "test",       "task",
                "conclusion",    "n",          "d",          "classes",         "activation", "scale",
                "ridge",         "inducing",   "error",      "scores",          "predicted",  "confidence",
                "issues",        "noise_rate", "confusions", "caveats",         "not_judged", "twins",
                "outliers",      "seconds",    "next",       "image_features",  "mirrored",   "embedding",
                "probabilities", "drawn",      "checked",    "checked_wrong",   "guarantee",  "accepted",
                "enough",        "named",      "needed",     "expected_issues", "reasoned"}));
}

// Of numbers that the features say nothing of, and of a class that is never predicted.
TEST_F(AuditCommand, SaysFirstWhatCannotBeJudged) {
  std::ofstream numbers(folder / "numbers.csv"), rare(folder / "rare.csv");
  const auto drawn = [](int i) { return std::fmod(std::abs(std::sin(i * 12.9898)) * 43758.5453, 1); };
  numbers << "a,b,y\n";
  rare << "a,b,kind\n";
  for (int i = 0; i < 60; ++i) {
    numbers << drawn(i) << "," << drawn(i + 100) << "," << drawn(i + 200) << "\n";
    rare << i % 7 << "." << i * i % 11 << "," << i * 37 % 101 << "," << (i == 0 ? "rare" : "usual") << "\n";
  }
  numbers.close();
  rare.close();
  const Outcome none = zeroloss({"audit", path("numbers.csv"), "--target", "y", "--task", "regression"});
  EXPECT_NE(none.out.find("\n\nNo label of 60 samples can be judged. The features say too little"),
            std::string::npos)
      << none.out;
  EXPECT_NE(none.out.find("wrong labels              not known"), std::string::npos) << none.out;
  EXPECT_EQ(none.out.find("the least sure of them"), std::string::npos) << none.out;
  const Outcome one = zeroloss({"audit", path("rare.csv"), "--target", "kind"});
  EXPECT_NE(one.out.find("No label of 59 samples looks wrong. 1 label cannot be judged. Never predicted"),
            std::string::npos)
      << one.out;
  EXPECT_EQ(one.out.find("the least sure of them"), std::string::npos) << one.out;
}

TEST_F(AuditCommand, WritesARunFolder) {
  const auto out = folder / "run";
  const Outcome outcome =
      zeroloss({"audit", "digits", "--n", "200", "--labels", "noise:0.1", "--out", out.string()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file :
       {"result.json", "scores.csv", "scores.vl.json", "differences.json", "pictures.json", "manifest.json"})
    EXPECT_TRUE(std::filesystem::exists(out / file)) << file;
  const Json result = json_of(out / "result.json"), pictures = json_of(out / "pictures.json");
  for (const Json& issue : result.at("issues"))
    for (const Json& reason : issue.at("against"))
      EXPECT_TRUE(pictures.at("samples").contains(std::to_string(reason.at("sample").get<int>())));
  std::ifstream file(out / "scores.csv");
  std::string line;
  int lines = 0, issues = 0;
  while (std::getline(file, line)) {
    ++lines;
    issues += line.ends_with(",true") ? 1 : 0;
  }
  EXPECT_EQ(lines, 201);
  EXPECT_EQ(issues, static_cast<int>(result.at("issues").size()));
}

// A sample is drawn, people say which of its labels are wrong, and the next audit goes by that.
TEST_F(AuditCommand, CheckedSamplesSayHowManyAreWrong) {
  const std::vector<std::string> noisy = {"audit", "digits", "--n", "400", "--labels", "noise:0.1"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = noisy;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(zeroloss(with({"--draw", "60"})).exit_code, 2) << "where should drawn.csv be?";
  const Outcome drawn = zeroloss(with({"--draw", "60", "--out", path("run")}));
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_NE(drawn.out.find("drawn at random, to look at: "), std::string::npos) << drawn.out;
  EXPECT_NE(drawn.out.find("zeroloss report "), std::string::npos) << drawn.out;
  ASSERT_EQ(zeroloss({"audit", "digits", "--n", "400", "--out", path("clean")}).exit_code, 0);

  // What people would say: labels before the noise.
  const auto rows_of = [](const std::string& text) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::vector<std::string> cells;
      std::istringstream in(line + ",");
      for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
      rows.push_back(cells);
    }
    return rows;
  };
  const auto clean = rows_of(content(folder / "clean/scores.csv"));
  const std::string template_text = content(folder / "run/drawn.csv");
  const auto rows = rows_of(template_text);
  ASSERT_EQ(rows.size(), 61U);
  std::string filled = "sample,id,label,decision,new_label,drawn,seed\n", other_seed = filled;
  int wrong = 0;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    const auto& row = rows[k];
    const bool right = clean[std::stoul(row[0]) + 1][2] == row[2];
    wrong += right ? 0 : 1;
    const std::string line = row[0] + ",," + row[2] + (right ? ",keep" : ",wrong") + ",," + row[5] + ",";
    filled += line + row[6] + "\n";
    other_seed += line + "7\n";
  }
  EXPECT_GT(wrong, 0);
  write("checked.csv", filled);
  const Json by_people = answer(with({"--checked", path("checked.csv")}));
  EXPECT_EQ(by_people.at("checked"), 60);
  EXPECT_EQ(by_people.at("checked_wrong"), wrong);
  const double low = by_people.at("noise_rate").at("low"), high = by_people.at("noise_rate").at("high");
  EXPECT_LT(low, 0.1);
  EXPECT_GT(high, 0.09);
  for (const Json& issue : by_people.at("issues"))
    EXPECT_EQ(filled.find("\n" + std::to_string(issue.at("position").get<int>()) + ","), std::string::npos)
        << "somebody has looked at it";

  const Json named = answer(with({"--checked", path("checked.csv"), "--guarantee", "0.3"}));
  EXPECT_EQ(named.at("guarantee"), 0.3);
  ASSERT_FALSE(named.at("issues").empty());
  EXPECT_NE(named.at("conclusion").get<std::string>().find("at most 30 % of such a list"), std::string::npos);
  const Outcome none = zeroloss(with({"--checked", path("checked.csv"), "--guarantee", "0.01"}));
  EXPECT_NE(none.out.find("No label can be named"), std::string::npos) << none.out;
  EXPECT_NE(none.out.find("are necessary at least"), std::string::npos) << none.out;

  EXPECT_EQ(zeroloss(with({"--guarantee", "0.1"})).exit_code, 2) << "nobody has looked at anything";
  write("open.csv", template_text);
  EXPECT_EQ(zeroloss(with({"--checked", path("open.csv")})).exit_code, 2) << "no decisions";
  write("other.csv", other_seed);
  EXPECT_EQ(zeroloss(with({"--checked", path("other.csv")})).exit_code, 2) << "not what that seed draws";
  const std::string worst = std::to_string(by_people.at("issues").at(0).at("position").get<int>());
  const std::string label = by_people.at("issues").at(0).at("label");
  write("accepted.csv",
        "sample,id,label,decision,new_label\n" + worst + ",," + label + ",keep," + label + "\n");
  for (const Json& issue : answer(with({"--accepted", path("accepted.csv")})).at("issues"))
    EXPECT_NE(std::to_string(issue.at("position").get<int>()), worst);
  EXPECT_EQ(zeroloss(with({"--checked", path("accepted.csv")})).exit_code, 2)
      << "suspects are no random choice";
}

// A wrong label that somebody found is not named again, and is none the less wrong.
TEST_F(AuditCommand, NoIssuesAreLeftMeansThatNobodyFoundOne) {
  const std::string data = table("t.csv", true);
  ASSERT_EQ(zeroloss({"audit", data, "--target", "kind", "--draw", "60", "--out", path("run")}).exit_code, 0);
  std::istringstream lines(content(folder / "run/drawn.csv"));
  std::string filled, line;
  std::getline(lines, line);
  filled = line + "\n";
  while (std::getline(lines, line)) {
    const std::size_t open = line.find(",,,");  // no decision, no new label
    filled += line.replace(open, 3, line.starts_with("20,") ? ",wrong,," : ",right,,") + "\n";
  }
  write("checked.csv", filled);
  const Outcome outcome = zeroloss(
      {"audit", data, "--target", "kind", "--checked", path("checked.csv"), "--require", "no-issues"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("1 label is wrong; no other label looks wrong"), std::string::npos)
      << outcome.out;
}

TEST_F(AuditCommand, SeveralTargetsAreAuditedTogether) {
  const std::string data = table("t.csv", true);
  const Json both = answer({"audit", data, "--targets", "kind,colour"}).at("targets");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both.at(0).at("issues").at(0).at("sample"), 20);
  EXPECT_EQ(both.at(0).at("ridge"), both.at(1).at("ridge"));
  for (const char* option : {"--test-embedding", "--test-probabilities", "--checked", "--target"})
    EXPECT_EQ(zeroloss({"audit", data, "--targets", "kind,colour", option, "kind"}).exit_code, 2) << option;
  EXPECT_EQ(zeroloss({"audit", data, "--targets", "kind,kind"}).exit_code, 2);
}

TEST_F(AuditCommand, AuditsAnotherFile) {
  const std::string train = table("train.csv", false), test = table("test.csv", true);
  const Json json = answer({"audit", train, "--target", "kind", "--test", test});
  EXPECT_EQ(json.at("issues").at(0).at("sample"), 20);
  EXPECT_EQ(json.at("test").at("n"), 60);
  EXPECT_EQ(json.at("twins").size(), 60U) << "every sample is in both";
  const Outcome outcome = zeroloss({"audit", train, "--target", "kind", "--test", test});
  EXPECT_NE(outcome.out.find("Correct test labels"), std::string::npos);
  EXPECT_NE(outcome.out.find("leakage"), std::string::npos);
}

TEST_F(AuditCommand, Requirements) {
  const std::string good = table("good.csv", false), bad = table("bad.csv", true);
  EXPECT_EQ(zeroloss({"audit", good, "--target", "kind", "--require", "no-issues"}).exit_code, 0);
  EXPECT_EQ(zeroloss({"audit", bad, "--target", "kind", "--require", "no-issues"}).exit_code, 1);
  EXPECT_EQ(zeroloss({"audit", bad, "--target", "kind", "--require", "noise<=0.5"}).exit_code, 0);
  EXPECT_EQ(zeroloss({"audit", bad, "--target", "kind", "--require", "issues<=1"}).exit_code, 0);
  const Outcome named = zeroloss({"audit", bad, "--target", "kind", "--require", "issues<=0"});
  EXPECT_EQ(named.exit_code, 1);
  EXPECT_NE(named.err.find("sample 20 's20' (label "), std::string::npos) << named.err;
  refused({"audit", bad, "--require", "noise<=2"}, {"noise<=2", "no-issues"});
  refused({"audit", bad, "--require", "issues<=-1"}, {"issues<=-1", "no-issues"});
  refused({"audit", bad, "--require", "issues<=x"}, {"issues<=x", "no-issues"});
}

// The audits of the page on continuous integration, on a table whose wrong label somebody has looked at.
TEST_F(AuditCommand, AsThePageOnContinuousIntegrationHasIt) {
  std::ifstream page(ZEROLOSS_SOURCE_DIR "/docs/guide/ci.md");
  std::vector<Arguments> commands;
  for (std::string line; std::getline(page, line);) {
    const std::size_t at = line.find("zeroloss audit data/labels.csv");
    if (at == std::string::npos) continue;
    std::string command = line.substr(at + 9);
    std::erase(command, '\'');  // the shell's
    std::istringstream words(command);
    commands.emplace_back();
    for (std::string word; words >> word;)
      commands.back().push_back(word.starts_with("data/") ? path(word.substr(5)) : word);
  }
  ASSERT_EQ(commands.size(), 3U);
  std::filesystem::rename(table("bad.csv", true), path("labels.csv"));
  write("decisions.csv", "sample,decision\n");  // as the page has it at first
  for (const Arguments& command : commands) {
    const Outcome outcome = zeroloss(command);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("sample 20 "), std::string::npos) << outcome.err;
  }
  write("decisions.csv", "sample,decision\n20,right\n");  // that it is right is known from now on
  for (const Arguments& command : commands) EXPECT_EQ(zeroloss(command).exit_code, 0);
}

TEST_F(AuditCommand, RefusesWhatItCannotDo) {
  refused({"audit", "sphere:n=20,d=3,y=none"}, {"audit"});
  refused({"audit", "digits", "--n", "3"}, {"3 samples"});
  refused({"audit", "digits", "--ridge", "0"}, {"ridge"});
  refused({"audit", "digits", "--activation", "step"}, {"activation"});
  refused({"audit", "digits", "--test", "none.csv"}, {"none.csv"});
  refused({"influence", "digits"}, {"--test"});
  const std::string file = table("t.csv", false);
  for (const char* command : {"audit", "influence"})
    refused({command, file, "--target", "kind", "--test", file}, {"the data and --test are the same file"});
}

TEST_F(AuditCommand, InfluenceExplainsPredictions) {
  const std::string train = table("train.csv", true), test = table("test.csv", false);
  const auto out = folder / "run";
  const Json json =
      answer({"influence", train, "--target", "kind", "--test", test, "--top", "2", "--out", out.string()});
  EXPECT_EQ(json.at("tests").size(), 60U);
  EXPECT_EQ(json.at("values").size(), 60U);
  EXPECT_EQ(json.at("worst").at(0).at("sample"), 20) << "the wrong label harms most";
  EXPECT_EQ(json.at("tests").at(0).at("support").size(), 2U);
  EXPECT_TRUE(std::filesystem::exists(out / "values.csv"));
}

}  // namespace
}  // namespace zeroloss::test
