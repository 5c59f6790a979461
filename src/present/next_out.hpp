#pragma once
#include <filesystem>

#include "zeroloss/present/next.hpp"

namespace zeroloss::internal {

/// The first of run, run2, run3, .. that is not there; a file keeps its ending.
std::filesystem::path unused(const std::filesystem::path& name);

/// With --out and such a name.
Next with_out(Next next, const char* out);

}  // namespace zeroloss::internal
