#include "zeroloss/base/threads.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <stdexcept>

namespace zeroloss {
namespace {

TEST(Threads, AreThoseOfOpenMP) {
  const int before = set_thread_count(3);
  EXPECT_EQ(thread_count(), 3);
  EXPECT_EQ(omp_get_max_threads(), 3);
  EXPECT_EQ(set_thread_count(before), 3);
  EXPECT_THROW(set_thread_count(0), std::invalid_argument);
}

TEST(Threads, SmallWorkRunsOnOneUntilItEnds) {
  const int before = set_thread_count(3);
  {
    const Threads large(1e9);
    EXPECT_EQ(thread_count(), 3);
    const Threads small(1e3);
    EXPECT_EQ(thread_count(), 1);
    const Threads inner(1e9);
    EXPECT_EQ(thread_count(), 1);
  }
  EXPECT_EQ(thread_count(), 3);
  set_thread_count(before);
}

}  // namespace
}  // namespace zeroloss
