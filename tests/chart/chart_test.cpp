#include "zeroloss/chart/chart.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/floats.hpp"

namespace zeroloss {
namespace {

using test::kInf;
using test::kNan;

nlohmann::json values(const std::string& chart) {
  return nlohmann::json::parse(chart).at("data").at("values");
}

TEST(LineChart, IsAVegaLiteSpecificationWithItsData) {
  const nlohmann::json spec = nlohmann::json::parse(
      line_chart("A \"title\"\n", {"step", true}, {"misfit"}, {{"a", {1, 2}, {0.5, 0.25}, {}}}));
  EXPECT_EQ(spec.at("$schema"), "https://vega.github.io/schema/vega-lite/v5.json");
  EXPECT_EQ(spec.at("title").at("text"), "A \"title\"\n");
  EXPECT_EQ(spec.at("data").at("values"),
            nlohmann::json::parse(R"([{"curve":"a","x":1,"y":0.5},{"curve":"a","x":2,"y":0.25}])"));
  EXPECT_EQ(spec.at("encoding").at("x").at("title"), "step");
  EXPECT_EQ(spec.at("encoding").at("x").at("scale").at("type"), "log");
  EXPECT_FALSE(spec.at("layer").at(0).at("encoding").at("y").at("scale").contains("type"));
}

TEST(LineChart, LeavesOutPointsThatAreNotFinite) {
  const nlohmann::json points =
      values(line_chart("", {"x"}, {"y"}, {{"a", {0, 1, 2, kNan, -kInf, 5}, {0, kNan, kInf, 3, 4, -5}, {}}}));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].at("x"), 0);
  EXPECT_EQ(points[1].at("y"), -5);
}

TEST(LineChart, LeavesOutPointsThatALogAxisCannotShow) {
  const Curve curve{"a", {-1, 0, 1, 2}, {1, 1, 1, 0}, {}};
  EXPECT_EQ(values(line_chart("", {"x", true}, {"y"}, {curve})).size(), 2u);
  EXPECT_EQ(values(line_chart("", {"x"}, {"y", true}, {curve})).size(), 3u);
  EXPECT_EQ(values(line_chart("", {"x", true}, {"y", true}, {curve})).size(), 1u);
}

TEST(LineChart, DrawsTheBandWhereTheAxisAllowsIt) {
  const nlohmann::json spec =
      nlohmann::json::parse(line_chart("", {"x"}, {"y", true}, {{"a", {1, 2}, {4, 4}, {1, 5}}}));
  const nlohmann::json points = spec.at("data").at("values");
  EXPECT_EQ(points[0].at("low"), 3);
  EXPECT_EQ(points[0].at("high"), 5);
  EXPECT_FALSE(points[1].contains("low"));
  EXPECT_EQ(spec.at("layer").size(), 2u);
}

TEST(LineChart, NamesItsCurvesOnlyIfThereAreSeveral) {
  const auto colour = [](const std::vector<Curve>& curves) {
    return nlohmann::json::parse(line_chart("", {"x"}, {"y"}, curves)).at("encoding").at("color");
  };
  EXPECT_TRUE(colour({{"a", {1}, {1}, {}}}).at("legend").is_null());
  EXPECT_EQ(colour({{"a", {1}, {1}, {}}, {"b", {1}, {2}, {}}}).at("legend").at("symbolType"), "stroke");
}

// A line alone has one tooltip, that of its first point.
TEST(LineChart, HasAPointForThePointerAtEveryValue) {
  const nlohmann::json mark = nlohmann::json::parse(line_chart("", {"x"}, {"y"}, {{"a", {1, 2}, {3, 4}, {}}}))
                                  .at("layer")
                                  .at(0)
                                  .at("mark");
  EXPECT_EQ(mark.at("type"), "line");
  EXPECT_EQ(mark.at("point").at("opacity"), 0);
  EXPECT_EQ(mark.at("tooltip"), true);
}

TEST(LineChart, ACurveOfOnePointIsADot) {
  const nlohmann::json spec =
      nlohmann::json::parse(line_chart("", {"x"}, {"y"}, {{"a", {1}, {3}, {}}, {"b", {1, 2}, {3, 4}, {}}}));
  const nlohmann::json& dots = spec.at("layer").at(1);
  EXPECT_EQ(dots.at("mark").at("type"), "point");
  EXPECT_EQ(dots.at("transform").at(0).at("filter"), "datum.lone");
  const nlohmann::json& values = spec.at("data").at("values");
  EXPECT_EQ(values.at(0).at("lone"), true);
  EXPECT_FALSE(values.at(1).contains("lone"));
  EXPECT_EQ(
      nlohmann::json::parse(line_chart("", {"x"}, {"y"}, {{"b", {1, 2}, {3, 4}, {}}})).at("layer").size(),
      1U);
}

