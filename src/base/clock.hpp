#pragma once
#include <chrono>

/// Time that passes, whatever is done to the date.
namespace zeroloss::internal {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

}  // namespace zeroloss::internal
