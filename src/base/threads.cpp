#include "zeroloss/base/threads.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <stdexcept>

namespace zeroloss {
namespace {

/// Some 0.2 ms of one thread; to wake another takes up to 0.05 ms.
constexpr double kWorthwhile = 2e6;

}  // namespace

int thread_count() { return omp_get_max_threads(); }

int set_thread_count(int count) {
  if (count < 1) throw std::invalid_argument(fmt::format("threads must be >= 1; got {}", count));
  const int before = thread_count();
  omp_set_num_threads(count);
  return before;
}

Threads::Threads(double multiply_adds) : before_(thread_count()) {
  if (multiply_adds >= kWorthwhile) return;
  omp_set_num_threads(1);
  serial_.emplace();
}

Threads::~Threads() { omp_set_num_threads(before_); }

}  // namespace zeroloss
