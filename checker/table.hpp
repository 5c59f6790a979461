#pragma once

#include <string>

#include "folder.hpp"

namespace check {

// Whether the columns of every array of points are columns of this csv file. Throws Unreadable where one is
// not.
void expect_table(const Folder& folder, const std::string& file);

}  // namespace check
