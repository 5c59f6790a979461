#pragma once
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/base/threads.hpp"

/// Loops on all threads whose bodies allocate or call what may throw. An exception that left a parallel
/// region by itself, such as std::bad_alloc, would end the process.
namespace zeroloss::internal {

/// f(own, k) for k = 0, 1, .., count - 1, where each thread has an `own` = scratch(). Throws once all threads
/// are done, and what one of them would: the exception of the least k. What comes behind it may be left out.
template <class Scratch, class F>
void parallel_for(Index count, const Scratch& scratch, const F& f) {
  std::exception_ptr failure;
  std::mutex failing;
  std::atomic<Index> failed = count;
  const auto guarded = [&](Index k, const auto& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(failing);
      if (k >= failed) return;
      failed = k;
      failure = std::current_exception();
    }
  };
#pragma omp parallel if (count > 1)
  {
    std::optional<decltype(scratch())> own;
    guarded(-1, [&] { own.emplace(scratch()); });
#pragma omp for schedule(dynamic) nowait
    for (Index k = 0; k < count; ++k)
      if (k < failed) guarded(k, [&] { f(*own, k); });
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

/// The same, some at a time; `progress` advances by 1 for each, between them. Throws Interrupted too.
template <class F>
void parallel_for(Index count, Progress& progress, const F& f) {
  for (Index begin = 0; begin < count;) {
    const Index end = std::min<Index>(count, begin + 4 * thread_count());
    parallel_for(end - begin, [&](Index k) { f(begin + k); });
    progress.advance(static_cast<double>(end - begin));
    begin = end;
  }
}

}  // namespace zeroloss::internal
