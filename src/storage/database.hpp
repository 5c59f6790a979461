#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>

struct sqlite3;
struct sqlite3_stmt;

/// SQLite, with exceptions: ResourceError with its reason where reading or writing fails (disk full, locked,
/// ..), DataError for a file that is no database.
namespace zeroloss::internal {

/// A prepared statement. Values are bound, in the order of its question marks, each time it runs.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql, std::string name);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  /// Binds and runs from the beginning; true if there is a row. A NaN is stored as NULL.
  template <class... Values>
  bool run(const Values&... values) {
    begin();
    int index = 0;
    (bind(++index, values), ...);
    return next();
  }
  bool next();  ///< to the next row; false if there is none

  std::int64_t integer(int column) const;
  double number(int column) const;     ///< NaN for NULL
  std::string text(int column) const;  ///< "" for NULL

 private:
  void begin();
  template <class T>
  void bind(int index, const T& value) {
    if constexpr (std::is_integral_v<T>)
      bind_integer(index, static_cast<std::int64_t>(value));
    else if constexpr (std::is_floating_point_v<T>)
      bind_number(index, value);
    else
      bind_text(index, value);
  }
  void bind_integer(int index, std::int64_t value);
  void bind_number(int index, double value);
  void bind_text(int index, const std::string& value);

  sqlite3_stmt* statement_ = nullptr;
  std::string name_;  // of the database, for messages
};

/// How a database keeps what a transaction changes until it is whole: in a log that processes share through
/// memory (WAL), which those of one machine alone can, or in a file beside it, which needs locks alone.
enum class Journal { wal, rollback };

/// By the type of a file system, as statfs(2) has it: WAL on those that are known to be of one machine.
Journal journal_on(std::uint64_t file_system);
/// By that of the file system where a database is, or is to be.
Journal journal_for(const std::filesystem::path& path);

class Database {
 public:
  explicit Database(const std::filesystem::path& path);  ///< empty: in memory
  Database(const std::filesystem::path& path, Journal journal);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Statement prepare(const std::string& sql);
  void execute(const std::string& sql);  ///< statements without values and rows
  std::int64_t changes() const;          ///< rows that the last statement changed

  /// f() as a whole or not at all, alone among all processes.
  template <class F>
  auto transaction(const F& f) {
    execute("BEGIN IMMEDIATE");
    try {
      if constexpr (std::is_void_v<decltype(f())>) {
        f();
        execute("COMMIT");
      } else {
        auto result = f();
        execute("COMMIT");
        return result;
      }
    } catch (...) {
      roll_back();
      throw;
    }
  }

 private:
  void roll_back() noexcept;

  sqlite3* database_ = nullptr;
  std::string name_;
};

}  // namespace zeroloss::internal
