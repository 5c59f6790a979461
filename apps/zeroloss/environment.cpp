#include <algorithm>
#include <cstdlib>

#include "command.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss::app {

std::string default_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/zeroloss";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/zeroloss";
}

// What srun tells of a whole allocation is not about this process: a step's own number is.
int launched_processes() {
  int most = 0;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* value = std::getenv(variable); value != nullptr)
      most = std::max(most, leading_integer(value));
  return most;
}

}  // namespace zeroloss::app
