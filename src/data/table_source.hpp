#pragma once
#include <optional>

#include "zeroloss/data/readers.hpp"

/// Tables as sources of points.
namespace zeroloss::internal {

/// The column of targets: `target` of the options, or label, target, class or y; nothing for "none".
std::optional<Index> target_of(const DataTable& table, const std::string& target);

/// The column that names the records of a table whose inputs are known: `id`, or where that is empty the
/// first that identifies records and is neither the target nor an input.
std::optional<Index> id_of(const DataTable& table, std::optional<Index> target, const Encoding& encoding,
                           const std::string& id);

/// Of a table whose inputs are known: leaves the records with missing cells out of `choice`, refuses them, or
/// says that they are filled in as `encoding` does, as `missing` says (ReadOptions). Throws as encode() does.
void treat_missing(const DataTable& table, const Encoding& encoding, const std::string& missing,
                   Choice& choice);

/// Makes this column the targets of a source of that table, in place of those that it has.
void take_target(Source& source, const DataTable& table, std::optional<Index> target,
                 const std::string& task);

/// A table as people bring it: select() decides what of it is used.
Source source_of(DataTable table, const ReadOptions& options);

/// A table of numbers as it is, for a named set.
Source plain_source_of(DataTable table, const ReadOptions& options);

}  // namespace zeroloss::internal
