#pragma once
#include <cstdint>
#include <string>

namespace zeroloss {

std::int64_t available_memory_bytes();   ///< what can be allocated without swapping (MemAvailable, limits of
                                         ///< control groups, ulimit -v); huge where unknown
std::int64_t peak_memory_bytes();        ///< largest resident size of this process so far
std::string format_bytes(double bytes);  ///< "14.4 GB" (10^9)

/// Throws ResourceError "WHAT needs 14.4 GB, 11.2 GB free; HINT" if `bytes` exceeds what is available.
void require_memory(double bytes, const std::string& what, const std::string& hint);

}  // namespace zeroloss
