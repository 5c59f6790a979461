// heat_map: where its rectangles lie, what is drawn over them and what is left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "support/bounds.hpp"
#include "support/number.hpp"
#include "zeroloss/chart/chart.hpp"

namespace zeroloss {
namespace {

using Texts = std::vector<std::string>;
using test::kInf;
using test::kNan;

// Cell [i * y + j] has the value (i * y + j)/cells and a note that says i and j.
HeatMap map_of(const Texts& x, const Texts& y) {
  HeatMap map{"title", "success", {"x side", x}, {"y side", y}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < y.size(); ++j) {
      map.values.push_back(static_cast<double>(i * y.size() + j) / static_cast<double>(x.size() * y.size()));
      map.notes.push_back(x[i] + " and " + y[j]);
    }
  return map;
}

nlohmann::json layers(const HeatMap& map) { return nlohmann::json::parse(heat_map(map)).at("layer"); }
nlohmann::json cells(const HeatMap& map) { return layers(map).at(0).at("data").at("values"); }

// Low and high edge of each value of a side, which must be the same in all its cells.
std::vector<std::pair<double, double>> edges(const Texts& values) {
  const Texts other{"1", "2"};
  const nlohmann::json all = cells(map_of(values, other));
  std::vector<std::pair<double, double>> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const nlohmann::json &cell = all[2 * i], &next = all[2 * i + 1];
    result.emplace_back(cell.at("x"), cell.at("x_end"));
    EXPECT_EQ(next.at("x"), cell.at("x"));
    EXPECT_EQ(next.at("x_end"), cell.at("x_end"));
  }
  const nlohmann::json turned = cells(map_of(other, values));  // both sides are treated alike
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(turned[i].at("y"), result[i].first);
    EXPECT_EQ(turned[i].at("y_end"), result[i].second);
  }
  return result;
}

// Sorted by value, each rectangle holds its value and ends where the next begins. Both are computed from the
// same two values in different order: log, a sum and exp, each good to a few units in the last place of
// numbers whose logarithm is below 30, so 30 * 4 * 2^-53 in relative terms.
void expect_no_gaps(const Texts& values) {
  SCOPED_TRACE(testing::PrintToString(values));
  constexpr double kRounding = 120 * 1.2e-16;
  const auto at = edges(values);
  std::map<double, std::pair<double, double>> sorted;
  for (std::size_t i = 0; i < values.size(); ++i) sorted[test::number(values[i])] = at[i];
  for (auto it = sorted.begin(); it != sorted.end(); ++it) {
    EXPECT_LT(it->second.first, it->first);
    EXPECT_GT(it->second.second, it->first);
    const auto next = std::next(it);
    if (next == sorted.end()) continue;
    EXPECT_NEAR(it->second.second, next->second.first, kRounding * std::abs(it->second.second));
  }
}

TEST(HeatMap, IsAVegaLiteSpecificationWithItsData) {
  const HeatMap map = map_of({"1", "2"}, {"10", "20", "30"});
  const nlohmann::json spec = nlohmann::json::parse(heat_map(map));
  EXPECT_EQ(spec.at("$schema"), "https://vega.github.io/schema/vega-lite/v5.json");
  EXPECT_EQ(spec.at("title").at("text"), "title");
  ASSERT_EQ(spec.at("layer").size(), 1u);  // no lines, no spans
  const nlohmann::json& layer = spec.at("layer").at(0);
  EXPECT_EQ(layer.at("mark").at("type"), "rect");
  const nlohmann::json& encoding = layer.at("encoding");
  EXPECT_EQ(encoding.at("x").at("title"), "x side");
  EXPECT_EQ(encoding.at("y").at("title"), "y side");
  EXPECT_EQ(encoding.at("fill").at("title"), "success");
  EXPECT_EQ(encoding.at("fill").at("scale").at("domain"), nlohmann::json({0, 1}));
  EXPECT_EQ(encoding.at("x2").at("field"), "x_end");
  EXPECT_EQ(encoding.at("y2").at("field"), "y_end");
  EXPECT_EQ(encoding.at("x").at("scale").at("domain"), nlohmann::json({0.5, 2.5}));
  EXPECT_EQ(encoding.at("y").at("scale").at("domain"), nlohmann::json({5, 35}));
}

TEST(HeatMap, CellsAreXByX) {
  const nlohmann::json all = cells(map_of({"1", "2"}, {"10", "20", "30"}));
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(
      all[1],
      nlohmann::json(
          {{"value", 1.0 / 6}, {"note", "1 and 20"}, {"x", 0.5}, {"x_end", 1.5}, {"y", 15}, {"y_end", 25}}));
  EXPECT_EQ(all[3].at("note"), "2 and 10");
  EXPECT_EQ(all[3].at("x"), 1.5);
  EXPECT_EQ(all[3].at("y"), 5);
}

TEST(HeatMap, RectanglesMeetHalfway) {
  EXPECT_EQ(edges({"1", "3", "4"}), (std::vector<std::pair<double, double>>{{0, 2}, {2, 3.5}, {3.5, 4.5}}));
  expect_no_gaps({"1", "2", "3", "4", "5"});
  expect_no_gaps({"0", "0.1", "0.25", "0.3", "1"});
  expect_no_gaps({"-3", "-1", "7"});
  expect_no_gaps({"1", "2", "4", "8", "16", "31"});
  expect_no_gaps({"1e-6", "2e-6", "1.1e-5"});
}

TEST(HeatMap, TheOrderOfValuesDoesNotMatter) {
  expect_no_gaps({"4", "1", "3"});
  expect_no_gaps({"1024", "1", "32", "7"});
  EXPECT_EQ(edges({"4", "1", "3"}), (std::vector<std::pair<double, double>>{{3.5, 4.5}, {0, 2}, {2, 3.5}}));
}

