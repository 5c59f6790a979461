// The command as a process: exit codes, what goes to stdout and what to stderr, options, interruption.
#include "support/command.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/temp_folder.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::test {
namespace {

class Command : public TempFolder {
 protected:
  bool empty() const { return std::filesystem::is_empty(folder); }
};

TEST_F(Command, RefusesBadUsage) {
  refused({}, {"subcommand"});
  refused({"nonsense", "digits"}, {"'nonsense' is not a subcommand"});
  refused({"certify"}, {"data"});
  refused({"certify", "digits", "--nonsense"}, {"--nonsense"});
  refused({"certify", "digits", "--activation", "swish2"}, {"swish2"});
  refused({"certify", "digits", "--accuracy", "much"}, {"much"});
  refused({"certify", "digits", "--seed", "9007199254740992"}, {"--seed"});
  refused({"certify", "digits", "--config", path("absent.toml")}, {"absent.toml"});
  refused({"data"}, {"subcommand"});
}

// Whatever one asks of it: where it is to be had is the answer.
TEST_F(Command, ReportIsThePythonPackages) {
  for (const Arguments& arguments :
       {Arguments{"report"}, {"report", path("run")}, {"report", path("run"), "--format", "svg"}}) {
    refused(arguments, {"pip install \".[report]\""}, 3);
  }
}

TEST_F(Command, RefusesOptionsOutOfRange) {
  const std::string points = "sphere:n=10,d=3";
  refused({"certify", points, "--accuracy", "2"}, {"accuracy must be in (0, 1); got 2"});
  refused({"certify", points, "--failure-probability", "0"},
          {"--failure-probability must be in (0, 1); got 0"});
  refused({"certify", points, "--width", "-5"}, {"width must be >= 1, or 0 for none; got -5"});
  refused({"certify", points, "--width", "nan"}, {"width must be >= 1"});
  refused({"certify", points, "--step", "-1"}, {"'-1' is not a step; take auto or a number > 0"});
  refused({"certify", points, "--n", "11"}, {"11"});
  refused({"certify", points, "--n", "-1"}, {"n must be >= 1"});
}

TEST_F(Command, RefusesPropertiesItDoesNotKnow) {
  for (const std::string property :
       {"converged", "", "lambda_min", "lambda_min>=", "lambda_min>=x", "lambda_min>=1x", "lambda_min>=inf",
        "lambda_min>=1e999", "lambda_min>1"})
    refused({"certify", "sphere:n=10,d=3", "--require", property}, {"--require"});
}

TEST_F(Command, RefusesDataItCannotRead) {
  refused({"certify", path("absent.csv")}, {"absent.csv"});
  refused({"certify", "digitz"}, {"digitz"});
  refused({"certify", "sphere:n=10"}, {"sphere:n="});
  refused({"certify", write("text.csv", "a,b\n1,inf\n")}, {"text.csv"});
}

// The library marks what it advises; here it is a flag or a command.
TEST_F(Command, AdvisesInFlags) {
  refused({"fit", write("text.csv", "5.1,x\n4.9,y\n")}, {"the last column is text", "--target -1\n"});
  refused({"sweep", "sphere:d=3"}, {"the number of points is missing: add --n\n"});
  refused({"certify", "mnist", "--cache", path("none")}, {"get it with: zeroloss data get mnist\n"});
  refused({"certify", "sphere:n=9,d=3", "--out", path("")}, {"choose another --out or remove it"});
  refused({"linear", "digits"}, {"a map (--map R.npy), gaussian:d=.."});
}

TEST_F(Command, ARefusedRunLeavesNoFolder) {
  refused({"certify", "absent.csv", "--out", path("run")}, {"absent.csv"});
  refused({"certify", "sphere:n=9,d=3", "--out", path("run"), "--accuracy", "2"}, {"accuracy"});
  EXPECT_TRUE(empty());
}

// "Zero loss" and steps mean something of a loss alone.
TEST_F(Command, TheLossStandsOnceBesideZeroLossAndSteps) {
  const std::string
      classes = "||f - y||^2/2, y = -1 or 1 for classes; summed over samples, steps multiply its gradient",
      numbers = "||f - y||^2/2; summed over samples, steps multiply its gradient",
      model = ZEROLOSS_SOURCE_DIR "/examples/digits.onnx";
  for (const auto& [arguments, loss] : std::vector<std::pair<Arguments, std::string>>{
           {{"certify", "digits", "--n", "40"}, classes},
           {{"certify", "sphere:n=20,d=5,y=normal"}, numbers},
           {{"fit", "digits", "--n", "20", "--max-steps", "2"}, classes},
           {{"fit", "sphere:n=20,d=5,y=normal", "--depth", "2", "--width", "9", "--max-steps", "2"}, numbers},
           {{"width", "sphere:n=9,d=5", "--draws", "1", "--restarts", "0", "--no-published"}, numbers},
           {{"prove", model, "digits", "--divide", "16", "--n", "20"}, classes},
           {{"sweep", "sphere:n=9,d=5", "--width", "3", "--trials", "1", "--max-steps", "2"}, classes}}) {
    const Outcome outcome = zeroloss(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto at = outcome.out.find(loss);
    EXPECT_NE(at, std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("||f - y||", at + loss.size()), std::string::npos) << outcome.out;
  }
}

TEST_F(Command, HelpOfEverySubcommandNamesTheDefaults) {
  const std::vector<Arguments> commands{
      {},      {"certify"}, {"info"},    {"data"},  {"data", "list"}, {"data", "info"}, {"data", "get"},
      {"fit"}, {"sweep"},   {"predict"}, {"export"}};
  const std::regex option("^  (-.,)?(--[a-z-]+)"), with_default("=[^ ]+|\\[[^\\]]+\\]");
  for (Arguments command : commands) {
    command.push_back("--help");
    const Outcome outcome = zeroloss(command);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    std::istringstream lines(outcome.out);
    std::string name, text;
    const auto check = [&] {
      if (name.empty() || name == "--help" || name == "--version") return;
      EXPECT_TRUE(std::regex_search(text, with_default)) << testing::PrintToString(command) << " " << text;
    };
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      const bool begins = std::regex_search(line, match, option);
      if (begins || line.empty()) {
        check();
        name = begins ? match[2].str() : "";
        text.clear();
      }
      text += line;
    }
    check();
    EXPECT_NE(outcome.out.find("--help"), std::string::npos);
  }
}

TEST_F(Command, PrintsItsVersion) {
  const Outcome outcome = zeroloss({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "zeroloss " ZEROLOSS_VERSION "\n");
}

TEST_F(Command, InfoTellsVersionAndMachine) {
  const Outcome text = zeroloss({"info"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.out.rfind("zeroloss " ZEROLOSS_VERSION "\n", 0), 0u) << text.out;
  for (const char* what : {"processor", "threads", "BLAS", "memory free", "compiler"})
    EXPECT_NE(text.out.find(what), std::string::npos) << what;
  const Json all = answer({"info"});
  EXPECT_EQ(all.at("version"), ZEROLOSS_VERSION);
  for (const char* key : {"processor", "threads", "simd", "blas", "blas_kernel", "blas_threading",
                          "memory_available_bytes", "compiler", "warning"})
    EXPECT_TRUE(all.contains(key)) << key;
}

TEST_F(Command, ReadsTheConfigThatItPrints) {
  const Arguments given{"certify",       "digits", "--classes", "3,8",       "--n",       "60",
                        "--activation",  "tanh",   "--center",  "--require", "certified", "--require",
                        "conflict-free", "--step", "0.01",      "--seed",    "3",         "--json"};
  const Outcome config = zeroloss(with(given, {"--print-config"}));
  ASSERT_EQ(config.exit_code, 0) << config.err;
  for (const char* line :
       {"certify.data=\"digits\"\n", "certify.n=60\n", "certify.accuracy=0.001\n", "certify.center=true\n"})
    EXPECT_NE(config.out.find(line), std::string::npos) << line << config.out;

  const auto lasting = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    Json json = Json::parse(outcome.out);
    json.erase("seconds");
    json.erase("peak_bytes");
    return json;
  };
  // A threaded BLAS is not stable to the bit.
  const RunOptions one_thread{.environment = {"OMP_NUM_THREADS=1"}};
  const std::string file = write("run.toml", config.out);
  EXPECT_EQ(lasting(zeroloss({"certify", "--config", file}, one_thread)),
            lasting(zeroloss(given, one_thread)));
  EXPECT_EQ(lasting(zeroloss({"certify", "--config", file, "--n", "20"})).at("n"), 20);
}

TEST_F(Command, RefusesAConfigItDoesNotUnderstand) {
  refused({"certify", "--config", write("a.toml", "certify.data=\"digits\"\ncertify.nonsense=1\n")},
          {"a.toml", "'certify.nonsense' is not an option of zeroloss certify"});
  refused({"certify", "--config", write("c.toml", "[certify]\nactivatoin=\"relu\"\n")},
          {"did you mean --activation?", "--print-config"});
  refused({"certify", "--config", write("d.toml", "hello {{{\n")}, {"d.toml", "'{{{' is not an option"});
  refused({"certify", "digits", "--config", write("e.toml", "{")}, {"e.toml, line 1", "'{'"});
  refused({"certify", "digits", "--config", write("f.toml", "[certify]\n}{\n")}, {"f.toml, line 2", "'}{'"});
  refused({"certify", "--config", write("b.toml", "certify.data=\"digits\"\ncertify.step=\"far\"\n")},
          {"far"});
}

TEST_F(Command, AnOptionWithAListLeavesTheDataAlone) {
  EXPECT_EQ(zeroloss({"certify", "--require", "certified", "sphere:n=10,d=3"}).exit_code, 0);
  EXPECT_EQ(zeroloss({"certify", "--n", "20", "--classes", "3,8", "digits"}).exit_code, 0);
}

TEST_F(Command, AFullDiskForTheAnswerIsAMissingResource) {
  const RunOptions full{.out_file = "/dev/full"};
  for (const Arguments& arguments : std::vector<Arguments>{{"certify", "sphere:n=10,d=3"},
                                                           {"certify", "sphere:n=300,d=3", "--json"},
                                                           {"certify", "sphere:n=10,d=3", "--print-config"},
                                                           {"info"},
                                                           {"certify", "--help"}}) {
    const Outcome outcome = zeroloss(arguments, full);
    EXPECT_EQ(outcome.exit_code, 3) << testing::PrintToString(arguments);
    EXPECT_EQ(outcome.err.rfind("zeroloss: ", 0), 0u) << outcome.err;
  }
}

TEST_F(Command, AReaderThatLeavesIsNotACrash) {
  const Outcome outcome = run_program(
      "sh", {"-c", "{ \"$0\" certify sphere:n=300,d=3 --json; echo $? >&2; } | true", ZEROLOSS_COMMAND});
  EXPECT_EQ(outcome.err, "0\n");  // who has read enough
  for (const char* call : {"info", "man", "completion bash", "data list", "certify digits --n 20 --json"}) {
    const Outcome early = run_program(
        "sh",
        {"-c", std::string("{ sleep 0.3; \"$0\" ") + call + "; echo $? >&2; } | true", ZEROLOSS_COMMAND});
    EXPECT_EQ(early.err, "0\n") << call;
  }
}

TEST_F(Command, WhoeverWaitsForInputCanBeStopped) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string line =
        "mkfifo f; \"$0\" certify f & p=$!; { sleep 30 >f & w=$!; } 2>/dev/null; sleep 0.7; kill -" +
        std::to_string(signal) + " $p; wait $p; code=$?; kill $w; rm f; exit $code";
    const Outcome outcome =
        run_program("bash", {"-c", "set -m; " + line, ZEROLOSS_COMMAND}, {.folder = folder.string()});
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    EXPECT_NE(outcome.err.find("zeroloss: interrupted\n"), std::string::npos) << outcome.err;
  }
}

