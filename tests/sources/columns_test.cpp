#include "zeroloss/sources/columns.hpp"

#include <gtest/gtest.h>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

/// What is said of the columns of a table, and what its last column is proposed for.
namespace zeroloss {
namespace {

class Columns : public test::TempFolder {
 protected:
  TableFacts facts(const std::string& text, const ReadOptions& options = {}) {
    const Source source = open_source(write("t.csv", text), options);
    return describe_columns(source, select(source, options), options).value();
  }
  /// A table of twelve records with `last` in turn as its last column.
  TableFacts ending(const std::string& name, const std::vector<std::string>& last,
                    const ReadOptions& options = {}) {
    std::string text = name.empty() ? "" : "a," + name + "\n";
    for (std::size_t i = 0; i < 12; ++i) text += std::to_string(i * i) + ".5," + last[i % last.size()] + "\n";
    return facts(text, options);
  }
};

TEST_F(Columns, AreDescribedOneByOne) {
  std::string text = "id,size,kind,day,price,old,same,y\n";
  for (int i = 0; i < 12; ++i)
    text += std::to_string(90 - i) + "," + (i == 3 ? "NA" : std::to_string(i % 4)) + "," +
            (i < 6    ? "oak"
             : i < 8  ? "elm"
             : i == 8 ? ""
                      : "fir") +
            ",2020-01-" + std::to_string(30 - i % 2) + ",$" + std::to_string(5 + i) + "," +
            (i % 3 == 0 ? "yes" : "no") + ",7,0." + std::to_string(i) + "\n";
  const TableFacts found = facts(text);
  ASSERT_EQ(found.columns.size(), 8u);
  const struct {
    const char *name, *is, *role;
    Index missing, distinct;
    double least, greatest;
  } expected[] = {
      {"id", "number", "id", 0, 12, 79, 90},        {"size", "number", "feature", 1, 4, 0, 3},
      {"kind", "text", "category", 1, 3, 0, 0},     {"day", "date", "feature", 0, 2, 18290, 18291},
      {"price", "amount", "feature", 0, 12, 5, 16}, {"old", "truth", "feature", 0, 2, 0, 1},
      {"same", "number", "constant", 0, 1, 7, 7},   {"y", "number", "target", 0, 11, 0, 0.9}};
  for (std::size_t j = 0; j < 8; ++j) {
    const ColumnFacts& column = found.columns[j];
    EXPECT_EQ(column.place, static_cast<Index>(j));
    EXPECT_EQ(column.name, expected[j].name);
    EXPECT_EQ(name(column.is), expected[j].is) << column.name;
    EXPECT_EQ(name(column.role), expected[j].role) << column.name;
    EXPECT_EQ(column.missing, expected[j].missing) << column.name;
    EXPECT_EQ(column.distinct, expected[j].distinct) << column.name;
    EXPECT_EQ(column.least, expected[j].least) << column.name;
    EXPECT_EQ(column.greatest, expected[j].greatest) << column.name;
  }
  using Frequent = std::vector<std::pair<std::string, Index>>;
  EXPECT_EQ(found.columns[2].frequent, (Frequent{{"oak", 6}, {"fir", 3}, {"elm", 2}}));
  EXPECT_EQ(found.columns[5].frequent, (Frequent{{"no", 8}, {"yes", 4}}));
  EXPECT_EQ(found.columns[3].least_cell, "2020-01-29");
  EXPECT_EQ(found.columns[4].greatest_cell, "$16");
  EXPECT_FALSE(found.proposed) << "it has a target";
  EXPECT_EQ(facts(text, {.drop = {"size"}}).columns[1].role, ColumnRole::left_out);
  EXPECT_EQ(facts(text, {.features = "size,price"}).columns[3].role, ColumnRole::left_out);
  EXPECT_EQ(facts(text, {.features = "size,price", .id = "day"}).columns[3].role, ColumnRole::id);
}

TEST_F(Columns, TheLastOneIsProposedAsTargetIfItLooksLikeClasses) {
  EXPECT_EQ(ending("species", {"u", "v"}).proposed, "species");
  EXPECT_EQ(ending("", {"u", "v"}).proposed, "-1");
  EXPECT_EQ(ending("", {"1", "2", "3"}).proposed, "-1");
  EXPECT_EQ(ending("bought", {"yes", "no"}).proposed, "bought");
  EXPECT_EQ(ending("none", {"u", "v"}).proposed, "-1") << "that word means no target";
  EXPECT_EQ(ending("-x", {"u", "v"}).proposed, "-1") << "a flag for the command";
  EXPECT_EQ(ending("a", {"u", "v"}).proposed, "-1") << "two columns are called so";
  EXPECT_FALSE(ending("v", {"0.5", "1.5"}).proposed) << "no integers";
  EXPECT_FALSE(ending("v", {"1", "2", "3", "4", "5", "6", "7"}).proposed) << "too many of them";
  EXPECT_FALSE(ending("v", {"1"}).proposed) << "constant";
  EXPECT_FALSE(ending("species", {"u", "v"}, {.target = "none"}).proposed) << "nobody wants one";
  EXPECT_FALSE(ending("label", {"u", "v"}).proposed) << "it is the target";
}

TEST_F(Columns, WhatRecursIsLeftOutWithoutNamingRecords) {
  std::string text = "name,a\n";
  for (int i = 0; i < 12; ++i) text += "n" + std::to_string(i % 11) + "," + std::to_string(i * i) + ".5\n";
  EXPECT_EQ(facts(text).columns[0].role, ColumnRole::left_out);
  EXPECT_EQ(facts(text, {.id = "name"}).columns[0].role, ColumnRole::id);
}

TEST_F(Columns, OnlyTablesHaveThem) {
  const Source source = open_source("digits", {});
  EXPECT_FALSE(describe_columns(source, select(source, {.n = 20}), {}));
}

}  // namespace
}  // namespace zeroloss
