#pragma once
#include <gtest/gtest.h>

#include <string>

#include "zeroloss/images/images.hpp"

namespace zeroloss::test {

/// Folder of stored files.
inline const std::string kImages = std::string(ZEROLOSS_TEST_FILES) + "/images/";

inline void expect_equal(const Image& a, const Image& b) {
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.pixels, b.pixels);
}

}  // namespace zeroloss::test
