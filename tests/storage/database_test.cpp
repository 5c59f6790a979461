#include "storage/database.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "support/full_disk.hpp"
#include "support/sqlite.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

class DatabaseFile : public test::TempFolder {
 protected:
  std::filesystem::path file = folder / "a.db";
  test::Rows rows(const std::string& sql = "SELECT * FROM t ORDER BY 1") { return test::sqlite(file, sql); }
};

TEST(Database, InMemoryRowsComeBackInTheOrderAskedFor) {
  Database database("");
  database.execute("CREATE TABLE t(a, b)");
  auto put = database.prepare("INSERT INTO t VALUES(?, ?)");
  for (const int a : {3, 1, 2}) EXPECT_FALSE(put.run(a, std::to_string(a * a)));
  auto all = database.prepare("SELECT a, b FROM t ORDER BY a");
  for (int again = 0; again < 2; ++again) {  // a statement runs from the beginning each time
    int seen = 0;
    for (bool more = all.run(); more; more = all.next()) {
      EXPECT_EQ(all.integer(0), ++seen);
      EXPECT_EQ(all.text(1), std::to_string(seen * seen));
    }
    EXPECT_EQ(seen, 3);
  }
  EXPECT_FALSE(database.prepare("SELECT a FROM t WHERE a = ?").run(7));
}

TEST_F(DatabaseFile, NumbersKeepTheirBits) {
  constexpr double kTiny = std::numeric_limits<double>::denorm_min(), kInf = HUGE_VAL;
  const std::vector<double> numbers{0.1, -1.0 / 3, 1e308, kTiny, -0.0, kInf, -kInf, 0x1p53 + 2};
  const std::vector<std::int64_t> integers{0, -1, (std::int64_t{1} << 53) - 1,
                                           std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::min()};
  Database database(file);
  database.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, x REAL, i INTEGER)");
  auto put = database.prepare("INSERT INTO t VALUES(?, ?, ?)");
  for (std::size_t k = 0; k < numbers.size(); ++k) put.run(k, numbers[k], integers[k % integers.size()]);
  auto get = database.prepare("SELECT x, i FROM t ORDER BY k");
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    ASSERT_TRUE(k == 0 ? get.run() : get.next());
    EXPECT_EQ(get.number(0), numbers[k]);
    EXPECT_EQ(get.integer(1), integers[k % integers.size()]);
  }
  EXPECT_FALSE(get.next());
}

TEST_F(DatabaseFile, NanIsNullAndTextIsTextToOtherReaders) {
  {
    Database database(file);
    database.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, x REAL, s TEXT)");
    auto put = database.prepare("INSERT INTO t VALUES(?, ?, ?)");
    put.run(1, std::nan(""), std::string("gr\xC3\xBCn, 'a' \"b\"; DROP TABLE t"));
    put.run(2, 0.5, "");
    auto get = database.prepare("SELECT x, s FROM t ORDER BY k");
    ASSERT_TRUE(get.run());
    EXPECT_TRUE(std::isnan(get.number(0)));
    EXPECT_EQ(get.text(1), "gr\xC3\xBCn, 'a' \"b\"; DROP TABLE t");
    ASSERT_TRUE(get.next());
    EXPECT_EQ(get.text(1), "");
    database.execute("UPDATE t SET s = NULL WHERE k = 2");
    auto null = database.prepare("SELECT s FROM t WHERE s IS NULL");
    ASSERT_TRUE(null.run());
    EXPECT_EQ(null.text(0), "");
  }
  EXPECT_EQ(rows(),
            (test::Rows{{"1", "NULL", "gr\xC3\xBCn, 'a' \"b\"; DROP TABLE t"}, {"2", "0.5", "NULL"}}));
}

