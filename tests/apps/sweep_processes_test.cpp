// zeroloss sweep through Ctrl-C, kill -9, full disks and in several processes at once: the same store as
// undisturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <thread>

#include "support/command.hpp"
#include "support/full_disk.hpp"
#include "support/sqlite.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

// Some 200 trials of a few milliseconds each.
const Arguments kSweep{"sweep",    "sphere:n=60", "--d",         "4,8",  "--width",     "20,40,60",
                       "--trials", "40",          "--max-steps", "4000", "--tolerance", "0.1"};
const RunOptions kTwoThreads{.environment = {"OMP_NUM_THREADS=2"}};

class SweepProcesses : public TempFolder {
 protected:
  // What the same sweep finds without any disturbance.
  Rows undisturbed(const Arguments& sweep = kSweep) {
    const Outcome outcome = zeroloss(with(sweep, {"--out", path("whole")}), kTwoThreads);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return trials_of(path("whole/trials.db"));
  }
  long stored(const std::string& sql = "SELECT count(*) FROM trials") {
    return std::stol(sqlite(path("run.partial/trials.db"), sql)[0][0]);
  }
  bool has_rows() {  // asked while processes write
    return fs::exists(path("run.partial/trials.db")) &&
           !sqlite(path("run.partial/trials.db"), "SELECT 1 FROM sqlite_master WHERE name = 'trials'")
                .empty() &&
           stored() > 0;
  }
};

TEST_F(SweepProcesses, CtrlCSaysHowToGoOn) {
  RunOptions interrupted = kTwoThreads;
  interrupted.interrupt_when = [&](const Outcome&) { return has_rows(); };
  const Arguments sweep = with(kSweep, {"--out", path("run")});
  const Outcome stopped = zeroloss(sweep, interrupted);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_TRUE(fs::exists(path("run.partial")));
  EXPECT_FALSE(fs::exists(path("run")));
  EXPECT_GT(stored(), 0);
  EXPECT_LT(stored(), 240);
  EXPECT_EQ(stored("SELECT count(*) FROM claims") + stored("SELECT count(*) FROM workers"), 0);
  EXPECT_NE(stopped.out.find(std::to_string(stored()) + " trials"), std::string::npos) << stopped.out;

  refused(with(sweep, {"--seed", "1"}), {"its seed is 0, not 1"});

  std::smatch command;
  ASSERT_TRUE(
      std::regex_search(stopped.err, command, std::regex("zeroloss: interrupted; go on with: (.*)\n")))
      << stopped.err;
  const Outcome resumed = run_program("sh", {"-c", command[1].str() + " --json"}, kTwoThreads);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_GT(Json::parse(resumed.out)["before"], 0);
  EXPECT_FALSE(fs::exists(path("run.partial")));
  EXPECT_EQ(trials_of(path("run/trials.db")), undisturbed());
}

TEST_F(SweepProcesses, CtrlCWithoutAFolderSaysThatOneWouldHelp) {
  RunOptions terminal = kTwoThreads;
  terminal.terminal = true;
  terminal.interrupt_when = [](const Outcome& so_far) {
    return so_far.err.find("trials") != std::string::npos;
  };
  const Outcome stopped = zeroloss(kSweep, terminal);
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_NE(stopped.err.find("with --out a sweep can be continued"), std::string::npos) << stopped.err;
}

TEST_F(SweepProcesses, SlowKilledTenTimesItFindsTheSame) {
  Arguments sweep = kSweep;
  *(std::find(sweep.begin(), sweep.end(), "--trials") + 1) = "480";  // more than ten lives finish
  sweep = with(sweep, {"--out", path("run")});
  Random random(1, Stream::labels);
  long before = 0;
  int kills = 0, grown = 0;
  std::uint64_t patience = 100;  // milliseconds; grows until a life is long enough to leave something new
  for (int kill_no = 0; kill_no < 10; ++kill_no) {
    Process process(ZEROLOSS_COMMAND, sweep, kTwoThreads);
    // At any moment: while it starts, opens, claims, trains or stores; later on a machine that takes longer.
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.below(patience)));
    if (!process.kill()) break;  // a fast machine: it has ended
    ++kills;
    const long now = has_rows() ? stored() : 0;
    EXPECT_GE(now, before);  // nothing that was stored is lost
    grown += now > before ? 1 : 0;
    patience = now > before ? std::max<std::uint64_t>(100, patience / 2) : 2 * patience;
    before = now;
  }
  ASSERT_GE(kills, 3);
  EXPECT_GE(grown, 2);
  EXPECT_EQ(answer(sweep, 0, kTwoThreads)["before"], before);
  sweep.resize(sweep.size() - 2);  // without --out
  EXPECT_EQ(trials_of(path("run/trials.db")), undisturbed(sweep));
}

