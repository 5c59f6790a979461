// The store of a sweep: claims among living and dead processes, rows, identity, who closes it.
#include "sweep/store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

#include "support/sqlite.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using test::sqlite;
const Store::Identity kIdentity{{"data", "digits"}, {"n", "1,2,3"}};

std::vector<Job> jobs(Index count) {
  std::vector<Job> all;
  for (Index k = 0; k < count; ++k) all.push_back({k / 10, k % 10});
  return all;
}

std::set<std::pair<Index, Index>> names(const std::vector<Job>& all) {
  std::set<std::pair<Index, Index>> result;
  for (const Job& job : all) result.emplace(job.cell, job.trial);
  return result;
}

TrialRow row(Index cell, Index trial, double misfit = 0.5) {
  TrialRow row;
  row.job = {cell, trial};
  row.cell = {30, 5, 16, "relu", "ntk", "auto", 0.1, 1e-4};
  row.seed = (std::uint64_t{1} << 53) - 1;
  row.trial.status = Status::converged;
  row.trial.steps = 123;
  row.trial.step = 0.1;
  row.trial.relative_misfit = misfit;
  row.seconds = 2.5;
  return row;
}

// Of this start of the machine, and of the numbers of processes in use.
std::string boot_id() {
  std::string line;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), line);
  return line + " " + std::filesystem::read_symlink("/proc/self/ns/pid").string();
}

// Field 22 of /proc/PID/stat, counted behind the name in parentheses.
std::string start_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int k = 3; k <= 22; ++k) rest >> field;
  return field;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A process somewhere, as it stands in the table.
struct Worker {
  std::string boot = boot_id();
  long pid = getppid();
  std::string started = start_of(getppid());
  double age_s = 0;  // of its heartbeat
  int closing = 0;
};

class StoreFile : public test::TempFolder {
 protected:
  std::filesystem::path file = folder / "trials.db";

  // Number 1000, with a claim of cell 0, trial 0.
  void insert(const Worker& w) {
    sqlite(file, fmt::format("INSERT INTO workers VALUES(1000, '{}', {}, '{}', {:.17g}, {}); "
                             "INSERT INTO claims VALUES(0, 0, 1000)",
                             w.boot, w.pid, w.started, now_s() - w.age_s, w.closing));
  }
  // Whether we may have what that worker has claimed.
  bool taken_over(const Worker& w) {
    std::filesystem::remove(file);
    Store store(file, kIdentity);
    insert(w);
    return names(store.claim(jobs(3))).contains({0, 0});
  }
};

// ---- claims ----

TEST_F(StoreFile, TwoStoresNeverHoldTheSameTrial) {
  Store a(file, kIdentity), b(file, kIdentity);
  EXPECT_EQ(names(a.claim(jobs(5))), names(jobs(5)));
  EXPECT_EQ(a.claim(jobs(5)).size(), 0u);  // not even twice by one
  const auto rest = b.claim(jobs(8));
  EXPECT_EQ(rest.size(), 3u);
  for (const Job& job : rest) EXPECT_GE(job.trial, 5);
  EXPECT_EQ(a.claim({}).size(), 0u);
}

class StoreShared : public StoreFile, public testing::WithParamInterface<Journal> {};
INSTANTIATE_TEST_SUITE_P(Journals, StoreShared, testing::Values(Journal::wal, Journal::rollback));

TEST_P(StoreShared, ManyAtOnceShareAllTrials) {
  constexpr Index kJobs = 120;
  constexpr std::size_t kStores = 4;
  std::vector<std::vector<Job>> held(kStores);
  std::vector<std::thread> threads;
  for (auto& mine : held)
    threads.emplace_back([&, first = &mine == held.data()] {
      Store store(file, kIdentity, GetParam());
      auto wanted = jobs(kJobs);
      if (first) std::reverse(wanted.begin(), wanted.end());
      for (std::size_t k = 0; k < wanted.size(); k += 3)
        for (const Job& job : store.claim({wanted.begin() + static_cast<std::ptrdiff_t>(k),
                                           wanted.begin() + static_cast<std::ptrdiff_t>(k + 3)})) {
          mine.push_back(job);
          store.save(row(job.cell, job.trial));
        }
    });
  for (auto& thread : threads) thread.join();
  std::vector<Job> all;
  for (const auto& mine : held) all.insert(all.end(), mine.begin(), mine.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kJobs));
  EXPECT_EQ(names(all), names(jobs(kJobs)));
  EXPECT_EQ(sqlite(file, "SELECT count(*) FROM claims")[0][0], "0");
  EXPECT_EQ(sqlite(file, "SELECT count(*) FROM workers")[0][0], "0");
}

