// zeroloss data info: what it says of tables, and which command follows; data that come through a pipe.
#include <gtest/gtest.h>

#include "support/command.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"

namespace zeroloss::test {
namespace {

class DataCommand : public TempFolder {
 protected:
  /// Twelve records of two classes, whose names have the quotes that shells need.
  std::string csv() const {
    std::string text = "size,colour,the kind\n";
    for (int i = 0; i < 12; ++i)
      text += std::to_string(i * i) + (i % 3 == 0 ? ",red," : ",blue,") + (i % 2 == 0 ? "oak\n" : "elm\n");
    return text;
  }
  Outcome in_shell(const std::string& line) const {
    return run_program("sh", {"-c", line, ZEROLOSS_COMMAND}, {.folder = folder.string()});
  }
};

TEST_F(DataCommand, InfoDescribesColumnsAndSaysWhatFollows) {
  write("my table.csv", csv());
  const Outcome said = in_shell("\"$0\" data info 'my table.csv' --drop colour");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  for (const char* line : {"column  name      type    missing  distinct  values         role",
                           "     0  size      number        0        12  0 to 121       feature",
                           "     1  colour    text          0         2  blue 8, red 4  left out",
                           "     2  the kind  text          0         2  elm 6, oak 6   category; target?",
                           "\n  zeroloss certify 'my table.csv' --target 'the kind' --drop colour\n"})
    EXPECT_NE(said.out.find(line), std::string::npos) << line << "\n" << said.out;
  const std::string next = said.out.substr(said.out.find("\n  zeroloss ") + 12);
  const Outcome followed = in_shell("\"$0\" " + next);
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_NE(followed.out.find("2 classes (elm, oak)"), std::string::npos) << followed.out;
}

TEST_F(DataCommand, InfoSaysTheSameAsJson) {
  write("t.csv", csv());
  const RunOptions here{.folder = folder.string()};
  const Json found = answer({"data", "info", "t.csv"}, 0, here);
  EXPECT_EQ(found.at("proposed_target"), "the kind");
  EXPECT_EQ(found.at("next").at("command"), "zeroloss certify t.csv --target 'the kind'");
  EXPECT_EQ(
      found.at("columns").at(0),
      Json::parse(R"({"column":0,"name":"size","type":"number","missing":0,"distinct":12,"range":[0,121],)"
                  R"("frequent":null,"role":"feature"})"));
  EXPECT_EQ(found.at("columns").at(2).at("frequent"),
            Json::parse(R"([{"value":"elm","records":6},{"value":"oak","records":6}])"));
  const Json labelled = answer({"data", "info", "t.csv", "--target", "-1"}, 0, here);
  EXPECT_EQ(labelled.at("proposed_target"), nullptr);
  EXPECT_EQ(labelled.at("next").at("command"), "zeroloss certify t.csv --target -1");
  const Json digits = answer({"data", "info", "digits", "--n", "50"});
  EXPECT_EQ(digits.at("columns"), nullptr);
  EXPECT_EQ(digits.at("next").at("command"), "zeroloss certify digits --n 50");
}

TEST_F(DataCommand, InfoIsShortForManyClasses) {
  std::string many = "a,kind\n";
  for (int i = 0; i < 80; ++i) many += std::to_string(i) + ",k" + std::to_string(i / 2) + "\n";
  const std::string file = write("many.csv", many);
  const Outcome said = zeroloss({"data", "info", file, "--target", "-1"});
  EXPECT_NE(said.out.find("many.csv: 80 points, 1 feature, classification\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("\nand 10 more (JSON lists all)\n"), std::string::npos) << said.out;
  EXPECT_EQ(answer({"data", "info", file, "--target", "-1"}).at("classes").size(), 40u);
}

TEST_F(DataCommand, APipeIsReadOnceAsCsv) {
  write("t.csv", csv());
  const Json of_file = Json::parse(in_shell("\"$0\" certify t.csv --target -1 --json").out);
  for (const std::string line : {"cat t.csv | \"$0\" certify - --target -1 --json",
                                 "gzip -c t.csv | \"$0\" certify - --target -1 --json",
                                 "(head -n 5 t.csv | gzip; tail -n +6 t.csv | gzip) | "
                                 "\"$0\" certify - --target -1 --json",
                                 "cat t.csv | \"$0\" certify /dev/stdin --target -1 --json",
                                 "\"$0\" certify - --target -1 --json < t.csv",
                                 "mkfifo p; cat t.csv > p & \"$0\" certify p --target -1 --json"}) {
    const Outcome said = in_shell(line);
    ASSERT_EQ(said.exit_code, 0) << line << said.err;
    const Json found = Json::parse(said.out);
    EXPECT_EQ(found.at("classes"), of_file.at("classes"));
    EXPECT_EQ(found.at("n"), 12);
    if (line.find("gzip") == std::string::npos) {
      EXPECT_EQ(found.at("digest"), sha256(csv())) << line;
    }
  }
  const Outcome run = in_shell("cat t.csv | \"$0\" certify - --target -1 --out run");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json_of(folder / "run" / "manifest.json").at("data").at("digest"), sha256(csv()));
  EXPECT_EQ(json_of(folder / "run" / "manifest.json").at("data").at("name"), "-");
  EXPECT_NE(run.out.find("what was piped in is gone: put it into a file"), std::string::npos) << run.out;
  const Outcome ragged = in_shell("printf '1,2\\n3\\n' | \"$0\" certify -");
  EXPECT_EQ(ragged.exit_code, 2);
  EXPECT_NE(ragged.err.find("standard input: line 2: found 1 fields"), std::string::npos) << ragged.err;
  const Outcome binary = in_shell("printf 'a\\000b' | \"$0\" certify -");
  EXPECT_NE(binary.err.find("a pipe is read as csv; save it to a file"), std::string::npos) << binary.err;
  EXPECT_NE(in_shell("\"$0\" certify - --split test < t.csv").err.find("no test split"), std::string::npos);
}

TEST_F(DataCommand, InfoOfFilesOfOtherProgramsSaysWhatToDo) {
  refused({"certify", write("t.parquet", "PAR1"), "--target", "y"}, {"is a Parquet file", "read_parquet"});
  refused({"data", "info", write("t.names", "text")}, {"is the description of a data set", "t.data"});
}

}  // namespace
}  // namespace zeroloss::test
