#include <cstdlib>

#include "command.hpp"

/// OpenMP and OpenBLAS read how their threads wait while they are loaded. Threads that spin hold the
/// processor that another program, or the thread they wait for, could use: beside a busy process small work
/// took fifty times as long. So this runs before either is loaded.
namespace zeroloss::app {
namespace {

struct Setting {
  const char *name, *value;
  bool ours;
};
Setting settings[] = {{"OMP_WAIT_POLICY", "passive", false}, {"OPENBLAS_THREAD_TIMEOUT", "4", false}};

void wait_asleep() {
  for (Setting& setting : settings)
    if (std::getenv(setting.name) == nullptr) setting.ours = setenv(setting.name, setting.value, 0) == 0;
}

// What the loader calls in a program before it initialises any library.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)() = wait_asleep;

}  // namespace

void forget_waiting() {
  for (const Setting& setting : settings)
    if (setting.ours) unsetenv(setting.name);
}

}  // namespace zeroloss::app
