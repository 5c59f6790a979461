#pragma once
#include <string>

namespace zeroloss::internal {

/// Throws DataError for a folder whose files are known and not read, with what makes files of them that are.
void refuse_folder(const std::string& path);

}  // namespace zeroloss::internal
