// Options of a few words: what the fields say is what is checked.
#include "base/choices.hpp"

#include <gtest/gtest.h>

namespace zeroloss::test {
using namespace internal;
namespace {

struct Some {
  std::string any = "anything", side = "left", size = "s";
  int n = 0;
};
template <Is<Some> T, class Visitor>
void fields(T& s, const Visitor& visit) {
  visit(Field{"any"}, s.any);
  visit(Field{"side"}.of("left|right"), s.side);
  visit(Field{"size"}.of("s|m|xl"), s.size);
  visit(Field{"n"}.of("1|2"), s.n);
}

std::string refusal(const Some& some) {
  try {
    check_choices("try", some);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Choices, AreThoseOfTheFields) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.side = "right", .size = "xl"}), "");
  EXPECT_EQ(refusal({.side = "up", .size = "l"}), "try: side must be one of left, right; got \"up\"");
  for (const char* wrong : {"l", "x", "", "s|m", "xl ", "|"})
    EXPECT_EQ(refusal({.size = wrong}),
              std::string("try: size must be one of s, m, xl; got \"") + wrong + "\"");
}

}  // namespace
}  // namespace zeroloss::test
