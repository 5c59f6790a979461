#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/subprocess.hpp"

/// The zeroloss command from end to end, with arguments as people type them.
namespace zeroloss::test {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

/// `arguments`, and then `more`.
Arguments with(Arguments arguments, const Arguments& more);

/// Runs the command.
Outcome zeroloss(const Arguments& arguments, const RunOptions& options = {});

/// The object that it prints with `--json` added. The test fails unless it ends with `exit_code`, says
/// nothing on stderr when that is 0, and prints JSON.
Json answer(const Arguments& arguments, int exit_code = 0, const RunOptions& options = {});

/// The test fails unless it ends with `exit_code`, prints nothing on stdout, and every one of `texts` on
/// stderr.
void refused(const Arguments& arguments, const std::vector<std::string>& texts, int exit_code = 2,
             const RunOptions& options = {});

/// What a file of a run folder holds.
Json json_of(const std::filesystem::path& file);

/// The keys of an object.
std::set<std::string> keys(const Json& object);

}  // namespace zeroloss::test