// A signal that comes while there is something to read is not forgotten when there is nothing any more.
TEST_F(Command, WhoeverReadsCanBeStopped) {
  const auto begun = std::chrono::steady_clock::now();
  const std::string line =
      "mkfifo f; { yes 1,2 | head -c 300000000; exec sleep 30; } >f 2>/dev/null & w=$!; "
      "\"$0\" certify f & p=$!; until [ $(sed -n 's/rchar: //p' /proc/$p/io) -gt 20000000 ]; do :; done; "
      "kill -TERM $p; wait $p; code=$?; kill $w; rm f; exit $code";
  const Outcome outcome =
      run_program("bash", {"-c", "set -m; " + line, ZEROLOSS_COMMAND}, {.folder = folder.string()});
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM);
  EXPECT_NE(outcome.err.find("zeroloss: interrupted\n"), std::string::npos) << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(25));
}

// Whoever hears it or not: the exit code is the same.
TEST_F(Command, AMessageThatNobodyReadsIsNotACrash) {
  const auto exit_code = [&](const std::string& line) {
    return run_program("sh", {"-c", line, ZEROLOSS_COMMAND}, {.folder = folder.string()}).exit_code;
  };
  write("t.csv", "a,y\n1,2\n2,1\n4,1\n");
  for (const char* closed : {"2>&-", "2>/dev/full"}) {
    SCOPED_TRACE(closed);
    EXPECT_EQ(exit_code(std::string("\"$0\" certify nofile ") + closed), 2);
    EXPECT_EQ(exit_code(std::string("\"$0\" certify t.csv --bogus ") + closed), 2);
    EXPECT_EQ(exit_code(std::string("\"$0\" certify t.csv --require certified ") + closed), 0);
    EXPECT_EQ(exit_code(std::string("\"$0\" certify nofile >&- ") + closed), 2);
  }
  const Outcome piped = run_program(
      "sh",
      {"-c", "{ { \"$0\" certify nofile 2>&1; echo $? >code; } | true; } && cat code", ZEROLOSS_COMMAND},
      {.folder = folder.string()});
  EXPECT_EQ(piped.out, "2\n");
}