TEST(LineChart, EndsWhereItsDataEnd) {
  const nlohmann::json encoding =
      nlohmann::json::parse(line_chart("", {"x", true}, {"y"}, {{"a", {1, 7}, {3, 4}, {}}})).at("encoding");
  EXPECT_EQ(encoding.at("x").at("scale"), nlohmann::json({{"type", "log"}, {"nice", false}}));
}

// Evenly along the axis as it is drawn: on a log axis the first steps of many stay.
TEST(LineChart, LongCurvesAreThinned) {
  Curve curve{"a", {}, {}, {}};
  for (int i = 1; i <= 100000; ++i) curve.x.push_back(i), curve.y.push_back(2.0 * i);
  for (const bool log : {false, true}) {
    const nlohmann::json points =
        values(line_chart("", {"x", log}, {"y"}, {curve, {"short", {1, 2}, {3, 4}, {}}}));
    std::vector<double> x;
    for (const nlohmann::json& point : points)
      if (point.at("curve") == "a") x.push_back(point.at("x"));
    EXPECT_LE(x.size(), 1002u);
    EXPECT_GE(x.size(), log ? 600u : 1000u);  // 1 to 100 are all there are of the first two fifths
    EXPECT_EQ(points.size(), x.size() + 2);
    EXPECT_EQ(x.front(), 1);
    EXPECT_EQ(x.back(), 100000);
    for (std::size_t i = 1; i < x.size(); ++i)
      EXPECT_LE(log ? std::log(x[i] / x[i - 1]) : x[i] - x[i - 1],
                log ? std::max(std::log(x[i] / (x[i] - 1)), 2 * std::log(1e5) / 1000) : 200);
  }
  curve.x.resize(1000), curve.y.resize(1000);
  EXPECT_EQ(values(line_chart("", {"x"}, {"y"}, {curve})).size(), 1000u);
  curve = {"a", std::vector<double>(5000, 7.0), std::vector<double>(5000, 1.0), {}};  // all in one place
  EXPECT_EQ(values(line_chart("", {"x"}, {"y"}, {curve})).size(), 2u);  // the first and the last
}

TEST(LineChart, OfNothingIsAnEmptyChart) {
  EXPECT_EQ(values(line_chart("", {"x"}, {"y"}, {})), nlohmann::json::array());
}

TEST(DotChart, KeepsTheOrderAndLeavesOutWhatCannotBeShown) {
  const std::vector<Bar> bars{{"z", "g", 2}, {"none", "g", 0}, {"a", "h", 1}, {"nan", "h", kNan}};
  const nlohmann::json points = values(dot_chart("widths", {"units", true}, bars));
  EXPECT_EQ(points, nlohmann::json::parse(
                        R"([{"name":"z","group":"g","value":2},{"name":"a","group":"h","value":1}])"));
  EXPECT_EQ(values(dot_chart("widths", {"units"}, bars)).size(), 3u);
}

TEST(DotChart, ColoursGroupsOnlyIfThereAreAny) {
  const auto dots = [](const std::string& group) {
    return nlohmann::json::parse(dot_chart("", {"v"}, {{"a", group, 1}})).at("layer").at(1);
  };
  EXPECT_EQ(dots("g").at("mark").at("type"), "point");
  EXPECT_TRUE(dots("g").at("encoding").contains("color"));
  EXPECT_FALSE(dots("").at("encoding").contains("color"));
}

TEST(DotChart, NamesStandAboveTheDots) {
  const nlohmann::json spec = nlohmann::json::parse(dot_chart("", {"v"}, {{"a", "", 1}}));
  EXPECT_TRUE(spec.at("encoding").at("y").at("sort").is_null());
  EXPECT_TRUE(spec.at("encoding").at("y").at("axis").is_null());
  EXPECT_EQ(spec.at("layer").at(0).at("mark").at("type"), "text");
  EXPECT_EQ(spec.at("layer").at(0).at("encoding").at("text").at("field"), "name");
}

}  // namespace
}  // namespace zeroloss
