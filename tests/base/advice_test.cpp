#include "zeroloss/base/advice.hpp"

#include <gtest/gtest.h>

namespace zeroloss {
namespace {

std::string said(const std::string& message) {
  return advised(message, [](const Advice& advice) {
    return "<" + advice.name + (advice.call ? " of " : " ") + advice.value + ">";
  });
}

TEST(Advised, ReplacesOptionsAndCalls) {
  EXPECT_EQ(said("try `n=100`"), "try <n 100>");
  EXPECT_EQ(said("`max_steps`, or `flow_tolerance=1e-9`!"), "<max_steps >, or <flow_tolerance 1e-9>!");
  EXPECT_EQ(said("get it with: `fetch(mnist)`"), "get it with: <fetch of mnist>");
  EXPECT_EQ(said("`evaluate()``predict()`"), "<evaluate of ><predict of >");
  EXPECT_EQ(said("`map=R (2).npy`"), "<map R (2).npy>");
}

TEST(Advised, LeavesOtherBackticks) {
  for (const char* message :
       {"", "`", "``", "a ` b", "`My file`", "`n", "`a-b`", "`f(x`", "`f(x)y`", "`=3`", "`(x)`"})
    EXPECT_EQ(said(message), message);
  EXPECT_EQ(said("`My file.csv: try `n`"), "`My file.csv: try <n >");
}

}  // namespace
}  // namespace zeroloss