TEST_F(Command, DataDoNotSpeakToATerminal) {
  write("classes.csv", "a,b,label\n1,2,\x1B[2Jblue\n2,1,red\n3,5,red\n4,1,\x1B[2Jblue\n");
  for (const char* command : {"certify", "fit", "memorize"}) {
    const Outcome outcome = zeroloss({command, path("classes.csv"), "--target", "label"});
    EXPECT_EQ(outcome.out.find('\x1B'), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\\x1B[2Jblue"), std::string::npos) << outcome.out;
  }
  const Outcome none = zeroloss({"certify", path("classes.csv"), "--target", "\x1B[31mx"});
  EXPECT_EQ(none.err.find('\x1B'), std::string::npos) << none.err;
}

TEST_F(Command, PathsThatCannotBeAreBadUsage) {
  std::filesystem::create_symlink("loop", folder / "loop");
  refused({"certify", path("loop")}, {"loop: Too many levels of symbolic links"});
  refused({"certify", std::string(300, 'x')}, {"File name too long"});
}

TEST_F(Command, AKernelBeyondAnyMemoryIsRefusedBeforeItIsBuilt) {
  const Outcome outcome = zeroloss({"certify", "sphere:n=500000,d=2,y=none", "--method", "factor"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(std::regex_search(
      outcome.err, std::regex("the kernel of 500000 points needs 1\\d{3}\\.\\d GB, .* free; try --n \\d+")))
      << outcome.err;
}

// OpenBLAS would wait for memory for ever. Below 150 MB not even the libraries are loaded.
TEST_F(Command, ALimitedAddressSpaceIsNoHang) {
  for (const int megabytes : {150, 200, 250, 300, 350, 400, 500, 700, 1000}) {
    const std::string limit = "ulimit -v " + std::to_string(1000 * megabytes);
    const Outcome outcome = run_program(
        "sh", {"-c", limit + "; exec timeout 60 \"$0\" certify digits --n 300", ZEROLOSS_COMMAND}, {});
    if (outcome.exit_code == 127) continue;
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 3) << megabytes << " " << outcome.exit_code;
    if (outcome.exit_code == 3) {
      EXPECT_TRUE(std::regex_search(outcome.err, std::regex("address space|out of memory"))) << outcome.err;
    }
    if (megabytes >= 500) {
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    }
  }
}

TEST_F(Command, CtrlCLeavesNoFolder) {
  const auto started = [&](const Outcome&) { return std::filesystem::exists(path("run.partial")); };
  const Outcome outcome = zeroloss({"certify", "sphere:n=6000,d=50", "--out", path("run")},
                                   {.environment = {"OMP_NUM_THREADS=1"}, .interrupt_when = started});
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "zeroloss: interrupted\n");
  EXPECT_TRUE(empty());
}

TEST_F(Command, OtherSignalsThatAskForAnEndAreCtrlC) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    const auto started = [&](const Outcome&) { return std::filesystem::exists(path("run.partial")); };
    const Outcome outcome =
        zeroloss({"certify", "sphere:n=6000,d=50", "--out", path("run")},
                 {.environment = {"OMP_NUM_THREADS=1"}, .interrupt_when = started, .signal = signal});
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    EXPECT_EQ(outcome.err, "zeroloss: interrupted\n");
    EXPECT_TRUE(empty());
  }
}

