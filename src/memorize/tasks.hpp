#pragma once
#include <algorithm>
#include <chrono>

#include "base/parallel_for.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {

/// work(t) for t = 0, 1, .., tasks - 1, on all threads, in batches that grow to about a tenth of a second:
/// between them `progress` advances by `amount` a task, and after(begin, end) says whether to go on. What the
/// tasks compute must not depend on one another: the batches depend on time.
template <class Work, class After>
void in_batches(Index tasks, double amount, Progress& progress, const Work& work, const After& after) {
  using Clock = std::chrono::steady_clock;
  Index size = thread_count();
  for (Index begin = 0, end = 0; begin < tasks; begin = end) {
    const auto began = Clock::now();
    end = std::min(tasks, begin + size);
    parallel_for(end - begin, [&](Index k) { work(begin + k); });
    if (!after(begin, end)) return;
    progress.advance(amount * static_cast<double>(end - begin));
    if (Clock::now() - began < std::chrono::milliseconds(50)) size *= 2;
  }
}

}  // namespace zeroloss::internal
