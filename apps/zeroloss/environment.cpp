#include <cstdlib>

#include "command.hpp"

namespace zeroloss::app {

std::string default_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/zeroloss";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/zeroloss";
}

}  // namespace zeroloss::app
