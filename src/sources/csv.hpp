#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sources/bytes.hpp"
#include "zeroloss/tables/table.hpp"

namespace zeroloss::internal {

/// What is known of a csv before it is read.
struct CsvForm {
  std::optional<bool> header{};          ///< whether its first record is names; nothing: told from the cells
  std::optional<char> separator{};       ///< nothing: the most frequent one in the first line
  std::vector<std::string> na_values{};  ///< as in ReadOptions
  bool may_be_empty = false;             ///< names without records are a table
};

/// A table of text, RFC 4180. Throws DataError naming the line.
DataTable read_csv(const Bytes& bytes, const CsvForm& form = {});

}  // namespace zeroloss::internal