TEST_P(StoreShared, TheLastOneClosesIt) {
  Store a(file, kIdentity, GetParam());
  {
    Store b(file, kIdentity, GetParam());
    b.claim(jobs(1));
    b.save(row(0, 0));
    EXPECT_FALSE(b.close());
  }
  EXPECT_EQ(a.rows().size(), 1u);
  EXPECT_TRUE(a.close());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "one file";
}

TEST_F(StoreFile, WhatIsStoredIsNotClaimed) {
  Store store(file, kIdentity);
  store.claim(jobs(2));
  store.save(row(0, 0));
  EXPECT_EQ(sqlite(file, "SELECT cell, trial FROM claims"), (test::Rows{{"0", "1"}}));
  EXPECT_EQ(names(store.claim(jobs(3))), (std::set<std::pair<Index, Index>>{{0, 2}}));
}

TEST_F(StoreFile, WhoLeavesGivesUpItsClaims) {
  Store a(file, kIdentity);
  {
    Store b(file, kIdentity);
    b.claim(jobs(4));
    EXPECT_EQ(a.claim(jobs(4)).size(), 0u);
  }
  EXPECT_EQ(a.claim(jobs(4)).size(), 4u);
}

TEST_F(StoreFile, ClaimsOfTheLivingStand) {
  EXPECT_FALSE(taken_over({}));
  EXPECT_FALSE(taken_over({.age_s = 50}));
  EXPECT_FALSE(taken_over({.boot = "another machine", .age_s = 50}));
  EXPECT_FALSE(taken_over({.boot = "another machine", .pid = 1 << 30}));
}

TEST_F(StoreFile, ClaimsOfTheDeadAreTakenOver) {
  EXPECT_TRUE(taken_over({.pid = 1 << 30})) << "no process has this number";
  EXPECT_TRUE(taken_over({.started = "1"})) << "another process has it now";
  EXPECT_TRUE(taken_over({.age_s = 61})) << "no sign for a minute";
  EXPECT_TRUE(taken_over({.boot = "another machine", .age_s = 61}));
}

// A power cut may end the process and set the clock back: nobody waits until that time comes again.
TEST_F(StoreFile, ClaimsOfTheFutureAreTakenOver) {
  EXPECT_TRUE(taken_over({.boot = "another machine", .age_s = -3600}));
  EXPECT_FALSE(taken_over({.boot = "another machine", .age_s = -50})) << "clocks differ";
  EXPECT_FALSE(taken_over({.age_s = -3600})) << "it lives";
}

// One that was stopped for more than a minute is taken for dead; when it goes on it is no worker any more,
// but claims. If it then dies nobody else would know.
TEST_F(StoreFile, ClaimsOfNobodyAreTakenOver) {
  Store store(file, kIdentity);
  sqlite(file, "INSERT INTO claims VALUES(0, 0, 1000)");
  EXPECT_EQ(store.claim(jobs(1)).size(), 1u);
}

TEST_F(StoreFile, AKilledProcessIsDeadEvenBeforeItIsBuried) {
  const pid_t child = fork();
  if (child == 0) {
    const Store store(file, kIdentity);
    const_cast<Store&>(store).claim(jobs(5));
    std::raise(SIGKILL);
  }
  siginfo_t died{};
  waitid(P_PID, static_cast<id_t>(child), &died, WEXITED | WNOWAIT);  // a zombie now
  Store store(file, kIdentity);
  EXPECT_EQ(sqlite(file, "SELECT count(*) FROM claims")[0][0], "5");
  EXPECT_EQ(store.claim(jobs(6)).size(), 6u);
  EXPECT_EQ(sqlite(file, "SELECT count(*) FROM workers")[0][0], "1");
  waitpid(child, nullptr, 0);
}

// ---- rows ----

