#pragma once
#include <atomic>
#include <exception>
#include <optional>

#include "zeroloss/core/matrix.hpp"

/// Loops on all threads whose bodies allocate or call what may throw. An exception that left a parallel
/// region by itself, such as std::bad_alloc, would end the process.
namespace zeroloss::internal {

/// f(own, k) for k = 0, 1, .., count - 1, where each thread has an `own` = scratch(). Throws the first
/// exception once all threads are done; what is not begun by then is left out.
template <class Scratch, class F>
void parallel_for(Index count, const Scratch& scratch, const F& f) {
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  const auto guarded = [&](const auto& work) {
    try {
      work();
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
#pragma omp parallel if (count > 1)
  {
    std::optional<decltype(scratch())> own;
    guarded([&] { own.emplace(scratch()); });
#pragma omp for schedule(dynamic) nowait
    for (Index k = 0; k < count; ++k)
      if (!failed) guarded([&] { f(*own, k); });
  }
  if (failure) std::rethrow_exception(failure);
}

/// f(k) for k = 0, 1, .., count - 1.
template <class F>
void parallel_for(Index count, const F& f) {
  struct Nothing {};
  parallel_for(
      count, [] { return Nothing(); }, [&](Nothing&, Index k) { f(k); });
}

}  // namespace zeroloss::internal
