// zeroloss width from end to end: the text, the JSON object, the run folder, and that what it prints trains.
#include <gtest/gtest.h>

#include "support/command.hpp"
#include "support/temp_folder.hpp"

namespace zeroloss::test {
namespace {

class WidthCommand : public TempFolder {
 protected:
  Outcome in_shell(const std::string& line) const {
    return run_program("sh", {"-c", line, ZEROLOSS_COMMAND}, {.folder = folder.string()});
  }
};

const Arguments kSmall{"width", "sphere:n=12,d=4", "--seed", "3"};

// The lines under "to train them", with the program that is tested in place of its name.
std::vector<std::string> trained_by(const std::string& text) {
  std::vector<std::string> lines;
  const std::string begin = "  zeroloss ";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    lines.push_back("\"$0\" " + text.substr(from, text.find('\n', from) - from));
  }
  return lines;
}

TEST_F(WidthCommand, WhatItPrintsTrainsToACertificate) {
  const Outcome outcome = zeroloss(kSmall);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("hidden units are enough for any labels: gradient descent provably fits them."),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("Fewer than 3 cannot, but for exceptional labels"), std::string::npos);
  const auto lines = trained_by(outcome.out);
  ASSERT_EQ(lines.size(), 3U) << outcome.out;
  for (const std::string& line : lines) {
    const Outcome fit = in_shell(line + " --require certified");
    EXPECT_EQ(fit.exit_code, 0) << line << fit.out << fit.err;
  }
  const Json found = answer(kSmall);
  const std::string best = found.at("next").at("command").get<std::string>().substr(8);
  EXPECT_NE(best.find("pairs"), std::string::npos);
  EXPECT_EQ(in_shell("\"$0\"" + best + " --max-steps 0 --require certified").exit_code, 0)
      << "from its start";
}

// The network's seed is not that of the data: random labels stay what they are.
TEST_F(WidthCommand, OtherSeedsOfTheNetworkLeaveTheData) {
  for (const char* seed : {"0", "1", "2", "3"}) {
    const Json found = answer({"width", "digits", "--n", "40", "--shuffle", "--labels", "random", "--classes",
                               "3,8", "--seed", seed, "--restarts", "0", "--no-published"});
    const Json next = found.at("next").at("command");
    const std::string line = next.get<std::string>();
    const Outcome fit =
        in_shell("\"$0\"" + line.substr(std::string("zeroloss").size()) + " --max-steps 0 --json");
    ASSERT_EQ(fit.exit_code, 0) << fit.err;
    const Json trained = Json::parse(fit.out);
    EXPECT_EQ(trained.at("status"), "certified") << line;
    EXPECT_EQ(trained.at("digest"), found.at("digest"));
  }
}

TEST_F(WidthCommand, JsonHasEveryKey) {
  using Keys = std::set<std::string>;
  const Json json = answer(with(kSmall, {"--restarts", "1"}));
  EXPECT_EQ(keys(json), (Keys{"data", "digest", "labels", "options", "next", "conclusion", "n", "d",
                              "n_distinct", "outputs", "rank", "norm_y", "rows", "drawn", "measured",
                              "groups", "conflicts", "seconds"}));
  EXPECT_EQ(json.at("rank"), 4);
  for (const Json& row : json.at("rows"))
    EXPECT_EQ(keys(row), (Keys{"id", "title", "about", "status", "width", "says", "output_scale", "step",
                               "steps", "seed", "source", "lambda_bound"}));
  EXPECT_EQ(json.at("rows").at(3).at("id"), "any_labels");
  EXPECT_EQ(json.at("options").at("draws"), 5);
}

TEST_F(WidthCommand, RequireIsForScripts) {
  const Arguments quick = with(kSmall, {"--restarts", "0", "--no-published"});
  EXPECT_EQ(zeroloss(with(quick, {"--require", "proved<=64"})).exit_code, 0);
  const Outcome narrow = zeroloss(with(quick, {"--require", "proved<=5"}));
  EXPECT_EQ(narrow.exit_code, 1);
  EXPECT_NE(narrow.err.find("required property does not hold: proved<=5"), std::string::npos) << narrow.err;
  EXPECT_EQ(zeroloss(with(quick, {"--require", "measured<=64"})).exit_code, 1) << "nothing was measured";
  refused(with(quick, {"--require", "proved"}), {"'proved' is not a property of width", "proved<=N"});
  refused(with(quick, {"--require", "proved<=many"}), {"proved<=many"});
  refused(with(quick, {"--draws", "-1"}), {"--draws must be >= 0"});
  refused({"width", "digits", "--target", "none"}, {"labels"});
}

TEST_F(WidthCommand, RunFolderIsWhole) {
  const Outcome outcome = zeroloss(with(kSmall, {"--restarts", "1", "--out", path("run")}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file : {"manifest.json", "result.json", "metrics.csv", "widths.vl.json", "scales.vl.json"})
    EXPECT_TRUE(std::filesystem::exists(folder / "run" / file)) << file;
  const Json figure = json_of(folder / "run" / "widths.vl.json");
  EXPECT_GE(figure.at("data").at("values").size(), 4U);
  EXPECT_EQ(json_of(folder / "run" / "manifest.json").at("kind"), "width");
  const std::string csv = content(folder / "run" / "metrics.csv");
  EXPECT_EQ(csv.find("width,draws,full_rank,seed,lambda_min,condition,these_scale,these_step,these_steps,any_"
                     "scale,step,steps\n"),
            0U)
      << csv;
}

// The shipped digits: the answer that the page begins with.
TEST_F(WidthCommand, DigitsThreeAndEight) {
  const Json found = answer({"width", "digits", "--classes", "3,8", "--restarts", "0", "--no-published"});
  EXPECT_EQ(found.at("rows").at(0).at("width"), 7);
  EXPECT_EQ(found.at("rows").at(2).at("width"), 16) << "as docs/guide/width.md says";
  EXPECT_EQ(found.at("rows").at(2).at("status"), "proved");
  EXPECT_EQ(found.at("rows").at(3).at("width"), 32) << "as docs/guide/width.md says";
}

}  // namespace
}  // namespace zeroloss::test
