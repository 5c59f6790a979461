// What the command says about itself: examples, suggestions, completions, manual pages.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "support/command.hpp"
#include "support/numpy.hpp"
#include "support/temp_folder.hpp"

namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

class Help : public TempFolder {
 protected:
  /// A line of a shell, with the command in its PATH.
  Outcome shell(const std::string& line, const std::string& interpreter = "bash") const {
    const std::string path = fs::path(ZEROLOSS_COMMAND).parent_path().string() + ":" + std::getenv("PATH");
    return run_program(interpreter, {"-c", line}, {.environment = {"PATH=" + path}, .folder = folder});
  }

  /// The words that bash would offer at the end of this line.
  std::vector<std::string> offered(const std::string& line) const {
    const Outcome outcome =
        shell("source <(zeroloss completion bash); read -ra COMP_WORDS <<< '" + line + "'; case '" + line +
              "' in *' ') COMP_WORDS+=('') ;; esac; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
              "complete -p zeroloss | grep -q _zeroloss && _zeroloss && printf '%s\\n' \"${COMPREPLY[@]}\"");
    EXPECT_EQ(outcome.err, "") << line;
    std::istringstream lines(outcome.out);
    std::vector<std::string> words;
    for (std::string word; std::getline(lines, word);)
      if (!word.empty()) words.push_back(word);
    return words;
  }
};

const std::vector<Arguments> kCommands{
    {"certify"}, {"fit"},  {"sweep"},        {"linear"},       {"memorize"},    {"predict"},    {"export"},
    {"data"},    {"info"}, {"data", "list"}, {"data", "info"}, {"data", "get"}, {"completion"}, {"man"}};

std::vector<std::string> examples(const Arguments& command) {
  const Outcome help = zeroloss(with(command, {"--help"}));
  std::vector<std::string> found;
  std::istringstream lines(help.out.substr(std::min(help.out.find("\nExamples:\n"), help.out.size())));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ")) found.push_back(line.substr(2));
  return found;
}

// In the order of the commands: one makes what another reads.
TEST_F(Help, ExamplesAreTrue) {
  write("table.csv", "a,b,price\n1,2,3.5\n2,1,4\n0,3,1.5\n4,4,2\n");
  write("new.csv", "a,b,price\n3,1,2\n");
  write("R.npy", npy(RowMatrix{{1, 0.1}, {0, 1}}));
  fs::create_directory(path("runs"));
  const auto elsewhere = [](const std::string& line) {  // the network, one's own home, a pager
    for (const char* word : {"data get", "~", "man -l", "source"})
      if (line.find(word) != std::string::npos) return true;
    return false;
  };
  for (const Arguments& command : kCommands) {
    const auto lines = examples(command);
    EXPECT_EQ(lines.size(), 3u) << testing::PrintToString(command);
    for (const std::string& line : lines) {
      if (elsewhere(line)) continue;
      const Outcome outcome = shell(line);
      EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
      EXPECT_FALSE(outcome.out.empty() && line.find("--out") == std::string::npos) << line;
    }
  }
}

TEST_F(Help, WhatIsMistypedIsGuessed) {
  refused({"fit", "digits", "--widht", "5"},
          {"'--widht' is not an option of zeroloss fit; did you mean --width?"});
  refused({"fit", "digits", "--max-step=5"}, {"'--max-step' is not an option", "did you mean --max-steps?"});
  refused({"fit", "digits", "--quite"}, {"did you mean --quiet?"});
  refused({"certfy", "digits"}, {"'certfy' is not a subcommand of zeroloss; did you mean certify?"});
  refused({"data", "lsit"}, {"'lsit' is not a subcommand of zeroloss data; did you mean list?"});
  for (const Arguments& far : {Arguments{"fit", "digits", "--learning-rate", "1"}, {"train", "digits"}})
    EXPECT_EQ(zeroloss(far).err.find("did you mean"), std::string::npos) << zeroloss(far).err;
}