TEST_F(StoreFile, RowsComeBackAsTheyWere) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> misfits{0.1, 1.0 / 3, 0, 5e-324, kInf, std::nan("")};
  const std::vector<Status> statuses{Status::certified, Status::converged, Status::budget_spent,
                                     Status::diverged,  Status::diverged,  Status::diverged};
  {
    Store store(file, kIdentity);
    for (std::size_t k = misfits.size(); k-- > 0;) {
      TrialRow one = row(static_cast<Index>(k / 2), static_cast<Index>(k % 2), misfits[k]);
      one.trial.status = statuses[k];
      one.trial.steps = static_cast<Index>(k) << 40;
      store.save(one);
    }
  }
  Store store(file, kIdentity);
  const auto all = store.rows();
  ASSERT_EQ(all.size(), misfits.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(all[k].job.cell, static_cast<Index>(k / 2));
    EXPECT_EQ(all[k].job.trial, static_cast<Index>(k % 2));
    EXPECT_EQ(all[k].cell.n, 30);
    EXPECT_EQ(all[k].cell.d, 5);
    EXPECT_EQ(all[k].trial.steps, static_cast<Index>(k) << 40);
    EXPECT_EQ(all[k].trial.status, statuses[k]);
    if (std::isnan(misfits[k]))
      EXPECT_TRUE(std::isnan(all[k].trial.relative_misfit));
    else
      EXPECT_EQ(all[k].trial.relative_misfit, misfits[k]);
  }
}

TEST_F(StoreFile, OtherProgramsReadTheTable) {
  Store store(file, kIdentity);
  TrialRow one = row(3, 7);
  one.trial.certificate.kind = "descent";
  one.trial.certificate.radius = 0.25;
  one.trial.certificate.margin = 2;
  store.save(one);
  one = row(3, 8, std::nan(""));
  one.trial.status = Status::budget_spent;
  store.save(one);
  EXPECT_EQ(
      sqlite(file,
             "SELECT cell, trial, n, d, width, activation, scaling, step, noise, tolerance, seed, steps, "
             "relative_misfit, status, success, certificate, radius, margin, seconds FROM trials"),
      (test::Rows{
          {"3", "7", "30", "5", "16", "relu", "ntk", "0.10000000000000001", "0.10000000000000001", "0.0001",
           "9007199254740991", "123", "0.5", "converged", "1", "descent", "0.25", "2", "2.5"},
          {"3", "8", "30", "5", "16", "relu", "ntk", "0.10000000000000001", "0.10000000000000001", "0.0001",
           "9007199254740991", "123", "NULL", "budget_spent", "0", "none", "0", "0", "2.5"}}));
}

TEST_F(StoreFile, ATrialIsStoredOnce) {
  Store a(file, kIdentity), b(file, kIdentity);
  a.save(row(0, 0, 0.25));
  b.save(row(0, 0, 0.75));  // taken over from a, who was only slow
  ASSERT_EQ(b.rows().size(), 1u);
  EXPECT_EQ(b.rows()[0].trial.relative_misfit, 0.25);
}

TEST(Store, WorksInMemory) {
  Store store("", kIdentity), other("", kIdentity);
  EXPECT_EQ(store.claim(jobs(3)).size(), 3u);
  store.save(row(0, 1));
  EXPECT_EQ(store.rows().size(), 1u);
  EXPECT_EQ(other.rows().size(), 0u);
  EXPECT_TRUE(store.close());
}

// ---- identity ----

TEST_F(StoreFile, AnotherSweepIsRefusedByTheOptionThatDiffers) {
  { Store store(file, kIdentity); }
  EXPECT_MESSAGE(std::invalid_argument, Store(file, {{"data", "digits"}, {"n", "1,2"}}), file.string(),
                 "its n is 1,2,3, not 1,2;", "`store`");
  EXPECT_MESSAGE(std::invalid_argument, Store(file, {{"data", "mnist"}, {"n", "1"}}),
                 "its data is digits, not mnist");
  EXPECT_MESSAGE(DataError, Store(file, {{"data", "digits"}, {"width", "8"}}), file.string(), "width");
  Store again(file, kIdentity);
}

TEST_F(StoreFile, RefusesOtherVersions) {
  { Store store(file, kIdentity); }
  sqlite(file, "PRAGMA user_version = 0");
  EXPECT_MESSAGE(DataError, Store(file, kIdentity), file.string(), "another version");
}

TEST_F(StoreFile, RefusesAFileWithoutItsEnd) {
  {
    Store store(file, kIdentity);
    for (Index trial = 0; trial < 50; ++trial) store.save(row(0, trial));
    EXPECT_TRUE(store.close());
  }
  const std::string whole = content(file);
  for (const std::size_t size : {whole.size() - 4096, whole.size() / 2}) {
    write("trials.db", whole.substr(0, size));
    EXPECT_MESSAGE(DataError, Store(file, kIdentity), file.string());
  }
  write("trials.db", whole);
  EXPECT_EQ(Store(file, kIdentity).rows().size(), 50u);
}

