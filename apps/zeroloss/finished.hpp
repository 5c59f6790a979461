#pragma once
#include <optional>
#include <string>

namespace zeroloss::app {

/// For --resume: if the run in folder `out` is finished, says so (with `json` prints its result) and returns
/// its status, so that there is nothing to do.
std::optional<std::string> say_finished(const std::string& out, bool json);

}  // namespace zeroloss::app
