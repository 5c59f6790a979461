#include "zeroloss/base/parse.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <locale.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "support/floats.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

using internal::Json;

using test::kInf;

TEST(Parse, NumbersAreReadWhole) {
  for (const auto& [text, value] :
       std::initializer_list<std::pair<const char*, double>>{{"0.5", 0.5},
                                                             {"+.5", 0.5},
                                                             {" \t-5.", -5},
                                                             {"1e3", 1000},
                                                             {"1E+3", 1000},
                                                             {"007", 7},
                                                             {"inf", kInf},
                                                             {"-Infinity", -kInf},
                                                             {"1e400", kInf},
                                                             {"-1e400", -kInf},
                                                             {"1e99999999999999999999", kInf},
                                                             {"1e-99999999999999999999", 0},
                                                             {"1e-400", 0},
                                                             {"0.000001e-400", 0},
                                                             {"1000000e-400", 0},
                                                             {"0.000001e400", kInf},
                                                             {"2e-324", 0},
                                                             {"5e-324", 0x1p-1074},
                                                             {"0e99999", 0}})
    EXPECT_EQ(parsed_number(text), value) << text;
  EXPECT_TRUE(std::signbit(*parsed_number("-1e-400")));
  EXPECT_TRUE(std::isnan(*parsed_number("nan")));
  for (const char* text :
       {"", " ", "+", "-", ".", "e5", "1e", "1,5", "1.5 ", "1.2.3", "++1", "+-1", "0x10", "five"})
    EXPECT_EQ(parsed_number(text), std::nullopt) << text;
}

TEST(Parse, NumbersAreThoseOfTheCLocale) {
  const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
  Random random(1, Stream::points);
  for (int trial = 0; trial < 20'000; ++trial) {
    const auto digits = random.below(1'000'000'000'000), point = random.below(13);
    std::string text = fmt::format("{:012}e{}", digits, static_cast<int>(random.below(700)) - 350);
    text.insert(point, ".");
    EXPECT_EQ(parsed_number(text), strtod_l(text.c_str(), nullptr, c)) << text;
  }
  freelocale(c);
}

TEST(Parse, IntegersAreDigitsAlone) {
  EXPECT_EQ(parsed_integer<int>("-12"), -12);
  EXPECT_EQ(parsed_integer<std::uint64_t>("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"", "+1", " 1", "1 ", "1.0", "0x1", "2147483648"})
    EXPECT_EQ(parsed_integer<int>(text), std::nullopt) << text;
  EXPECT_EQ(leading_integer("4(x2)"), 4);
  EXPECT_EQ(leading_integer("x"), 0);
}

TEST(Parse, LettersAreThoseOfAscii) {
  EXPECT_EQ(internal::lowered("INF \xC3\x84z"), "inf \xC3\x84z");
  EXPECT_EQ(internal::words_of(" a\tbc \n d"), (std::vector<std::string_view>{"a", "bc", "d"}));
  EXPECT_TRUE(internal::words_of(" ").empty());
}

// The other library reads numbers as a locale has them.
TEST(Parse, NumbersOfJsonAreReadInEveryLocale) {
  const auto expect_same = [] {
    EXPECT_EQ(Json::parse("[0.5, -1.25e-3, 1e2]").list<double>(), (std::vector<double>{0.5, -1.25e-3, 1e2}));
    EXPECT_THROW(Json::parse("1e400"), internal::JsonError);
    EXPECT_EQ(Json(0.1).dump(), "0.1");
  };
  expect_same();
  // U+066B, of two bytes.
  if (const locale_t other = newlocale(LC_ALL_MASK, "ps_AF.UTF-8", nullptr); other != nullptr) {
    const locale_t before = uselocale(other);
    expect_same();
    uselocale(before);
    freelocale(other);
  }
}

}  // namespace
}  // namespace zeroloss
