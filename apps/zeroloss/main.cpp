#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "address_space.hpp"
#include "command.hpp"
#include "zeroloss/core/blas.hpp"

namespace {

using zeroloss::app::Room;

// OpenBLAS chooses its kernels while it is loaded, from a table of processors; a newer one gets kernels
// several times too slow. It starts its threads then too, which spin for some 20 ms before they sleep; a
// sweep, whose trials are its threads, has no use for them. OpenMP reads then how its threads wait: those
// that spin hold the processor that another program, or the thread they wait for, could use. So the program
// starts again with threads that sleep, with the kernels that its vector instructions allow, for a sweep
// without threads of OpenBLAS, and where there is room for one thread only with one.
void restart_with_better_blas(int argc, char** argv, Room room) {
  bool changed = false;
  const auto set = [&](const char* variable, const std::string& value, bool whatever_is_set = false) {
    const char* before = std::getenv(variable);
    if (!value.empty() && (before == nullptr || (whatever_is_set && value != before)))
      changed |= setenv(variable, value.c_str(), 1) == 0;
  };
  const bool sweep = argc > 1 && std::string_view(argv[1]) == "sweep";
  if (room != Room::all)
    for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) set(threads, "1", true);
  set("OPENBLAS_CORETYPE", zeroloss::blas_info().better_kernel);
  set("OPENBLAS_NUM_THREADS", sweep ? "1" : "");
  set("OMP_WAIT_POLICY", "passive");
  set("OPENBLAS_THREAD_TIMEOUT", "4");
  if (changed) execv("/proc/self/exe", argv);
  // It returns only where that is not possible: slower, but right.
}

}  // namespace

int main(int argc, char** argv) {
  const Room room = zeroloss::app::room_for_threads();
  restart_with_better_blas(argc, argv, room);
  if (room == Room::none) {
    zeroloss::app::tell("zeroloss: " + std::string(zeroloss::app::no_room()) + "\n");
    _exit(zeroloss::app::kMissing);  // threads that wait for memory would never be done
  }
  if (room == Room::one) zeroloss::app::reserve_buffer();
  return zeroloss::app::run({argv, argv + argc}, zeroloss::app::default_cache());
}