TEST(HeatMap, AFactorOf32IsShownOnALogScale) {
  const auto scale = [](const Texts& values) {
    return layers(map_of(values, {"1"})).at(0).at("encoding").at("x").at("scale");
  };
  EXPECT_EQ(scale({"1", "16", "32"}).at("type"), "log");
  EXPECT_FALSE(scale({"1", "16", "31.9"}).contains("type"));
  EXPECT_FALSE(scale({"0", "1", "1000"}).contains("type"));  // no logarithm
  EXPECT_FALSE(scale({"-1", "1", "1000"}).contains("type"));
  EXPECT_EQ(scale({"1e-6", "1e-4"}).at("type"), "log");
  expect_no_gaps({"16", "64", "256", "1024"});
  expect_no_gaps({"1", "3", "1000", "1e9"});
  expect_no_gaps({"1e-9", "1e-3", "1"});
  // Halfway between 16 and 64 is 32, and as far on the other side of 16.
  const auto at = edges({"16", "64", "256", "1024"});
  const double log_error = test::gamma_of(8 * std::log(2048));  // of logarithms, 2 u each, and their sums
  EXPECT_NEAR(at[0].first, 8, 8 * log_error);
  EXPECT_NEAR(at[0].second, 32, 32 * log_error);
  EXPECT_NEAR(at[3].second, 2048, 2048 * log_error);
}

TEST(HeatMap, WordsStandSideBySideInTheirOrder) {
  for (const Texts& words : {Texts{"tanh", "relu"}, Texts{"auto", "0.1"}, Texts{"0.5", "theorem", "2"}}) {
    const nlohmann::json layer = layers(map_of(words, {"1", "2"})).at(0);
    const nlohmann::json& side = layer.at("encoding").at("x");
    EXPECT_EQ(side.at("type"), "ordinal");
    EXPECT_TRUE(side.at("sort").is_null());  // as they come
    EXPECT_FALSE(layer.at("encoding").contains("x2"));
    const nlohmann::json& all = layer.at("data").at("values");
    for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(all[2 * i].at("x"), words[i]);
    EXPECT_EQ(all[0].at("y"), 0.5);
  }
}

TEST(HeatMap, ASingleRowOrColumnHasARectangleToo) {
  EXPECT_EQ(edges({"7"}), (std::vector<std::pair<double, double>>{{6.5, 7.5}}));
  EXPECT_EQ(edges({"0"}), (std::vector<std::pair<double, double>>{{-0.5, 0.5}}));
  EXPECT_EQ(cells(map_of({"7"}, {"1", "2"})).size(), 2u);
  EXPECT_EQ(cells(map_of({"relu"}, {"5"})).size(), 1u);
}

TEST(HeatMap, LeavesOutWhatHasNoValue) {
  HeatMap map = map_of({"1", "2"}, {"1", "2"});
  map.values[2] = kNan;
  const nlohmann::json all = cells(map);
  ASSERT_EQ(all.size(), 3u);
  for (const nlohmann::json& cell : all) EXPECT_NE(cell.at("note"), "2 and 1");
  map.values.assign(4, kNan);
  EXPECT_EQ(cells(map), nlohmann::json::array());
}

TEST(HeatMap, LinesEndWhereTheMapEnds) {
  HeatMap map = map_of({"1", "2", "3"}, {"10", "20"});  // x from 0.5 to 3.5, y from 5 to 25
  map.lines = {{"a", {0.4, 0.5, 1, 2, 3, 3.6}, {10, 5, 4.9, 25, 25.1, 10}, {}},
               {"b", {1, 2, 3}, {6, kNan, kInf}, {}}};
  const nlohmann::json all = layers(map);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at(1).at("data").at("values"),
            nlohmann::json::parse(
                R"([{"x":0.5,"y":5,"line":"a"},{"x":2,"y":25,"line":"a"},{"x":1,"y":6,"line":"b"}])"));
  EXPECT_EQ(all.at(1).at("encoding").at("stroke").at("scale").at("domain"), nlohmann::json({"a", "b"}));
}

TEST(HeatMap, SpansWithOpenEndsReachTheMapsEdge) {
  HeatMap map = map_of({"1", "2", "3"}, {"10", "20"});
  map.spans = {{1, 12, 18}, {2, -kInf, 18}, {3, 12, kInf}, {3, -100, 100}};
  const nlohmann::json spans = layers(map).at(1).at("data").at("values");
  EXPECT_EQ(spans, nlohmann::json::parse(R"([{"x":1,"y":12,"y_end":18},{"x":2,"y":5,"y_end":18},
                                   {"x":3,"y":12,"y_end":25},{"x":3,"y":5,"y_end":25}])"));
}

TEST(HeatMap, NothingIsDrawnOverWords) {
  for (const auto& [x, y] :
       {std::pair{Texts{"relu", "tanh"}, Texts{"1", "2"}}, {{"1", "2"}, {"relu", "tanh"}}}) {
    HeatMap map = map_of(x, y);
    map.lines = {{"a", {1}, {1}, {}}};
    map.spans = {{1, 1, 1}};
    EXPECT_EQ(layers(map).size(), 1u);
  }
}

TEST(HeatMap, TextIsEscaped) {
  HeatMap map = map_of({"1"}, {"1"});
  map.title = "a \"b\"\n";
  map.notes[0] = "\xFC";  // not UTF-8
  const nlohmann::json spec = nlohmann::json::parse(heat_map(map));
  EXPECT_EQ(spec.at("title").at("text"), map.title);
  EXPECT_EQ(cells(map)[0].at("note"), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace zeroloss
