#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sources/bytes.hpp"
#include "zeroloss/base/matrix.hpp"

/// How a text file lays out its table: what separates cells, and what stands above the first line of it.
namespace zeroloss::internal {

constexpr char kBlanks = ' ';  ///< a separator: any number of blanks and tabs

struct CsvLayout {
  char separator = ',';
  Index skip = 0;           ///< lines of the file above the table
  bool commented = false;   ///< the table's first line, its names, begins with # as NumPy writes it
  std::string remark = {};  ///< what was skipped, and how to say otherwise; empty where nothing was
};

/// Finds it in the first lines. `separator` and `skip` are what is known already, and `header_known` whether
/// the first line is names. Above a table may stand Excel's `sep=;`, lines that begin with #, UCI's one line
/// that begins with a bar, and titles: lines of at most half as many cells as most lines have, which are
/// three or more, or of one word and empty cells above a line of words.
CsvLayout layout_of(const Bytes& bytes, std::optional<char> separator, std::optional<Index> skip,
                    bool header_known);

/// The line with one tab for the blanks between its fields; in_quotes: whether it begins inside a quoted one.
std::string with_tabs(std::string_view line, bool in_quotes);

/// A line as UTF-8, without the mark of byte order that a file may begin with.
std::string_view without_mark(std::string_view line);

}  // namespace zeroloss::internal