// As after a bit of the tables' descriptions has changed on the disk.
TEST_F(StoreFile, RefusesTablesThatAreNotItsOwn) {
  { Store store(file, kIdentity); }
  sqlite(file, "ALTER TABLE trials RENAME COLUMN noise TO noisf");
  EXPECT_MESSAGE(DataError, Store(file, kIdentity), file.string(), "its tables are not those of a sweep");
}

TEST_F(StoreFile, RefusesTheFilesOfOthers) {
  { Database database(file); }
  sqlite(file, "CREATE TABLE trials(cell, trial)");
  EXPECT_MESSAGE(DataError, Store(file, kIdentity), file.string(), "not of a sweep");
  EXPECT_EQ(sqlite(file, "SELECT name FROM sqlite_master"), (test::Rows{{"trials"}}));
  write("trials.db", "cell,trial\n0,0\n");
  EXPECT_MESSAGE(DataError, Store(file, kIdentity), file.string(), "not a database");
}

TEST_F(StoreFile, AnEmptyFileIsANewStore) {
  write("trials.db", "");
  Store store(file, kIdentity);
  EXPECT_EQ(store.claim(jobs(2)).size(), 2u);
}

// As after a bit has changed on the disk: no answer is made of such a row.
TEST_F(StoreFile, ARowThatIsNotAsItWasWrittenIsAnError) {
  Store store(file, kIdentity);
  TrialRow one = row(3, 7, std::nan(""));
  one.trial.step = -0.0;  // the database has one zero
  store.save(one);
  EXPECT_EQ(store.rows().size(), 1u);
  for (const std::string change :
       {"status = 'finished'", "status = 'certified'", "steps = steps + 1", "relative_misfit = 1e-300",
        "n = n + 1", "trial = 8", "seed = seed - 1", "radius = 1e-9", "digest = ''"}) {
    sqlite(file, "CREATE TABLE kept AS SELECT * FROM trials; UPDATE trials SET " + change);
    EXPECT_MESSAGE(DataError, store.rows(), file.string(), "of cell 3 is not as it was written");
    sqlite(file, "DELETE FROM trials; INSERT INTO trials SELECT * FROM kept; DROP TABLE kept");
  }
  EXPECT_EQ(store.rows().size(), 1u);
}

// ---- closing ----

TEST_F(StoreFile, TheLastOneCloses) {
  Store a(file, kIdentity), b(file, kIdentity), c(file, kIdentity);
  EXPECT_FALSE(a.close());
  EXPECT_FALSE(b.close());
  EXPECT_TRUE(c.close());  // though a and b have not gone yet
}

TEST_F(StoreFile, ClosingLeavesOneFile) {
  Store store(file, kIdentity);
  store.save(row(0, 0));
  EXPECT_TRUE(store.close());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_EQ(sqlite(file, "SELECT count(*) FROM trials")[0][0], "1");
}

TEST_F(StoreFile, TheDeadDoNotKeepItOpen) {
  Store store(file, kIdentity);
  insert({.pid = 1 << 30});
  EXPECT_TRUE(store.close());
}

TEST_F(StoreFile, TheLivingKeepItOpen) {
  Store store(file, kIdentity);
  insert({});
  EXPECT_FALSE(store.close());
}

TEST_F(StoreFile, IsBeingClosedByALivingProcessOnly) {
  Store store(file, kIdentity);
  EXPECT_FALSE(store.being_closed());
  insert({});
  EXPECT_FALSE(store.being_closed());
  sqlite(file, "UPDATE workers SET closing = 1 WHERE worker = 1000");
  EXPECT_TRUE(store.being_closed());
  sqlite(file, "UPDATE workers SET pid = 1 << 30 WHERE worker = 1000");  // it died while it was at it
  EXPECT_FALSE(store.being_closed());
  EXPECT_TRUE(store.close());
}

TEST_F(StoreFile, OneProcessMayOpenWhatItHasClosed) {
  for (int again = 0; again < 2; ++again) {
    Store store(file, kIdentity);
    EXPECT_FALSE(store.being_closed());
    EXPECT_TRUE(store.close());
  }
}

}  // namespace
}  // namespace zeroloss
