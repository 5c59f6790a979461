// Tables of text.
#include "present/table.hpp"

#include <gtest/gtest.h>

namespace zeroloss::internal {
namespace {

TEST(Table, AlignsAndKeepsEveryRowOnItsLine) {
  Table table({"name", "count"});
  table.add({"a\nb\tc\r\x1b[31m", "7"});
  table.add({"Käse", "1,234"});
  EXPECT_EQ(table.rows(), 2U);
  EXPECT_EQ(table.text(" "),
            " name         count\n"
            " a b c  [31m      7\n"
            " Käse         1,234\n");
}

}  // namespace
}  // namespace zeroloss::internal
