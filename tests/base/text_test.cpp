#include "zeroloss/base/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "support/number.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

TEST(Text, RoundsAsAsked) {
  EXPECT_EQ(decimal(0.0601209678548, 6, Rounding::down), "0.0601209");
  EXPECT_EQ(decimal(0.0601209678548, 6), "0.060121");
  EXPECT_EQ(decimal(5.637e18, 2, Rounding::up), "5.7e+18");
  EXPECT_EQ(decimal(5.637e18, 2, Rounding::down), "5.6e+18");
  EXPECT_EQ(decimal(9.99e-7, 2, Rounding::up), "1e-06");
  EXPECT_EQ(decimal(1e-6, 2, Rounding::down), "1e-06");
  EXPECT_EQ(decimal(-1.26, 2, Rounding::up), "-1.2");
  EXPECT_EQ(decimal(0, 3, Rounding::up), "0");
  EXPECT_EQ(decimal(HUGE_VAL, 3, Rounding::down), "inf");
}

TEST(Text, ShellsReadWordsBack) {
  EXPECT_EQ(shell_command({"zeroloss", "fit", "my data.csv", "--classes", "it's,b", ""}),
            "zeroloss fit 'my data.csv' --classes 'it'\\''s,b' ''");
  EXPECT_EQ(shell_word("sphere:n=10,d=2"), "sphere:n=10,d=2");
  EXPECT_EQ(shell_word("~x"), "'~x'");
}

TEST(Text, CommasEveryThreeDigits) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(-999), "-999");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-100000), "-100,000");
}

TEST(Text, OtherEncodingsBecomeUtf8) {
  EXPECT_EQ(utf8("gr\xC3\xBCn"), "gr\xC3\xBCn");
  EXPECT_EQ(utf8("gr\xFCn \xA4"), "gr\xC3\xBCn \xC2\xA4");
}

TEST(Text, ExcerptsAreShortAndHarmless) {
  EXPECT_EQ(excerpt("gr\xC3\xBCn it's"), "gr\xC3\xBCn it's");
  EXPECT_EQ(excerpt(std::string("a\n\t\x1B[31m\0b\x7F", 11)), "a\\n\\t\\x1B[31m\\x00b\\x7F");
  EXPECT_EQ(excerpt("\xFF\xC2\x9B"), "\\xFF\\xC2\\x9B");  // U+009B begins commands to terminals too
  EXPECT_EQ(printable(std::string("a\n\t\x1B[31m\0b\x7F", 11)), "a\n\t\\x1B[31m\\x00b\\x7F");
  EXPECT_EQ(printable("gr\xC3\xBCn \xFF\xC2\x9B"), "gr\xC3\xBCn \\xFF\\xC2\\x9B");
  EXPECT_EQ(printable(std::string(200, 'x')), std::string(200, 'x'));
  EXPECT_EQ(excerpt(std::string(80, 'x')), std::string(80, 'x'));
  EXPECT_EQ(excerpt(std::string(81, 'x')), std::string(80, 'x') + "..");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xC3\xBC";
  EXPECT_EQ(excerpt(umlauts), umlauts.substr(0, 160) + "..");
}

TEST(Text, IsOnTheAskedSideAndWithinOneUnit) {
  Random random(1, Stream::points);
  for (int trial = 0; trial < 20000; ++trial) {
    const double x = std::pow(10.0, 600 * random.uniform() - 300) * (random.below(2) == 0 ? 1 : -1);
    const int digits = 1 + static_cast<int>(random.below(8));
    const double down = test::number(decimal(x, digits, Rounding::down));
    const double up = test::number(decimal(x, digits, Rounding::up));
    const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) + 1 - digits);
    ASSERT_LE(down, x);
    ASSERT_GE(up, x);
    ASSERT_LE(up - down, unit * 1.001);
  }
}

}  // namespace
}  // namespace zeroloss