TEST_F(Command, NohupStaysDeafToHangups) {
  const Outcome outcome =
      run_program("sh", {"-c",
                         "trap '' HUP; \"$0\" certify sphere:n=1500,d=50 --out \"$1\" & p=$!; "
                         "until [ -d \"$1.partial\" ]; do :; done; sleep 0.1; kill -HUP $p; wait $p",
                         ZEROLOSS_COMMAND, path("run")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(path("run/result.json")));
}

TEST_F(Command, AFileBeyondItsLimitIsAMissingResource) {
  const Outcome outcome =
      run_program("sh", {"-c", "ulimit -f 1; exec \"$0\" certify sphere:n=300,d=3 --out \"$1\"",
                         ZEROLOSS_COMMAND, path("run")});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("writing failed: File too large"), std::string::npos) << outcome.err;
}

TEST_F(Command, ATerminalSeesTheProgressAndCtrlCStopsInTheMiddle) {
  const std::regex bar("\r\033\\[K[^\r\n]+  \\[#* *\\] +\\d+ %  [^ ]+/s  [^ ]+( s)? left");
  const auto seen = [&](const Outcome& so_far) { return std::regex_search(so_far.err, bar); };
  const Outcome outcome =
      zeroloss({"certify", "sphere:n=6000,d=50"},
               {.environment = {"OMP_NUM_THREADS=1"}, .terminal = true, .interrupt_when = seen});
  EXPECT_TRUE(seen(outcome)) << outcome.err;
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_NE(outcome.err.find("zeroloss: interrupted"), std::string::npos);
}

