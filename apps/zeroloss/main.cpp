#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "address_space.hpp"
#include "command.hpp"
#include "group.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/parse.hpp"

namespace {

using zeroloss::app::Room;

// How many threads a process may have that shares its machine with others of its group: processors that are
// its own already (a launcher that binds) stay so, others are divided. "" where it is alone.
std::string threads_beside_others() {
  int local = 0;
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"})
    if (const char* value = std::getenv(variable); value != nullptr && local == 0)
      local = zeroloss::leading_integer(value);
  if (local < 2) return "";
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) != 0) return "1";
  const long mine = CPU_COUNT(&own), all = sysconf(_SC_NPROCESSORS_ONLN);
  return fmt::to_string(mine < all ? mine : std::max(1L, all / local));
}

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
  const std::string share = threads_beside_others();
  set("OMP_NUM_THREADS", share);
  set("OPENBLAS_NUM_THREADS", sweep ? "1" : share);
  set("OPENBLAS_CORETYPE", zeroloss::blas_info().better_kernel);
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
  if (room == Room::one) zeroloss::app::reserve_buffers(1);
  return zeroloss::app::run_in_group({argv, argv + argc}, zeroloss::app::default_cache());
}
