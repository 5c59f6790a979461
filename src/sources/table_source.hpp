#pragma once
#include <optional>

#include "tables/known_inputs.hpp"
#include "zeroloss/sources/readers.hpp"

/// Tables as sources of points.
namespace zeroloss::internal {

/// The column of targets: `target` of the options, or label, target, class or y; nothing for "none".
std::optional<Index> target_of(const DataTable& table, const std::string& target);

/// Makes this column the targets of a source of that table, in place of those that it has.
void take_target(Source& source, const DataTable& table, std::optional<Index> target,
                 const std::string& task);

/// A table as people bring it: select() decides what of it is used.
Source source_of(DataTable table, const ReadOptions& options);

/// A table of numbers as it is, for a named set.
Source plain_source_of(DataTable table, const ReadOptions& options);

}  // namespace zeroloss::internal
