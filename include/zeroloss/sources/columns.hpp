#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zeroloss/sources/readers.hpp"

/// What there is to know of the columns of a table before one of them is the target.
namespace zeroloss {

/// What a column is for: a number of the points (feature) or a category of them, one that says nothing
/// (constant), the names of the samples (id), the targets, or nothing, as it was asked (left_out).
enum class ColumnRole { feature, category, constant, id, target, left_out };
std::string name(ColumnRole role);  ///< as it is spelled here, _ as a space

struct ColumnFacts {
  Index place = 0;  ///< its 0-based number in the file
  std::string name{};
  CellKind is = CellKind::number;
  ColumnRole role = ColumnRole::feature;
  Index missing = 0;                          ///< cells
  Index distinct = 0;                         ///< values
  double least = 0, greatest = 0;             ///< value; 0 of texts
  std::string least_cell{}, greatest_cell{};  ///< the same as they are written; empty of texts
  std::vector<std::pair<std::string, Index>>
      frequent{};  ///< texts, truths: at most three, most frequent first
};

struct TableFacts {
  std::vector<ColumnFacts> columns{};
  /// What to say as `target` for a last column that looks like classes: a word, a truth value or few
  /// integers, in a table without a target.
  std::optional<std::string> proposed{};
};

/// Of a source with a table, which `data` was selected from with these options; nothing of others.
std::optional<TableFacts> describe_columns(const Source& source, const Dataset& data,
                                           const ReadOptions& options);

}  // namespace zeroloss
