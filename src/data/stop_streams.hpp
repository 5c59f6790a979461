#pragma once
#include <atomic>

#include "zeroloss/data/stop_streams.hpp"

namespace zeroloss::internal {

/// What stop_streams() was told.
const std::atomic<bool>* streams_stop();

}  // namespace zeroloss::internal
