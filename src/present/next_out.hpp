#pragma once
#include <filesystem>

#include "zeroloss/present/next.hpp"

namespace zeroloss::internal {

/// The first of run, run2, run3, .. that is not there; a file keeps its ending.
std::filesystem::path unused(const std::filesystem::path& name);

/// Removes an option and its value, which may be one word with it.
void leave_out(const std::string& option, std::vector<std::string>& words);

/// The words of the command that gave an answer as they are typed to give it again: `zeroloss` wherever this
/// program lies, and without --threads, on which no answer depends.
std::vector<std::string> typed_again(std::vector<std::string> words);

/// With --out and such a name, in place of the --out that it may have.
Next with_out(Next next, const char* out);

}  // namespace zeroloss::internal
