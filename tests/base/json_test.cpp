#include "base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

using Native = nlohmann::ordered_json;

TEST(Json, ListsOfPairsAreObjects) {
  const Json json{{"a", 1}, {"b", {1.5, true, nullptr}}, {"c", {{"d", "e"}}}, {"f", Json::object()}};
  EXPECT_EQ(json.dump(), R"({"a":1,"b":[1.5,true,null],"c":{"d":"e"},"f":{}})");
  EXPECT_EQ(json.dump(1), Native::parse(json.dump()).dump(1));
  EXPECT_EQ(Json({{{"a", 1}}}).dump(), R"([{"a":1}])");
  EXPECT_EQ(Json(std::vector<std::vector<int>>{{1}, {}}).dump(), "[[1],[]]");
  EXPECT_EQ(Json(std::optional<double>()).dump(), "null");
}

TEST(Json, GrowsByKeysAndItems) {
  Json json;
  json["z"]["y"] = 1;
  json["x"].push_back(2);
  json["z"]["y"] = 3;
  EXPECT_EQ(json.dump(), R"({"z":{"y":3},"x":[2]})");
  EXPECT_THROW(json.push_back(1), JsonError);
  EXPECT_THROW(json["x"]["a"], JsonError);
}

TEST(Json, NumbersAreThoseOfTheOtherLibrary) {
  Random random(1, Stream::noise);
  for (int k = 0; k < 2000; ++k) {
    const double x =
        std::ldexp(static_cast<double>(random.below(1'000'000)), static_cast<int>(random.below(300)) - 150);
    EXPECT_EQ(Json(x).dump(), Native(x).dump());
    EXPECT_EQ(Json::parse(Json(x).dump()).as<double>(), x);
  }
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(-1).dump(), "-1");
  EXPECT_EQ(Json(5.0).dump(), "5.0");
  EXPECT_EQ(Json(INFINITY).dump(), "null");
}

TEST(Json, ReadsWhatIsThereAndSaysWhatIsNot) {
  const Json json = Json::parse(R"({"a": [1, -2], "b": 2.5, "c": "x", "d": false, "e": null})");
  EXPECT_EQ(json.at("a").list<std::int64_t>(), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(json.at("b").as<double>(), 2.5);
  EXPECT_EQ(json.at("c").as<std::string>(), "x");
  EXPECT_FALSE(json.at("d").as<bool>());
  EXPECT_TRUE(json.at("e").is_null());
  EXPECT_EQ(json.find("f"), nullptr);
  EXPECT_THROW(json.at("f"), JsonError);
  EXPECT_THROW(json.at("a").list<std::uint64_t>(), JsonError);
  EXPECT_THROW(json.at("b").as<std::int64_t>(), JsonError);
  EXPECT_THROW(json.at("c").as<double>(), JsonError);
  EXPECT_THROW(json.at("d").at("x"), JsonError);
  for (const char* bad : {"", "{", "[1] 2", "{\"a\":1,\"a\":2}", "\"\xFF\""})
    EXPECT_THROW(Json::parse(bad), JsonError) << bad;
  EXPECT_NO_THROW(Json::parse("[[1]]", 2));
  EXPECT_THROW(Json::parse("[[[1]]]", 1), JsonError);
}

// All sequences of three bytes with a few to follow, against the other library's decoder.
TEST(Json, Utf8IsWhatTheOtherLibraryWrites) {
  const auto written = [](const std::string& text) {
    try {
      (void)Native(text).dump();
      return true;
    } catch (const Native::exception&) {
      return false;
    }
  };
  for (int first = 0x7E; first < 256; ++first)
    for (const int second : {0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0})
      for (const char* rest : {"", "\x80", "\xBF", "a", "\x80\x80", "\x80\x80\x80", "\xC3\xA9"}) {
        const std::string text = std::string(1, static_cast<char>(first)) + static_cast<char>(second) + rest;
        EXPECT_EQ(is_utf8(text), written(text)) << Json(text).dump();
      }
  EXPECT_EQ(Json("a\xFF").dump(), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace zeroloss::internal
