#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sources/bytes.hpp"
#include "zeroloss/sources/readers.hpp"
#include "zeroloss/tables/table.hpp"

namespace zeroloss::internal {

/// What is known of a csv before it is read.
struct CsvForm {
  std::optional<bool> header{};     ///< whether its first record is names; nothing: told from the cells
  std::optional<char> separator{};  ///< nothing: the most frequent one in the first line
  std::optional<Index>
      skip{};  ///< lines above the table, and no units below its names; nothing: told from the lines
  std::optional<Index> skip_end{};       ///< records at the end that are none; nothing: totals
  char decimal = 0;                      ///< what begins a fraction; 0: told from the cells
  std::vector<std::string> na_values{};  ///< as in ReadOptions
  bool may_be_empty = false;             ///< names without records are a table
  bool exact = false;                    ///< written by a program: no units below names, no totals
};
/// The same of options, whose words it checks: throws std::invalid_argument.
CsvForm csv_form(const ReadOptions& options);

/// A table of text, RFC 4180. Throws DataError naming the line.
DataTable read_csv(const Bytes& bytes, const CsvForm& form = {});

}  // namespace zeroloss::internal
