#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "command.hpp"
#include "zeroloss/core/blas.hpp"

namespace {

// The only place that reads the environment.
std::string default_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/zeroloss";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/zeroloss";
}

// OpenBLAS chooses its kernels while it is loaded, from a table of processors; a newer one gets kernels
// several times too slow. It starts its threads then too, which spin for some 20 ms before they sleep; a
// sweep, whose trials are its threads, has no use for them. So the program starts again with the kernels that
// its vector instructions allow, and for a sweep without such threads.
void restart_with_better_blas(int argc, char** argv) {
  bool changed = false;
  const auto set = [&](const char* variable, const std::string& value) {
    if (!value.empty() && std::getenv(variable) == nullptr)
      changed |= setenv(variable, value.c_str(), 0) == 0;
  };
  const bool sweep = argc > 1 && std::string_view(argv[1]) == "sweep";
  set("OPENBLAS_CORETYPE", zeroloss::blas_info().better_kernel);
  set("OPENBLAS_NUM_THREADS", sweep ? "1" : "");
  if (changed) execv("/proc/self/exe", argv);
  // It returns only where that is not possible: slower, but right.
}

}  // namespace

int main(int argc, char** argv) {
  restart_with_better_blas(argc, argv);
  return zeroloss::app::run({argv, argv + argc}, default_cache());
}