TEST_F(SweepProcesses, TwoShareAStore) {
  const Arguments sweep = with(kSweep, {"--out", path("run"), "--json"});
  Outcome first, second;
  std::thread beside([&] { first = zeroloss(sweep, {.environment = {"OMP_NUM_THREADS=1"}}); });
  second = zeroloss(sweep, {.environment = {"OMP_NUM_THREADS=1"}});
  beside.join();
  ASSERT_EQ(first.exit_code, 0) << first.err;
  ASSERT_EQ(second.exit_code, 0) << second.err;
  long own = 0;
  for (const Outcome& outcome : {first, second}) {
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["trials"], 240);
    EXPECT_EQ(json["complete"], true);
    EXPECT_LT(json["before"], 240);  // each has done something
    own += 240 - json["before"].get<long>();
  }
  EXPECT_EQ(own, 240);  // and nothing was done twice
  EXPECT_FALSE(fs::exists(path("run.partial")));
  EXPECT_TRUE(fs::exists(path("run/result.json")));
  EXPECT_EQ(trials_of(path("run/trials.db")), undisturbed());
}

// Sweeps that are over at once: processes meet while they create, join, close and rename.
TEST_F(SweepProcesses, WhoeverEndsLastTheFolderIsWhole) {
  const Arguments sweep{"sweep",       "sphere:n=10", "--d",      "2:4", "--width", "4,8",
                        "--max-steps", "300",         "--trials", "4",   "--out",   path("run")};
  for (int round = 0; round < 8; ++round) {
    fs::remove_all(path("run"));
    Outcome outcomes[4];
    std::vector<std::thread> threads;
    for (Outcome& outcome : outcomes)
      threads.emplace_back([&] { outcome = zeroloss(sweep, {.environment = {"OMP_NUM_THREADS=1"}}); });
    for (auto& thread : threads) thread.join();
    for (const Outcome& outcome : outcomes) {
      const bool late = outcome.exit_code == 2 && outcome.err.find("exists already") != std::string::npos;
      EXPECT_TRUE(late || outcome.exit_code == 0) << outcome.exit_code << outcome.err;
    }
    EXPECT_FALSE(fs::exists(path("run.partial")));
    ASSERT_TRUE(fs::exists(path("run/manifest.json")));
    EXPECT_EQ(sqlite(path("run/trials.db"), "SELECT count(*) FROM trials")[0][0], "24");
  }
}

TEST_F(SweepProcesses, AFullDiskLosesNoRow) {
  Outcome full;
  {
    const FullDisk disk(150'000);  // of every file of the process: its log grows by some 8 kB a trial
    full = zeroloss(with(kSweep, {"--out", path("run")}), kTwoThreads);
  }
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_NE(full.err.find("trials.db"), std::string::npos) << full.err;
  EXPECT_EQ(full.out, "");
  const Rows whole = undisturbed(), part = trials_of(path("run.partial/trials.db"));
  EXPECT_GT(part.size(), 3u);
  EXPECT_LT(part.size(), whole.size());
  for (const auto& row : part) EXPECT_NE(std::find(whole.begin(), whole.end(), row), whole.end());
  EXPECT_EQ(answer(with(kSweep, {"--out", path("run")}), 0, kTwoThreads)["before"], part.size());
  EXPECT_EQ(trials_of(path("run/trials.db")), whole);
}

}  // namespace
}  // namespace zeroloss::test
