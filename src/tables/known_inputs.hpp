#pragma once
#include <optional>
#include <string>

#include "zeroloss/tables/table.hpp"

/// Tables whose inputs are known, such as those that a trained network asks for.
namespace zeroloss::internal {

/// The column that names the records of a table whose inputs are known: `id`, or where that is empty the
/// first that identifies records and is neither the target nor an input.
std::optional<Index> id_of(const DataTable& table, std::optional<Index> target, const Encoding& encoding,
                           const std::string& id);

/// Of a table whose inputs are known: leaves the records with missing cells out of `choice`, refuses them, or
/// says that they are filled in as `encoding` does, as `missing` says (ReadOptions); those of a category that
/// is not known are missing if asked. Throws as encode() does.
void treat_missing(const DataTable& table, const Encoding& encoding, const std::string& missing,
                   bool unknown_is_missing, Choice& choice);

}  // namespace zeroloss::internal
