#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

/// Databases as SQLite itself reads and writes them, without the library's own classes.
namespace zeroloss::test {

using Rows = std::vector<std::vector<std::string>>;

/// The rows that `sql` gives, or none; numbers with all their bits, NULL as "NULL". Errors fail the test.
inline Rows sqlite(const std::filesystem::path& path, const std::string& sql) {
  Rows rows;
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK) << path;
  sqlite3_busy_timeout(database, 10'000);
  const char* rest = sql.c_str();
  while (*rest != '\0') {
    if (sqlite3_prepare_v2(database, rest, -1, &statement, &rest) != SQLITE_OK) {
      ADD_FAILURE() << path << ": " << sqlite3_errmsg(database);
      break;
    }
    int code = SQLITE_DONE;
    while (statement != nullptr && (code = sqlite3_step(statement)) == SQLITE_ROW) {
      auto& row = rows.emplace_back();
      for (int c = 0; c < sqlite3_column_count(statement); ++c) {
        if (sqlite3_column_type(statement, c) == SQLITE_NULL) {
          row.emplace_back("NULL");
        } else if (sqlite3_column_type(statement, c) == SQLITE_FLOAT) {
          row.push_back(fmt::format("{:.17g}", sqlite3_column_double(statement, c)));
        } else {
          row.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, c)));
        }
      }
    }
    EXPECT_EQ(code, SQLITE_DONE) << path << ": " << sqlite3_errmsg(database);
    sqlite3_finalize(statement);
  }
  sqlite3_close(database);
  return rows;
}

/// What a sweep has found, by cell and trial: all that decides a row, and what came of it.
inline Rows trials_of(const std::filesystem::path& store) {
  return sqlite(
      store,
      "SELECT cell, trial, n, d, width, activation, scaling, step, noise, tolerance, seed, steps, "
      "relative_misfit, status, success, certificate, radius, margin FROM trials ORDER BY cell, trial");
}

}  // namespace zeroloss::test