TEST(Database, CountsTheRowsThatChange) {
  Database database("");
  database.execute("CREATE TABLE t(a INTEGER PRIMARY KEY)");
  auto put = database.prepare("INSERT INTO t VALUES(?) ON CONFLICT DO NOTHING");
  put.run(1);
  EXPECT_EQ(database.changes(), 1);
  put.run(1);
  EXPECT_EQ(database.changes(), 0);
  put.run(2);
  database.prepare("UPDATE t SET a = a + 10").run();
  EXPECT_EQ(database.changes(), 2);
}

TEST_F(DatabaseFile, ATransactionIsWholeOrNothing) {
  Database database(file);
  database.execute("CREATE TABLE t(a INTEGER)");
  auto put = database.prepare("INSERT INTO t VALUES(?)");
  database.transaction([&] { put.run(1); });
  EXPECT_EQ(database.transaction([&] {
    put.run(2);
    return std::string("two");
  }),
            "two");
  EXPECT_THROW(database.transaction([&] {
    put.run(3);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(rows(), (test::Rows{{"1"}, {"2"}}));
  database.transaction([&] { put.run(4); });  // the failed one has ended
  EXPECT_EQ(rows(), (test::Rows{{"1"}, {"2"}, {"4"}}));
}

TEST_F(DatabaseFile, AMistakeInAStatementSaysWhere) {
  Database database(file);
  EXPECT_MESSAGE(ResourceError, database.prepare("SELECT a FROM absent"), file.string(),
                 "no such table: absent");
  database.execute("CREATE TABLE t(a INTEGER PRIMARY KEY)");
  auto put = database.prepare("INSERT INTO t VALUES(?)");
  put.run(1);
  EXPECT_MESSAGE(ResourceError, put.run(1), file.string(), "UNIQUE constraint failed");
  put.run(2);  // the statement works on
  EXPECT_EQ(rows().size(), 2u);
}

TEST_F(DatabaseFile, RefusesFilesThatAreNone) {
  for (const std::string& bytes :
       {std::string("n,d,width\n1,2,3\n"), std::string(5000, 'x'), std::string("xy")}) {
    write("a.db", bytes);
    EXPECT_MESSAGE(DataError, Database{file}, file.string(), "not a database");
    EXPECT_TRUE(content(file) == bytes);
  }
  // The first page of a database, and then nonsense.
  std::filesystem::remove(file);
  {
    Database database(file);
    database.execute(
        "CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(20000)); PRAGMA journal_mode = DELETE");
  }
  std::string bytes = content(file);
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  write("a.db", bytes);
  Database damaged(file);
  auto all = damaged.prepare("SELECT length(a), a FROM t");
  EXPECT_MESSAGE(DataError, all.run(), file.string(), "malformed");
}

TEST_F(DatabaseFile, FailsWhereItCannotBeOpened) {
  EXPECT_MESSAGE(ResourceError, Database(folder / "absent" / "a.db"), "absent/a.db",
                 "unable to open database file (No such file or directory)");
  EXPECT_MESSAGE(ResourceError, Database{folder}, folder.string(), "unable to open");
}

TEST_F(DatabaseFile, AFullDiskKeepsEarlierRows) {
  Database database(file);
  database.execute("CREATE TABLE t(k INTEGER, s TEXT)");
  auto put = database.prepare("INSERT INTO t VALUES(?, ?)");
  const std::string text(3000, 'x');
  int stored = 0;
  {
    const test::FullDisk disk(
        150'000);  // the shared memory of a WAL takes 32 kB, the log grows by 4 kB a row
    const auto fill = [&] {
      for (; stored < 1000; ++stored) database.transaction([&] { put.run(stored, text); });
    };
    EXPECT_MESSAGE(ResourceError, fill(), file.string(), "disk I/O error");
  }
  EXPECT_GT(stored, 5);
  EXPECT_LT(stored, 150'000 / 3000);
  const auto kept = [&] { return rows("SELECT count(*), max(k), min(length(s)) FROM t")[0]; };
  EXPECT_EQ(kept(), (std::vector<std::string>{std::to_string(stored), std::to_string(stored - 1), "3000"}));
  database.transaction([&] { put.run(stored, text); });  // with room again it goes on
  EXPECT_EQ(kept()[0], std::to_string(stored + 1));
}

TEST(Database, SharesMemoryOnFileSystemsOfOneMachineOnly) {
  for (const std::uint64_t local : {0xEF53, 0x58465342, 0x01021994, 0x794C7630})
    EXPECT_EQ(journal_on(local), Journal::wal) << local;
  // NFS, SMB, CIFS, SMB 2, FUSE, 9p, Lustre, GPFS, Ceph, virtiofs, one that nobody knows.
  for (const std::uint64_t shared : {0x6969U, 0x517BU, 0xFF534D42U, 0xFE534D42U, 0x65735546U, 0x01021997U,
                                     0x0BD00BD0U, 0x47504653U, 0x00C36400U, 0x6A656A63U, 0x12345678U})
    EXPECT_EQ(journal_on(shared), Journal::rollback) << shared;
  EXPECT_EQ(journal_for(""), Journal::wal);
  EXPECT_EQ(journal_for("/dev/shm/absent.db"), Journal::wal);
  EXPECT_EQ(journal_for("/proc/absent.db"), Journal::rollback);
}

TEST_F(DatabaseFile, ARollbackJournalSharesNoMemory) {
  {
    Database log(file, Journal::wal);
    log.execute("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES(1)");
  }
  Database one(file, Journal::rollback), two(file, Journal::rollback);
  one.transaction([&] {
    one.execute("INSERT INTO t VALUES(2)");
    EXPECT_TRUE(std::filesystem::exists(file.string() + "-journal"));
  });
  two.execute("INSERT INTO t VALUES(3)");
  EXPECT_EQ(rows(), (test::Rows{{"1"}, {"2"}, {"3"}}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "a log or its memory";
}

class Turns : public DatabaseFile, public testing::WithParamInterface<Journal> {};
INSTANTIATE_TEST_SUITE_P(Journals, Turns, testing::Values(Journal::wal, Journal::rollback));

TEST_P(Turns, TwoConnectionsTakeTurns) {
  Database one(file, GetParam()), two(file, GetParam());
  one.execute("CREATE TABLE t(a INTEGER)");
  auto put = two.prepare("INSERT INTO t VALUES(?)");
  put.run(1);
  EXPECT_TRUE(one.prepare("SELECT a FROM t").run());
  // Each adds 1 in a transaction that reads first: if two ran at the same time, one would be lost.
  constexpr int kEach = 50;
  const auto count_up = [](Database& database) {
    auto get = database.prepare("SELECT a FROM t");
    auto set = database.prepare("UPDATE t SET a = ?");
    for (int k = 0; k < kEach; ++k)
      database.transaction([&] {
        get.run();
        const auto value = get.integer(0);
        get.next();
        set.run(value + 1);
      });
  };
  std::thread other([&] { count_up(one); });
  count_up(two);
  other.join();
  EXPECT_EQ(rows()[0][0], std::to_string(1 + 2 * kEach));
}

// Switching a new file to WAL takes an exclusive lock, which SQLite does not wait for by itself.
TEST_P(Turns, ManyMayOpenANewOneAtTheSameTime) {
  const int rounds = GetParam() == Journal::wal ? 30 : 5;
  for (int round = 0; round < rounds; ++round) {
    file = folder / std::to_string(round);
    constexpr int kThreads = 6;
    std::atomic<int> ready{0}, failed{0};
    std::vector<std::thread> threads;
    for (int k = 0; k < kThreads; ++k)
      threads.emplace_back([&] {
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        try {
          Database database(file, GetParam());
          database.execute("CREATE TABLE IF NOT EXISTS t(a INTEGER); INSERT INTO t VALUES(1)");
        } catch (const std::exception& error) {
          if (failed++ == 0) ADD_FAILURE() << error.what();
        }
      });
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(failed, 0);
    EXPECT_EQ(rows().size(), static_cast<std::size_t>(kThreads));
  }
}

}  // namespace
}  // namespace zeroloss
