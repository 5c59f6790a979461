// What is made from a list of fields: JSON, what is stored and read again, tables.
#include "zeroloss/base/fields.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/field_json.hpp"
#include "base/field_text.hpp"

namespace zeroloss {
namespace {

using namespace internal;

enum class Mood { good, bad };
std::string name(Mood mood) { return mood == Mood::good ? "good" : "bad"; }

struct Part {
  double x = 0;
};
template <Is<Part> T, class Visitor>
void fields(T& p, const Visitor& visit) {
  visit(Field{"x"}, p.x);
}

struct Whole {
  Index n = 0;
  double step = 0;
  std::string reason = {};
  Mood mood = Mood::good;
  std::optional<double> bound = {};
  Part part = {};
  std::vector<Part> parts = {};
  std::vector<double> curve = {};
};
template <Is<Whole> T, class Visitor>
void fields(T& w, const Visitor& visit) {
  visit(Field{"n"}.spelled("points"), w.n);
  visit(Field{"step"}.only_if(w.step > 0), w.step);
  visit(Field{"reason"}, w.reason);
  visit(Field{"mood"}, w.mood);
  visit(Field{"bound"}, w.bound);
  fields(w.part, visit);
  visit(Field{"parts"}, w.parts);
  visit(Field{"curve"}.apart(), w.curve);
}

TEST(Fields, AreToldInTheirOrder) {
  Whole w{.n = 3, .step = -1, .mood = Mood::bad, .part = {2}, .parts = {{1}, {INFINITY}}, .curve = {1, 2}};
  EXPECT_EQ(told(w).dump(), R"({"points":3,"step":null,"reason":null,"mood":"bad","bound":null,"x":2.0,)"
                            R"("parts":[{"x":1.0},{"x":null}]})");
  w.step = 0.5;
  w.reason = "why";
  w.bound = 0.25;
  EXPECT_EQ(told(w).at("step").dump() + told(w).at("reason").dump() + told(w).at("bound").dump(),
            "0.5\"why\"0.25");
}

// To the last bit, whether the value is known or not.
TEST(Fields, AreReadAgainAsTheyWereStored) {
  const Whole w{.n = -7,
                .step = -0.1,
                .reason = "",
                .mood = Mood::bad,
                .bound = -INFINITY,
                .part = {0.1 + 0.2},
                .parts = {{NAN}, {5e-324}, {-0.0}}};
  const internal::Json json = internal::Json::parse(stored(w).dump());
  Whole read{.bound = 3, .parts = {{9}, {9}, {9}, {9}}, .curve = {4}};
  restore(json, read);
  EXPECT_EQ(read.n, w.n);
  EXPECT_EQ(read.step, w.step);
  EXPECT_EQ(read.reason, w.reason);
  EXPECT_EQ(read.mood, w.mood);
  EXPECT_EQ(read.bound, w.bound);
  EXPECT_EQ(read.part.x, w.part.x);
  ASSERT_EQ(read.parts.size(), 3u);
  EXPECT_TRUE(std::isnan(read.parts[0].x));
  EXPECT_EQ(read.parts[1].x, 5e-324);
  EXPECT_TRUE(std::signbit(read.parts[2].x));
  EXPECT_EQ(read.curve, (std::vector<double>{4}));  // which is apart
  EXPECT_THROW(restore(internal::Json{{"n", 1}}, read), JsonError);
  EXPECT_THROW(restore(internal::Json{{"n", "one"}}, read), JsonError);
}

TEST(Fields, StandBesideThoseOfAnother) {
  const Whole a{.n = 1, .reason = "a"}, b{.n = 2, .reason = "a"};
  std::string differ;
  fields_beside(a, b, [&]<class Value>(const Field& field, const Value& x, const Value& y) {
    if constexpr (std::is_same_v<Value, Index> || std::is_same_v<Value, std::string>)
      if (x != y) differ += field.name;
  });
  EXPECT_EQ(differ, "n");
}

struct Row {
  Index step = 1;
  std::optional<double> bound = {};
  std::string name = "x";
  std::vector<double> norms = {1, 2};
  bool last = true;
};
template <Is<Row> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"step"}, r.step);
  visit(Field{"bound"}, r.bound);
  visit(Field{"name"}, r.name);
  visit(Field{"norms"}, r.norms);
  visit(Field{"last"}, r.last);
}

TEST(Fields, MakeTables) {
  EXPECT_EQ(csv_names(Row{}), "step,bound,name,last");
  EXPECT_EQ(csv_values(Row{}), "1,,x,true");
  EXPECT_EQ(csv_values(Row{.step = 2, .bound = 0.1}), "2,0.1,x,true");
  EXPECT_EQ(text_of(std::vector<double>{0.5, 2}, ", "), "0.5, 2");
}

}  // namespace
}  // namespace zeroloss
