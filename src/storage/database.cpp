#include "storage/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

void check(int code, sqlite3* database, const std::string& name) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  // Which may quote what the file holds.
  std::string reason = fmt::format("{}: {}", name, printable(sqlite3_errmsg(database)));
  const bool of_the_system = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  if (const int system = sqlite3_system_errno(database); of_the_system && system != 0)
    reason += fmt::format(" ({})", std::strerror(system));
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) throw DataError(reason);
  throw ResourceError(reason);
}

}  // namespace

Statement::Statement(sqlite3* database, const std::string& sql, std::string name) : name_(std::move(name)) {
  check(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr), database, name_);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), name_(std::move(other.name_)) {}

void Statement::begin() { sqlite3_reset(statement_); }

bool Statement::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  const int ended = sqlite3_reset(statement_);  // a statement left open would hold its lock
  check(code == SQLITE_DONE ? SQLITE_OK : ended, sqlite3_db_handle(statement_), name_);
  return false;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::number(int column) const {
  const bool null = sqlite3_column_type(statement_, column) == SQLITE_NULL;
  return null ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr ? "" : bytes;
}

void Statement::bind_integer(int index, std::int64_t value) {
  check(sqlite3_bind_int64(statement_, index, value), sqlite3_db_handle(statement_), name_);
}

void Statement::bind_number(int index, double value) {
  check(sqlite3_bind_double(statement_, index, value), sqlite3_db_handle(statement_), name_);
}

void Statement::bind_text(int index, const std::string& value) {
  check(sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT),
        sqlite3_db_handle(statement_), name_);
}

Journal journal_on(std::uint64_t file_system) {
  constexpr std::uint64_t kOfOneMachine[] = {
      0xEF53,      // ext2, ext3, ext4
      0x58465342,  // XFS
      0x9123683E,  // Btrfs
      0xCA451A4E,  // bcachefs
      0x2FC12FC1,  // ZFS
      0xF2F52010,  // F2FS
      0x3153464A,  // JFS
      0x52654973,  // ReiserFS
      0x3434,      // NILFS
      0x01021994,  // tmpfs
      0x858458F6,  // ramfs
      0x794C7630,  // overlay, of containers
      0x4D44,      // FAT
      0x2011BAB0,  // exFAT
      0x7366746E,  // NTFS, of the kernel
  };
  return std::ranges::find(kOfOneMachine, file_system) != std::end(kOfOneMachine) ? Journal::wal
                                                                                  : Journal::rollback;
}

Journal journal_for(const std::filesystem::path& path) {
  if (path.empty()) return Journal::wal;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  struct statfs where {};
  // The file itself may be a link to elsewhere.
  const bool known = statfs(path.c_str(), &where) == 0 || statfs(folder.c_str(), &where) == 0;
  // Of 32 bits, with or without a sign.
  return known ? journal_on(static_cast<std::uint32_t>(where.f_type)) : Journal::rollback;
}

Database::Database(const std::filesystem::path& path) : Database(path, journal_for(path)) {}

Database::Database(const std::filesystem::path& path, Journal journal)
    : name_(path.empty() ? "results in memory" : path.string()) {
  constexpr int kPatience_ms = 60'000, kPause_ms = 5;  // while another process writes
  const int code = sqlite3_open(path.empty() ? ":memory:" : path.c_str(), &database_);
  try {
    check(code, database_, name_);
    sqlite3_busy_timeout(database_, kPatience_ms);
    // A commit survives the death of the process; of the machine, with WAL, all but the last ones do.
    if (journal == Journal::wal) execute("PRAGMA synchronous = NORMAL");
    const char* mode = journal == Journal::wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE";
    // Of several processes that switch at the same time, SQLite tells some at once that it is locked.
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + std::chrono::milliseconds(kPatience_ms);;) {
      const int switched = sqlite3_exec(database_, mode, nullptr, nullptr, nullptr);
      if (switched != SQLITE_BUSY || Clock::now() > end) {
        check(switched, database_, name_);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(kPause_ms));
    }
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

Database::~Database() { sqlite3_close(database_); }

Statement Database::prepare(const std::string& sql) { return {database_, sql, name_}; }

void Database::execute(const std::string& sql) {
  check(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr), database_, name_);
}

std::int64_t Database::changes() const { return sqlite3_changes64(database_); }

void Database::roll_back() noexcept { sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr); }

}  // namespace zeroloss::internal
