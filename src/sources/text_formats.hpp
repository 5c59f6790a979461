#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sources/bytes.hpp"
#include "zeroloss/sources/readers.hpp"
#include "zeroloss/tables/table.hpp"

/// Text files that are no csv. What they are shows in their first lines.
namespace zeroloss::internal {

/// The first lines that are neither blank nor comments of # or %, without blanks around: 50 at most.
std::vector<std::string> first_lines_of(const Bytes& bytes);

/// Weka's ARFF: @relation, @attribute .. and @data, dense or sparse.
/// https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/
bool is_arff(const std::vector<std::string>& first_lines);
/// Its attributes as columns; those with a list of values are categories. Throws DataError naming the line.
DataTable read_arff(const Bytes& bytes);

/// The format of svmlight and LIBSVM: `label index:value ..`, perhaps with qid:.. and comments. `called_so`:
/// the file's name says that it is.
bool is_svmlight(const std::vector<std::string>& first_lines, bool called_so);
/// Points with a number for each index up to the largest, 0 where it is not written; qid is left out.
/// Throws DataError naming the line.
Source read_svmlight(const Bytes& bytes);

/// sktime's .ts: lines that begin with @, then series of numbers with colons between, the class behind them.
bool is_time_series(const std::vector<std::string>& first_lines);
/// A column for each number, dimension after dimension, and the column `class`. Shorter series have missing
/// cells at their end. Throws DataError naming the line.
DataTable read_time_series(const Bytes& bytes);

}  // namespace zeroloss::internal
