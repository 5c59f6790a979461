#include "address_space.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::app {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kBuffer = 129 * kMebibyte;           // of OpenBLAS, for each thread
constexpr std::int64_t kThread = kBuffer + 72 * kMebibyte;  // and its stack, and what malloc reserves for it
constexpr std::int64_t kWork = 16 * kMebibyte;              // least for the work itself
constexpr std::int64_t kTorch = 800 * kMebibyte;            // LibTorch and what it loads: 700 were enough

template <class Function>
Function* of_openblas(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// -1: as much as one likes.
std::int64_t limit() {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<std::int64_t>(space.rlim_cur);
}

std::int64_t used() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

/// That may multiply at the same time.
std::int64_t threads_at_work() {
  auto* pool = of_openblas<int()>("openblas_get_num_threads");
  return thread_count() + (pool == nullptr ? 1 : pool()) - 1;
}

}  // namespace

Room room_for_threads() {
  if (limit() < 0 || of_openblas<void*(int)>("blas_memory_alloc") == nullptr) return Room::all;
  const std::int64_t threads = threads_at_work(), left = limit() - used();
  if (left >= threads * kThread + kWork) return Room::all;
  return threads > 1 || left >= kBuffer + kWork ? Room::one : Room::none;
}

void reserve_buffers(int threads) {
  auto* take = of_openblas<void*(int)>("blas_memory_alloc");
  auto* give_back = of_openblas<void(void*)>("blas_memory_free");
  if (limit() < 0 || take == nullptr || give_back == nullptr) return;
  std::vector<void*> buffers;
  for (int k = 0; k < threads; ++k) buffers.push_back(take(0));
  for (void* buffer : buffers) give_back(buffer);  // they stay with the process
}

std::string no_room() {
  return fmt::format(
      "the address space is limited to {}, of which {} are in use; raise the limit (ulimit -v) to {}",
      format_bytes(static_cast<double>(limit())), format_bytes(static_cast<double>(used())),
      format_bytes(static_cast<double>(used() + kBuffer + kWork)));
}

Room room_for_torch() {
  if (limit() < 0 || limit() >= kTorch + threads_at_work() * kThread) return Room::all;
  return limit() >= kTorch + kThread ? Room::one : Room::none;
}

std::string no_room_for_torch() {
  constexpr std::int64_t kKibibyte = 1 << 10;  // the unit of ulimit -v
  return fmt::format(
      "the address space is limited to {} kB; raise the limit (ulimit -v) to {} kB for LibTorch",
      limit() / kKibibyte, (kTorch + kThread) / kKibibyte);
}

}  // namespace zeroloss::app