TEST_F(Command, ProgressIsForTerminalsOnly) {
  EXPECT_EQ(zeroloss({"certify", "sphere:n=200,d=5"}).err, "");
  EXPECT_NE(zeroloss({"certify", "sphere:n=200,d=5"}, {.terminal = true}).err, "");
  EXPECT_EQ(zeroloss({"certify", "sphere:n=200,d=5", "--quiet"}, {.terminal = true}).err, "");
}

TEST_F(Command, ThreadsAreAsManyAsOneSays) {
  const Arguments fit{"fit", "digits", "--n", "300", "--width", "300", "--max-steps", "20"};
  Json one = answer(with(fit, {"--threads", "1"})), all = answer(fit);
  for (Json* said : {&one, &all}) {
    said->erase("seconds");
    for (Json& output : said->at("per_class")) output.erase("seconds");
  }
  EXPECT_EQ(one, all);
  refused({"certify", "digits", "--threads", "-1"}, {"--threads must be >= 0; got -1"});
}

// OpenMP says what it has read when it was loaded.
TEST_F(Command, ThreadsSleepWhileTheyWaitUnlessOneSaysOtherwise) {
  const auto policy = [](const std::vector<std::string>& more) {
    std::vector<std::string> environment{"OMP_DISPLAY_ENV=verbose"};
    environment.insert(environment.end(), more.begin(), more.end());
    return zeroloss({"--version"}, {.environment = environment}).err;
  };
  EXPECT_NE(policy({}).find("GOMP_SPINCOUNT = '0'"), std::string::npos) << policy({});
  EXPECT_EQ(policy({"OMP_WAIT_POLICY=active"}).find("GOMP_SPINCOUNT = '0'"), std::string::npos);
}

}  // namespace
}  // namespace zeroloss::test