TEST_F(Help, MessagesNameOptionsAsTheyAreTyped) {
  refused({"certify", "sphere:n=9,d=3", "--failure-probability", "0"},
          {"zeroloss: --failure-probability must be"});
  refused({"fit", "sphere:n=9,d=3", "--width", "-1"}, {"--width"});
  refused({"fit", "sphere:n=9,d=3", "--n", "-1"}, {"--n must be"});
  refused({"fit", "sphere:n=9,d=3", "--n", "1e30"}, {"--n", "1e30"});
  refused({"fit", "sphere:n=9,d=3", "--seed", "-1"}, {"--seed", "-1"});
  refused({"fit", "sphere:n=9,d=3", "--max-steps", "99999999999999999999"},
          {"--max-steps", "99999999999999999999"});
  refused({"fit", "sphere:n=9,d=3", "--max-steps", "-1"}, {"--max-steps"});
  refused({"fit", "sphere:n=9,d=3", "--tolerance", "1e999"}, {"--tolerance"});
}

TEST_F(Help, EmptyValuesAreNone) {
  for (const std::string option : {"--out", "--cache", "--classes", "--target", "--require", "--config"})
    refused({"fit", "digits", option, ""}, {option});
  refused({"fit", "digits", "--out", ""}, {"--out: its value is empty; give one or leave the option out"});
  refused({"fit", ""}, {"data", "empty"});
}

TEST_F(Help, VersionInShort) { EXPECT_EQ(zeroloss({"-V"}).out, zeroloss({"--version"}).out); }

TEST_F(Help, BashCompletesCommandsOptionsAndValues) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered("zeroloss cer"), Words{"certify"});
  EXPECT_EQ(offered("zeroloss data "), (Words{"list", "info", "get"}));
  EXPECT_EQ(offered("zeroloss fit digits --widt"), (Words{"--width", "--widths"}));
  EXPECT_EQ(offered("zeroloss fit digits --optimizer gauss"), Words{"gauss_newton"});
  EXPECT_EQ(offered("zeroloss fit digits --optimizer = gauss"), Words{"gauss_newton"});  // bash splits there
  EXPECT_EQ(offered("zeroloss certify digits --activation sig"), Words{"sigmoid"});
  EXPECT_EQ(offered("zeroloss data get cif"), (Words{"cifar10", "cifar100"}));
  EXPECT_EQ(offered("zeroloss completion f"), Words{"fish"});
  EXPECT_EQ(offered("zeroloss info --js"), Words{"--json"});
  write("table.csv", "");
  EXPECT_EQ(offered("zeroloss certify ta"), Words{"table.csv"});
  EXPECT_EQ(offered("zeroloss fit digits --out ta"), Words{"table.csv"});
}

TEST_F(Help, OtherShellsReadTheirScripts) {
  for (const std::string name : {"zsh", "fish"}) {
    const Outcome script = zeroloss({"completion", name});
    EXPECT_EQ(script.exit_code, 0);
    for (const char* word : {"certify", "gauss_newton", "cifar100"})
      EXPECT_NE(script.out.find(word), std::string::npos) << name << " " << word;
    write(name, script.out);
    if (std::system(("command -v " + name + " > /dev/null").c_str()) == 0) {
      EXPECT_EQ(shell(name + " -n " + name).exit_code, 0) << name;
    }
  }
  refused({"completion", "csh"}, {"csh", "bash"});
}

TEST_F(Help, ManualPagesAreWhole) {
  ASSERT_EQ(zeroloss({"man", "--out", folder}).exit_code, 0);
  for (const char* page : {"zeroloss.1", "zeroloss-fit.1", "zeroloss-data-get.1"})
    EXPECT_TRUE(fs::exists(folder / page)) << page;
  const Outcome fit = zeroloss({"man", "fit"});
  EXPECT_EQ(fit.out, content(folder / "zeroloss-fit.1"));
  for (const char* text :
       {".TH ZEROLOSS\\-FIT 1", ".SH NAME", "\\-\\-max\\-steps", ".SH EXAMPLES", ".SH EXIT STATUS"})
    EXPECT_NE(fit.out.find(text), std::string::npos) << text;
  refused({"man", "nonsense"}, {"'nonsense' is not a command of zeroloss"});
  if (std::system("command -v groff > /dev/null") != 0) GTEST_SKIP() << "no groff";
  for (const auto& page : fs::directory_iterator(folder)) {
    const Outcome read = run_program("groff", {"-man", "-Tutf8", "-wall", "-ww", page.path()});
    EXPECT_EQ(read.err, "") << page;
    EXPECT_NE(read.out.find("zeroloss"), std::string::npos);
  }
}

}  // namespace
}  // namespace zeroloss::test
