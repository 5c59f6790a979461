#pragma once
#include <atomic>

#include "zeroloss/base/progress.hpp"

namespace zeroloss::app {

/// Draws one line on stderr, a terminal: what the work reports, and while it reports nothing, after a second,
/// the name of the stage and how long it has lasted.
Progress progress_on_terminal(const std::atomic<bool>& cancelled);

}  // namespace zeroloss::app
