#include "base/parallel_for.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

namespace zeroloss::internal {
namespace {

TEST(ParallelFor, CallsEachOnce) {
  for (const Index count : {0, 1, 2, 1000}) {
    std::vector<int> called(static_cast<std::size_t>(count));
    parallel_for(count, [&](Index k) { ++called[static_cast<std::size_t>(k)]; });
    EXPECT_TRUE(std::ranges::all_of(called, [](int times) { return times == 1; })) << count;
    parallel_for(
        count, [] { return std::vector<Index>(3); },
        [&](std::vector<Index>& own, Index k) {
          own[0] = k;
          called[static_cast<std::size_t>(own[0])] += static_cast<int>(own.size());
        });
    EXPECT_TRUE(std::ranges::all_of(called, [](int times) { return times == 4; })) << count;
  }
}

TEST(ParallelFor, WhatIsThrownArrives) {
  EXPECT_THROW(parallel_for(100,
                            [](Index k) {
                              if (k % 7 == 3) throw std::bad_alloc();
                            }),
               std::bad_alloc);
  EXPECT_THROW(parallel_for(1, [](Index) { throw std::invalid_argument("alone"); }), std::invalid_argument);
  for (int round = 0; round < 100; ++round) {
    try {
      parallel_for(64, [](Index k) {
        if (k >= 5) throw k;
      });
      FAIL() << "nothing was thrown";
    } catch (Index k) {
      EXPECT_EQ(k, 5) << "the least";
    }
  }
  bool called = false;
  EXPECT_THROW(
      parallel_for(
          100, []() -> int { throw std::length_error("no room"); }, [&](int, Index) { called = true; }),
      std::length_error);
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace zeroloss::internal
