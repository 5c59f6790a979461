// What the command says about itself: examples, suggestions, completions, manual pages.
#include <gtest/gtest.h>

#include <algorithm>
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

  /// A shell other than bash reads the script for it, where there is one.
  void reads_its_script(const std::string& name) const {
    const Outcome script = zeroloss({"completion", name});
    EXPECT_EQ(script.exit_code, 0);
    for (const char* word : {"certify", "gauss_newton", "cifar100"})
      EXPECT_NE(script.out.find(word), std::string::npos) << name << " " << word;
    if (shell("command -v " + name).exit_code != 0) GTEST_SKIP() << "no " << name;
    write(name, script.out);
    const Outcome read = shell(name + " -n " + name);
    EXPECT_EQ(read.exit_code, 0) << read.err;
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

// The commands of this one, and theirs, in the order of its help; without `conv`, which takes LibTorch,
// `report`, which is of the Python package, and `check`, another program.
std::vector<Arguments> commands(const Arguments& of = {}) {
  const std::string help = zeroloss(with(of, {"--help"})).out, head = "\nSubcommands:\n";
  std::vector<Arguments> found;
  if (help.find(head) == std::string::npos) return found;
  std::istringstream lines(help.substr(help.find(head) + head.size()));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;  // a description that goes on
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (name == "conv" || name == "report" || name == "check") continue;
    found.push_back(with(of, {name}));
    for (const Arguments& below : commands(found.back())) found.push_back(below);
  }
  return found;
}

// A model is asked about points as its file says.
TEST_F(Help, OfAGivenModelDoesNotOfferWhatIsForTraining) {
  for (const char* command : {"prove", "predict"}) {
    const std::string help = zeroloss({command, "--help"}).out, page = zeroloss({"man", command}).out;
    for (const char* flag : {"--standardize", "--bias"}) {
      EXPECT_EQ(help.find(std::string("  ") + flag), std::string::npos) << command;
      EXPECT_NE(zeroloss({"fit", "--help"}).out.find(std::string("  ") + flag), std::string::npos);
    }
    EXPECT_EQ(page.find("standardize"), std::string::npos) << command;
    EXPECT_NE(help.find("  --missing"), std::string::npos);
  }
  const std::string model = std::string(ZEROLOSS_TEST_DIR) + "/deep/exported/residual_script.onnx";
  refused({"prove", model, write("t.csv", "a,b,c,d,e,y\n1,2,3,4,5,u\n2,1,0,3,1,v\n"), "--bias", "1"},
          {"--bias is for training"});
}

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
  const std::string table = "a,b,species,price\n1,2,x,3.5\n2,1,y,4\n0,3,x,1.5\n4,4,y,2\n3,0,y,1\n";
  write("table.csv", table);
  write("train.csv", table);
  write("new.csv", "a,b,species,price\n3,1,x,2\n");
  write("R.npy", npy(RowMatrix{{1, 0.1}, {0, 1}}));
  fs::create_directory(path("runs"));
  const auto has = [](const std::string& line, const std::vector<const char*>& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return line.find(word) != std::string::npos; });
  };
  const auto all = commands();
  for (const Arguments& command : {Arguments{"certify"}, {"prove"}, {"data", "get"}, {"man"}})
    EXPECT_EQ(std::count(all.begin(), all.end(), command), 1) << testing::PrintToString(command);
  for (const Arguments& command : all) {
    const auto lines = examples(command);
    EXPECT_GE(lines.size(), 2u) << testing::PrintToString(command);
    for (const std::string& line : lines) {
      if (has(line, {"~", "man -l", "source"})) continue;  // one's own home, a pager
      // The network, networks of others, and what takes seconds: these are understood, and not run.
      if (has(line, {"data get", "zeroloss prove", "predict net.onnx", "width digits", "audit digits"})) {
        const Outcome understood = shell(line + " --print-config");
        EXPECT_EQ(understood.exit_code, 0) << line << "\n" << understood.err;
        continue;
      }
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
  EXPECT_EQ(offered("zeroloss data "), (Words{"list", "info", "encode", "get"}));
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

TEST_F(Help, ZshReadsItsScript) { reads_its_script("zsh"); }

TEST_F(Help, FishReadsItsScript) { reads_its_script("fish"); }

TEST_F(Help, OtherShellsHaveNoScript) { refused({"completion", "csh"}, {"csh", "bash"}); }

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
