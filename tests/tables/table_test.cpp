#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/sources/readers.hpp"

/// Tables as people have them, and what becomes of their columns.
namespace zeroloss {
namespace {

using Names = std::vector<std::string>;

class Tables : public test::TempFolder {
 protected:
  Dataset read(const std::string& text, const ReadOptions& options = {}) {
    return read_dataset(write("t.csv", text), options);
  }
  /// One column of twelve cells beside a column of numbers.
  Dataset column(const std::string& cell, const std::string& other, char separates = ',') {
    std::string text = std::string("x") + separates + "v\n";
    for (int i = 0; i < 12; ++i)
      text += std::to_string(i * i + 3) + separates + (i % 2 == 0 ? cell : other) + "\n";
    return read(text);
  }
};

TEST_F(Tables, UnderstandsWhatPeopleWrite) {
  const struct {
    const char *cell, *other;
    double first, second;
    char separates = ',';
  } cases[] = {{"\"$1,234.50\"", "$7", 1234.5, 7},
               {"\"1,234\"", "\"-2,000,000\"", 1234, -2e6},
               {"12%", "-3.5 %", 0.12, -0.035},
               {"\"1,200.5%\"", "0", 12.005, 0},
               {"($5)", "$6", -5, 6},
               {"1,5", "-0,25", 1.5, -0.25, ';'},
               {"1,5", "2", 1.5, 2, '\t'},
               {"\"0,125\"", "\"1,5\"", 0.125, 1.5},
               {"82.938,66", "-1.234", 82938.66, -1234, ';'},
               {"\"1.234.567,5\"", "\"0,5\"", 1234567.5, 0.5},
               {"True", "False", 1, 0},
               {"yes", "NO", 1, 0},
               {"1970-01-02", "1969-12-31", 1, -1},
               {"2020/02/29", "2020/03/01", 18321, 18322},
               {"29.02.2020", "01.03.2020 12:00", 18321, 18322.5, ';'},
               {"1/2/1970", "12/31/1969", 1, -1},
               {"02/01/1970", "31/12/1969 12:00", 1, -0.5},
               {"1-2-1970", "2-1-1970", 1, 31},
               {"1970-01-01 12:00", "1970-01-01T18:00:00Z", 0.5, 0.75},
               {"1970-01-01 12:00:00+01:00", "1970-01-01T18:00-0600", 11 / 24., 1},
               {"1/1/1970 12:00 AM", "1/31/1970 6:00 pm", 0, 30.75},
               {"2 Jan 1970", "31-Dec-69", 1, -1},
               {"\"January 2nd, 1970 18:00\"", "\"Wed, Dec. 31, 1969\"", 1.75, -1},
               {"1970-02", "1969-12", 31, -31},
               {"Feb 1970", "December 1969", 31, -31},
               {"1970-W01", "1970-W02", -3, 4},
               {"1970Q1", "1970-Q2", 0, 90},
               {"9:15 AM", "12:30 pm", 9.25, 12.5},
               {"00:30:00", "36:15:00.0", 0.5, 36.25},
               {"1 days 01:30:00", "-1 days +22:00:00", 25.5, -2},
               {"PT90M", "P1DT30M", 1.5, 24.5},
               {"2.1.1970", "31.12.69", 1, -1, ';'},
               {"1/2/70", "12/31/69", 1, -1},
               {"1970-W01-4", "Q2 1970", 0, 90},
               {"1.234,56-", "−5,00", -1234.56, -5, ';'},
               {"Fr. 1'200.-", "Fr. 7.50", 1200, 7.5, ';'},
               {"1.200,-- €", "€0,5", 1200, 0.5, ';'},
               {"₹1'200,5", "₹0,5", 1200.5, 0.5, ';'},
               {"45 162", "1 234 567", 45162, 1234567, ';'},
               {"45\u00A0162", "950", 45162, 950, ';'},
               {"45\u202F162,5", "-1\u202F000", 45162.5, -1000, ';'},
               {"42'144", "7", 42144, 7, ';'},
               {"1’234.5", "CHF 2'000", 1234.5, 2000},
               {"12,5 %", "1.234,5\u00A0%", 0.125, 12.345, ';'},
               {"12,5 €", "1.234,5\u00A0€", 12.5, 1234.5, ';'}};
  for (const auto& [cell, other, first, second, separates] : cases) {
    const Dataset data = column(cell, other, separates);
    EXPECT_EQ(data.X(0, 1), first) << cell;
    EXPECT_EQ(data.X(1, 1), second) << other;
    EXPECT_EQ(data.feature_names, (Names{"x", "v"})) << cell;
  }
}

TEST_F(Tables, WhatIsNoDateOrAmountIsText) {
  for (const char* cell :
       {"2020-13-01", "2020-02-30", "2020-01-01 25:00", "13/32/2020", "1/2/20", "\"12,34\"", "\"12.34,5\"",
        "\"1,2345\"", "\"0.125,5\"", "\"1.234.,5\"", "$", "5 km"}) {
    const Dataset data = column(cell, "some word");
    EXPECT_EQ(data.X.cols(), 2) << cell;  // two categories, one indicator
    EXPECT_EQ(data.encoding.inputs.at(1).categories.size(), 2u) << cell;
  }
}

/// Sixty different cells of `cell(i)` with `word` in line 42, beside numbers and two classes.
std::string with_word(const std::string& word, const std::function<std::string(int)>& cell,
                      const std::string& separates = ",") {
  std::string text = fmt::format("x{0}b{0}label\n", separates);
  for (int i = 0; i < 60; ++i)
    text +=
        fmt::format("{1}{0}{2}{0}{3}\n", separates, i == 40 ? word : cell(i), i % 7, i % 2 == 0 ? "A" : "B");
  return text;
}

TEST_F(Tables, AWordAmongCellsOfAnyOtherKindIsNamed) {
  const auto day = [](int i) { return fmt::format("2020-{:02}-{:02}", 1 + i % 12, 1 + i / 3); };
  const auto american = [](int i) { return fmt::format("{}/{}/2020", 1 + i % 12, 1 + i / 3); };
  const auto comma = [](int i) { return fmt::format("1{},{}", i, i); };
  const auto percent = [](int i) { return fmt::format("{} %", i + 0.5); };
  const auto money = [](int i) { return fmt::format("\"$ 4,4{:02}.14\"", i); };
  const auto thousand = [](int i) { return fmt::format("\"{},902\"", i + 1); };
  const struct {
    const char* word;
    std::function<std::string(int)> cell;
    const char *among, *separates = ",";
  } cases[] = {{"pending", day, "among dates such as '2020-01-01', expected a date"},
               {"2020-02-30", day, "among dates such as '2020-01-01', expected a date"},
               {"some day", american, "among dates such as '1/1/2020', expected a date"},
               {"unbekannt", comma, "among numbers such as '10,0', expected a number", ";"},
               {"n.v.", percent, "among numbers such as '0.5 %', expected a number"},
               {"call us", money, "among numbers such as '$ 4,400.14', expected a number"},
               {"tbd", thousand, "among numbers such as '1,902', expected a number"}};
  for (const auto& [word, cell, among, separates] : cases) {
    const std::string text = with_word(word, cell, separates);
    EXPECT_MESSAGE(DataError, read(text), "t.csv: line 42: column 0 ('x'): found text", word, among,
                   std::string("`na_values=") + word + "`", "`drop=x`");
    const Dataset same = read(text, {.na_values = {word}});
    EXPECT_EQ(same.feature_names, (Names{"x", "x is missing", "b"})) << word;
    EXPECT_EQ(same.X, read(with_word("", cell, separates)).X) << word;
    EXPECT_EQ(read(text, {.drop = {"x"}}).feature_names, Names{"b"}) << word;
    EXPECT_EQ(read(text, {.id = "x"}).ids[40], word);
    EXPECT_EQ(read(text, {.features = "b"}).d(), 1);
    EXPECT_GT(read(text, {.one_hot = {"x"}}).d(), 20);
    EXPECT_MESSAGE(DataError, read(text, {.target = "x"}), "found text", word);
  }
}

TEST_F(Tables, EveryCellOfAnotherKindIsNamed) {
  std::string text = "x,y\n";
  for (int i = 0; i < 100; ++i)
    text += fmt::format("{},{}\n", i % 17 == 3 ? fmt::format("#N{}!", i) : std::to_string(i * i), i * 0.5);
  EXPECT_MESSAGE(
      DataError, read(text), "line 5: column 0 ('x'): found text '#N3!'",
      "(also '#N20!' in line 22, '#N37!' in line 39, '#N54!' in line 56, '#N71!' in line 73, 6 in all)");
}

TEST_F(Tables, TwoFormsOfDatesOrNumbersInOneColumnAreAMistake) {
  std::string dates = "day,y\n", numbers = "x;y\n";
  for (int i = 0; i < 40; ++i) {
    dates +=
        fmt::format(fmt::runtime(i % 2 == 0 ? "2020-01-{:02},{}\n" : "1/{}/2020,{}\n"), 1 + i / 2, i * 0.5);
    numbers += fmt::format(fmt::runtime(i % 3 == 0 ? "{},5;{}\n" : "{}.25;{}\n"), i, i);
  }
  EXPECT_MESSAGE(DataError, read(dates), "line 3", "found text '1/1/2020' among dates such as '2020-01-01'");
  EXPECT_MESSAGE(DataError, read(numbers), "line 2", "found text '0,5' among numbers");
}

TEST_F(Tables, AWordAmongFewCellsIsSaidToBeACategory) {
  std::string text = "x,cylinders,y\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{},{},{}\n", i * i, i == 40 ? "rotary" : std::to_string(3 + i % 4), i * 0.5);
  EXPECT_EQ(read(text).remarks,
            (Names{"categories: column 1 ('cylinders'), 5 indicators: all but 'rotary' are numbers "
                   "(`na_values=rotary` if it means a missing cell)"}));
}

TEST_F(Tables, PointsBesideDecimalCommasAreThousands) {
  const Dataset data = read("sales;price;label\n950;1,5;A\n1.200;2,5;B\n12.300;3,5;A\n7;4,5;B\n");
  EXPECT_EQ(data.X, (RowMatrix{{950, 1.5}, {1200, 2.5}, {12300, 3.5}, {7, 4.5}}));
  EXPECT_EQ(data.remarks.at(0), "read: column 0 ('sales') as decimal comma");
  // The other columns say nothing: as any program reads it.
  EXPECT_EQ(read("x;label\n1.200;0\n12.300;1\n").X, (RowMatrix{{1.2}, {12.3}}));
  // Columns of both kinds: nobody can tell.
  EXPECT_MESSAGE(DataError, read("a;b;c;label\n1,5;0.25;1.200;A\n2,5;1.25;2.300;B\n"),
                 "line 2: column 2 ('c')", "'1.200' is 1.2 as amount and 1200 as decimal comma",
                 "write all in one way");
  EXPECT_MESSAGE(DataError, read("a;c;label\n1,5;0.25;A\n2,5;1.200;B\n"), "line 3: column 1 ('c')",
                 "'1.200'");
  EXPECT_EQ(read("a;b;label\n1,5;0.25;A\n2,5;12.5;B\n").X, (RowMatrix{{1.5, 0.25}, {2.5, 12.5}}));
}

TEST_F(Tables, CommasInGroupsAreReadAsTheOtherColumns) {
  EXPECT_EQ(read("a,b,label\n\"1,234\",\"0,5\",0\n\"2,345\",\"1,5\",1\n").X,
            (RowMatrix{{1.234, 0.5}, {2.345, 1.5}}));
  EXPECT_EQ(read("a;b;label\n1,234;0.5;0\n2,345;1.5;1\n").X, (RowMatrix{{1234, 0.5}, {2345, 1.5}}));
  EXPECT_EQ(read("a;label\n1,234;0\n2,345;1\n").X, (RowMatrix{{1.234}, {2.345}}));
}

TEST_F(Tables, DatesThatCouldBeEitherAreReadAsTheOtherColumns) {
  const Dataset data = read("from,to,label\n2/1/1970,31/1/1970,0\n3/1/1970,1/2/1970,1\n");
  EXPECT_EQ(data.X, (RowMatrix{{1, 30}, {2, 31}}));
  EXPECT_MESSAGE(DataError,
                 read("a,b,c,label\n2/1/1970,31/1/1970,1/31/1970,0\n3/1/1970,1/2/1970,1/2/1970,1\n"),
                 "line 2: column 0 ('a')", "'2/1/1970' is 31 as month day year and 1 as day month year");
}

TEST_F(Tables, WordsThatMeanAMissingCell) {
  const std::string text = "a,kind,y\n1,u,0.5\n-999.0,unknown,1.5\n3,v,-999\n4,v,2.5\n";
  const Dataset data = read(text, {.na_values = {"-999", "unknown"}});
  EXPECT_EQ(data.feature_names, (Names{"a", "a is missing", "kind = v", "kind is missing"}));
  EXPECT_EQ(data.records, (std::vector<Index>{0, 1, 3}));
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("digits", {.na_values = {"1"}}),
                 "`na_values` is for tables");
  EXPECT_EQ(read("a,y\n0,0.5\n1,1.5\n0,2.5\n", {.na_values = {"1e999"}}).n(), 3) << "no cell is that";
  EXPECT_EQ(read("a,y\n0,0.5\n1,1.5\n0,2.5\n", {.na_values = {"1e999"}}).d(), 1);
  // A model knows them.
  const auto like = [&](const std::string& new_text) {
    return select(open_source(write("new.csv", new_text), {.na_values = data.encoding.na_values}), {},
                  {.encoding = &data.encoding});
  };
  EXPECT_EQ(like("a,kind\n-999,unknown\n").X, (RowMatrix{{data.encoding.inputs[0].fill, 1, 0, 1}}));
  EXPECT_EQ(read_encoding(encoding_text(data.encoding)).na_values, (Names{"-999", "unknown"}));
  EXPECT_TRUE(read_encoding(R"({"inputs":[],"target":"y"})").na_values.empty()) << "of an earlier version";
}

TEST_F(Tables, NumbersThatSeemToMeanAMissingCellAreSaid) {
  std::string text = "humidity,place,y\n";
  for (int i = 0; i < 40; ++i)
    text += fmt::format("{},{},{}\n", i % 10 == 3 ? "-999.0" : fmt::format("{}.5", 40 + i),
                        i % 2 == 0 ? 1 : 50, i * i);
  EXPECT_EQ(read(text).remarks,
            (Names{"far off: '-999.0' in 4 cells of column 0 ('humidity'), all others are from 40.5 "
                   "to 79.5: `na_values=-999.0` if it means a missing cell"}));
  EXPECT_EQ(read(text, {.na_values = {"-999"}}).remarks,
            (Names{"filled: column 0 ('humidity'), 4 cells by the median 59.5 and a flag"}));
}

TEST_F(Tables, RecordsOfNothingButMissingCellsAreLeftOut) {
  const Dataset data = read("a;b;c\n1,5;2;\n;;\n2,5;3;\n;;\n");
  EXPECT_EQ(data.records, (std::vector<Index>{0, 2}));
  EXPECT_EQ(data.feature_names, (Names{"a", "b"}));
  EXPECT_EQ(std::ranges::count(data.remarks, "left out: 2 records of nothing but missing cells"), 1);
}

TEST_F(Tables, BlanksSeparateWhereNothingElseDoes) {
  const Dataset data = read("a b label\n1 2 A\n 2  3\tB\n3 1 \"A\"\n");
  EXPECT_EQ(data.X, (RowMatrix{{1, 2}, {2, 3}, {3, 1}}));
  EXPECT_EQ(data.class_names, (Names{"A", "B"}));
  EXPECT_EQ(data.remarks, Names{"columns: blanks separate them"});
  EXPECT_EQ(read("   0.409   -0.574   b\n  3.953  -0.129  \"a b\"\n", {.target = "-1"}).class_names,
            (Names{"a b", "b"}));
  EXPECT_EQ(read("sepal length\tsepal width\n1\t2\n").feature_names, (Names{"sepal length", "sepal width"}));
  EXPECT_EQ(read("sepal length\n1\n2\n").feature_names, (Names{"sepal length"}));
}

TEST_F(Tables, CategoriesBecomeIndicators) {
  std::string text = "colour,x,y\n";
  for (int i = 0; i < 12; ++i)
    text += Names{"red", "blue", "green"}[i % 3] + "," + std::to_string(i * i) + ",0.5\n";
  const Dataset data = read(text);
  EXPECT_EQ(data.feature_names, (Names{"colour = blue", "colour = green", "colour = red", "x"}));
  EXPECT_EQ(data.X.topRows(3), (RowMatrix{{0, 0, 1, 0}, {1, 0, 0, 1}, {0, 1, 0, 4}}));
  EXPECT_EQ(data.remarks, (Names{"categories: column 0 ('colour'), 3 indicators"}));
  const Dataset codes = read("k,x\n1,5\n2,6\n3,7\n1,8\n", {.one_hot = {"k"}});
  EXPECT_EQ(codes.feature_names, (Names{"k = 1", "k = 2", "k = 3", "x"}));
  EXPECT_EQ(codes.X.row(3), (RowMatrix{{1, 0, 0, 8}}));
}

TEST_F(Tables, MissingCellsBecomeTheMedianAndAFlag) {
  const std::string text = "a,b,y\n1,5,0.5\nNA,6,1.5\n3,?,2.5\n9,8,3.5\n";
  const Dataset data = read(text);
  EXPECT_EQ(data.feature_names, (Names{"a", "a is missing", "b", "b is missing"}));
  EXPECT_EQ(data.X, (RowMatrix{{1, 0, 5, 0}, {3, 1, 6, 0}, {3, 0, 6, 1}, {9, 0, 8, 0}}));
  EXPECT_EQ(data.remarks, (Names{"filled: column 0 ('a'), 1 cell by the median 3 and a flag",
                                 "filled: column 1 ('b'), 1 cell by the median 6 and a flag"}));
  const Dataset dropped = read(text, {.missing = "drop"});
  EXPECT_EQ(dropped.X, (RowMatrix{{1, 5}, {9, 8}}));
  EXPECT_EQ(dropped.records, (std::vector<Index>{0, 3}));
  EXPECT_EQ(dropped.remarks, (Names{"left out: 2 records with missing cells"}));
  EXPECT_MESSAGE(DataError, read("a,b\nNA,1\n2,NA\n", {.missing = "drop"}),
                 "no record of 2 is left: 2 have missing cells");
}

TEST_F(Tables, WhatIsReadOtherwiseThanAsNumbersIsSaid) {
  EXPECT_EQ(read("a;b;y\n1,5;;2,5\n;1/2/2020;1,5\n3,5;2/2/2020;0,5\n").remarks,
            (Names{"read: column 2 ('y') as decimal comma",
                   "filled: column 0 ('a'), 1 cell by the median 1.5 and a flag",
                   "read: column 0 ('a') as decimal comma",
                   "filled: column 1 ('b'), 1 cell by the median 18263 and a flag",
                   "read: column 1 ('b') as month day year"}));
}

TEST_F(Tables, NumbersThatNoDoubleHoldsAreRefused) {
  for (const char* cell : {"1e400", "$1e400", "\"1,0e400\"", "\"1,5e-400\""})
    EXPECT_MESSAGE(DataError, column(cell, cell), "outside the range of double precision");
}

TEST_F(Tables, ColumnsThatAreLeftOutStayOut) {
  std::string text = "key,a,label\n";
  for (int i = 0; i < 12; ++i)
    text += std::to_string(100 + i) + "," + std::to_string(i * i) + "," + std::to_string(i % 2) + "\n";
  EXPECT_EQ(read(text, {.drop = {"a"}}).feature_names, Names{"key"});
  EXPECT_MESSAGE(DataError, read("a,b,c,label\n,1,5,0\n,2,6,1\n,3,7,0\n", {.drop = {"c"}, .id = "b"}),
                 "no column is left for features");
}

TEST_F(Tables, AColumnWithoutValuesIsNoFeature) {
  const std::string text = "c,b,label\n,.1,0\n,.2,1\n,.3,0\n";
  const Dataset data = read(text);
  EXPECT_EQ(data.feature_names, Names{"b"});
  EXPECT_EQ(data.remarks, Names{"left out: column 0 ('c'), it has no values; `features=all` keeps it"});
  EXPECT_TRUE(data.ids.empty());
  EXPECT_EQ(read(text, {.features = "all"}).feature_names, (Names{"c", "c is missing", "b"}));
}

TEST_F(Tables, BarsSeparateToo) {
  const Dataset data = read("a|b|label\n.1|7|p\n.2|14|q\n.3|21|p\n");
  EXPECT_EQ(data.feature_names, (Names{"a", "b"}));
  EXPECT_EQ(data.class_names, (Names{"p", "q"}));
}

TEST_F(Tables, WholeNumbersThatNoDoubleIsAreSaid) {
  const Dataset stamps =
      read("t,b,y\n1700000000000000001,1,0\n1700000000000000100,1,1\n1700000000000000000,2,0\n");
  ASSERT_EQ(stamps.remarks.size(), 1u);
  EXPECT_EQ(stamps.remarks[0].substr(0, 49), "rounded: 2 whole numbers of column 0 ('t') to the");
  EXPECT_EQ(read("t,y\n9007199254740992,0\n0009007199254740994,1\n-1e30,2\n").remarks, Names{});
}

TEST_F(Tables, OneClassIsNoQuestion) {
  const std::string text = "a,kind\n1,x\n2,y\n3,x\n";
  EXPECT_MESSAGE(DataError, read(text, {.target = "kind", .classes = {"x"}}),
                 "name two or more in `classes`");
  EXPECT_MESSAGE(DataError, read("a,kind\n1,x\n2,x\n", {.target = "kind"}), "name another `target`");
}

TEST_F(Tables, ATargetOfOneClassARecordIsRemarked) {
  std::string text = "a,code\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(i % 5) + ",k" + std::to_string(i) + "\n";
  const Dataset data = read(text, {.target = "code", .features = "all"});
  EXPECT_EQ(data.remarks.back(), "every record has a class of its own: is column 1 ('code') an identifier?");
}

TEST_F(Tables, ANulByteIsRefused) {
  EXPECT_MESSAGE(DataError, read(std::string("a,y\n1,2\nx\0,3\n", 14)), "line 3: has a NUL byte");
}

TEST_F(Tables, RecordsWithoutATargetAreLeftOut) {
  const Dataset data = read("a,y\n1,0.5\n2,\n3,2.5\n");
  EXPECT_EQ(data.y, (Vector{{0.5, 2.5}}));
  EXPECT_EQ(data.records, (std::vector<Index>{0, 2}));
  EXPECT_EQ(data.remarks, (Names{"left out: 1 record without a target"}));
  const Dataset classes = read("a,label\n1,u\n2,NA\n3,v\n4,u\n");
  EXPECT_EQ(classes.class_names, (Names{"u", "v"}));
  EXPECT_EQ(classes.records, (std::vector<Index>{0, 2, 3}));
}

// A rank of the records that is left without a name, and names in single quotes.
TEST_F(Tables, FirstLinesOfTextsAreNames) {
  std::string text = "\"\",\"grade\",\"age\",\"y\"\n";
  for (int i = 0; i < 12; ++i)
    text += fmt::format("\"{}\",\"{}\",\"adult\",{}\n", i + 1, i % 3 == 0 ? "1st" : "2nd",
                        i % 2 == 0 ? "a" : "b");
  const Dataset data = read(text);
  EXPECT_EQ(data.n(), 12);
  EXPECT_EQ(data.class_names, (Names{"a", "b"}));
  EXPECT_EQ(data.feature_names, (Names{"grade = 2nd", "age = adult"}));
  EXPECT_EQ(read("'a b'\t'y'\n1\t2.5\n2\t3.5\n").feature_names, (Names{"a b"}));
  EXPECT_EQ(read("'a',b\n1,2.5\n2,3.5\n").feature_names, (Names{"'a'", "b"}));
}

TEST_F(Tables, NumbersOfRecordsThatRecurAreNamesToo) {
  std::string text = "ID,x,y\n";
  for (int i = 0; i < 12; ++i) text += fmt::format("{},{},0.5\n", 1000 - i / 2 * (i % 3), i * i);
  const Dataset data = read(text);
  EXPECT_EQ(data.feature_names, (Names{"x"}));
  EXPECT_NE(data.remarks.at(0).find("different integers in 12 records"), std::string::npos)
      << data.remarks[0];
}

TEST_F(Tables, AWordAmongTheSameFewNumbersMakesCategories) {
  std::string text = "x,cylinders,y\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{},{},{}\n", i * i, i == 40 ? std::string("rotary") : std::to_string(3 + i % 4),
                        i * 0.5);
  const Dataset data = read(text);
  EXPECT_EQ(data.encoding.inputs.at(1).categories, (Names{"3", "4", "5", "6", "rotary"}));
  std::string many = "x,y\n";
  for (int i = 0; i < 60; ++i)
    many += fmt::format("{},{}\n", i == 40 ? std::string("oops") : std::to_string(i), i * 0.5);
  EXPECT_MESSAGE(DataError, read(many), "found text 'oops' among numbers");
}

TEST_F(Tables, ColumnsThatNameRecordsAreLeftOut) {
  std::string text = "PassengerId,name,x,y\n";
  for (int i = 0; i < 12; ++i)
    text +=
        std::to_string(40 - 3 * i) + ",person " + std::to_string(i) + "," + std::to_string(i * i) + ",0.5\n";
  const Dataset data = read(text);
  EXPECT_EQ(data.feature_names, (Names{"x"}));
  EXPECT_EQ(
      data.remarks,
      (Names{"left out: column 0 ('PassengerId'), all its integers differ; `features=all` keeps it",
             "left out: column 1 ('name'), 12 different texts in 12 records; `features=all` keeps it"}));
  EXPECT_EQ(data.ids[1], "37");
  EXPECT_EQ(describe(sample(data, 1)), "1 '37' (label 0.5)");
  EXPECT_EQ(read(text, {.features = "all"}).d(), 14);
  EXPECT_EQ(read(text, {.features = "x,PassengerId"}).feature_names, (Names{"x", "PassengerId"}));
  EXPECT_EQ(read(text, {.drop = {"name"}, .id = "PassengerId"}).feature_names, (Names{"x"}));
  EXPECT_EQ(read(text, {.id = "name"}).ids[0], "person 0");
  EXPECT_MESSAGE(DataError, read(text, {.features = "x,y"}), "'y'", "is the target");
  EXPECT_MESSAGE(DataError, read(text, {.drop = {"z"}}), "no drop column 'z'");
}

TEST_F(Tables, TextsThatRecurNameNoRecord) {
  const auto table = [](const std::function<std::string(int)>& cell) {
    std::string text = "x,t,y\n";
    for (int i = 0; i < 60; ++i) text += fmt::format("{},{},0.5\n", i * i, cell(i % 46));
    return text;
  };
  const struct {
    std::function<std::string(int)> cell;
    const char* note;
  } cases[] = {{[](int i) { return fmt::format("{} kg", i); },
                ": numbers with a unit are not read; leave 'kg' out of the cells"},
               {[](int i) { return fmt::format("{} rue Mars", i); }, ""}};
  for (const auto& [cell, note] : cases) {
    const Dataset data = read(table(cell));
    EXPECT_TRUE(data.ids.empty()) << note;
    EXPECT_EQ(data.feature_names, Names{"x"}) << note;
    EXPECT_EQ(data.remarks, Names{fmt::format("left out: column 1 ('t'), 46 different texts in 60 records{}; "
                                              "`features=all` keeps it",
                                              note)});
  }
  // A few of them are categories, of which the same is said.
  const Dataset few = read(table([](int i) { return fmt::format("{} kg", i % 3); }));
  EXPECT_EQ(
      few.remarks.at(0),
      "categories: column 1 ('t'), 3 indicators: numbers with a unit are not read; leave 'kg' out of the "
      "cells");
}

TEST_F(Tables, NumbersInTwoWaysAreSaid) {
  EXPECT_EQ(read("a;b\n1.369;u\n851;v\n2.000;u\n").remarks.at(0),
            "read: column 0 ('a') as number: '2.000' could be 2000, if `decimal=,`");
  EXPECT_EQ(read("a\tb\n851,269\tu\n1,5\tv\n").remarks.at(0), "read: column 0 ('a') as decimal comma");
  EXPECT_EQ(read("a\tb\n851,269\tu\n1,500\tv\n").remarks.at(0),
            "read: column 0 ('a') as decimal comma: '851,269' could be 851269, if `decimal=.`");
  EXPECT_EQ(read("a,b\n1.369,u\n2.000,v\n").remarks, Names{"categories: column 1 ('b'), 2 indicators"});
  EXPECT_EQ(read("a;b\n0.369;u\n2.000;v\n").remarks, Names{"categories: column 1 ('b'), 2 indicators"});
}

TEST_F(Tables, AModelTakesItsOwnUnitsAndTypedNumbers) {
  const auto as = [&](const std::string& data, const std::string& rows, const ReadOptions& options = {}) {
    const Dataset of_model = read(data);
    return select(open_source(write("new.csv", rows), options), options, {.encoding = &of_model.encoding}).X;
  };
  EXPECT_EQ(as("a;y\n20,4 %;1\n10 %;2\n", "a\n12 %\n"), (RowMatrix{{0.12}}));
  EXPECT_MESSAGE(DataError, as("a;y\n20,4 %;1\n10 %;2\n", "a\n12.1\n"), "line 2: column 0 ('a')", "'12.1'",
                 "are in %");
  EXPECT_MESSAGE(DataError, as("a;y\n$5;1\n$7;2\n", "a\n€5\n"), "'€5'", "are in $");
  EXPECT_EQ(as("a;y\n1.631,5;1\n2,5;2\n", "a\n1631.25\n", {.decimal = "."}), (RowMatrix{{1631.25}}));
  EXPECT_MESSAGE(DataError, as("a;y\n1.631,5;1\n2,5;2\n", "a\n1.631\n"), "or say `decimal=,`");
  EXPECT_EQ(as("a;y\n1.631,5;1\n2,5;2\n", "a\n1.631\n", {.decimal = ","}), (RowMatrix{{1631}}));
  const Dataset forced = read("r,y\n1,0.5\n2,1.5\n3,2.5\n", {.one_hot = {"r"}});
  EXPECT_EQ(select(open_source(write("new.csv", "r\n3.0\n"), {}), {}, {.encoding = &forced.encoding}).X,
            (RowMatrix{{0, 0, 1}}));
}

TEST_F(Tables, AColumnThatIsMostlyNumbersIsSaid) {
  std::string text = "z,y\n";
  for (int i = 0; i < 60; ++i)
    text += (i % 6 == 0 ? std::string("unknown") : std::to_string(i * i + 3)) + ",0.5\n";
  text.replace(0, 4, "z,y\n");
  EXPECT_MESSAGE(DataError, read(text), "no column is left");
  const Dataset data = read("a,b,y\n" + text.substr(4, 0) + [] {
    std::string rows;
    for (int i = 0; i < 60; ++i)
      rows += std::to_string(i % 7) + "," +
              (i % 6 == 0 ? std::string("unknown") : std::to_string(i * i + 3)) + ",0.5\n";
    return rows;
  }());
  EXPECT_EQ(
      data.remarks.at(0).substr(0, 90),
      std::string(
          "left out: column 1 ('b'), 51 different texts in 60 records: all but unknown are numbers or dates")
          .substr(0, 90));
}

TEST_F(Tables, AColumnThatIsNamedAndDroppedIsAMistake) {
  const std::string text = "a,b,kind,label\n1,2,x,0\n2,5,y,1\n3,7,x,0\n";
  EXPECT_MESSAGE(DataError, read(text, {.features = "a,b", .drop = {"b"}}),
                 "t.csv: column 1 ('b') is named in `features` and in `drop`");
  EXPECT_MESSAGE(DataError, read(text, {.drop = {"2"}, .one_hot = {"kind"}}),
                 "column 2 ('kind') is named in `one_hot` and in `drop`");
  EXPECT_MESSAGE(DataError, read(text, {.target = "b", .drop = {"b"}}),
                 "column 1 ('b') is the target, and `drop`");
  EXPECT_MESSAGE(DataError, read(text, {.drop = {"label"}}), "`target=none`");
  EXPECT_EQ(read(text, {.target = "none", .drop = {"label"}}).task, Task::none);
}

TEST_F(Tables, TheOnlyColumnIsAFeatureWhateverItLooksLike) {
  std::string text = "x,y\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(i) + ",0.5\n";
  const Dataset data = read(text);
  EXPECT_EQ(data.feature_names, (Names{"x"}));
  EXPECT_TRUE(data.ids.empty());
  EXPECT_TRUE(data.remarks.empty());
}

TEST_F(Tables, WhatIsKeptBecauseNothingElseIsLeftIsSaid) {
  std::string text = "id,review,label\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{},film {},{}\n", i, 7 * i, i % 3 == 0 ? "neg" : "pos");
  const Dataset data = read(text);
  EXPECT_EQ(data.feature_names, (Names{"id"}));
  EXPECT_EQ(data.remarks, (Names{"left out: column 1 ('review'), 40 different texts in 40 records; "
                                 "`features=all` keeps it",
                                 "kept: column 0 ('id'), although all its integers differ: no other column "
                                 "is a number"}));
}

TEST_F(Tables, TwoUnitsInOneColumnAreAMistake) {
  const auto table = [](const char* one, const char* other) {
    std::string text = "p,x,y\n0%,0,0\n";
    for (int i = 1; i < 20; ++i) text += fmt::format("{},{},{}\n", i % 2 == 0 ? one : other, i * i, 0.5 * i);
    return text;
  };
  EXPECT_MESSAGE(DataError, read(table("38%", "0.38")),
                 "line 4: column 0 ('p'): found '38%', and '0.38' in line 3");
  EXPECT_MESSAGE(DataError, read(table("$1.50", "€2.50")), "found '$1.50', and '€2.50'", "`drop=p`");
  EXPECT_MESSAGE(DataError, read(table("$1.50", "2%")), "found '$1.50', and '2%'");
  EXPECT_EQ(read(table("$1.50", "2.50")).X(2, 0), 1.5);
  EXPECT_EQ(read(table("38%", "0")).X(2, 0), 0.38) << "nothing is nothing in any unit";
}

TEST_F(Tables, BigIntegersAreNames) {
  const Dataset data = read("x,label\n1,9007199254740993\n2,9007199254740992\n3,9007199254740993\n");
  EXPECT_EQ(data.class_names, (Names{"9007199254740992", "9007199254740993"}));
  EXPECT_EQ(data.y, (Vector{{1, 0, 1}}));
}

TEST_F(Tables, ClassesThatAreWrittenInSeveralWaysAreSaid) {
  const Dataset data = read("x,label\n1,007\n2,7\n3,7.0\n4,8\n");
  EXPECT_EQ(data.class_names, (Names{"7", "8"}));
  EXPECT_EQ(data.remarks, (Names{"class 7 is written 007, 7, 7.0"}));
}

TEST_F(Tables, AModelsColumnsAreFoundByName) {
  const Dataset trained = read("a,kind,b,y\n1,u,NA,0.5\n2,v,4,1.5\n3,w,6,2.5\n");
  const auto encoded = [&](const std::string& text) {
    return select(open_source(write("new.csv", text), {}), {}, {.encoding = &trained.encoding});
  };
  const Dataset again = encoded("extra,b,kind,a\n0,5,w,7\n0,,u,8\n");
  EXPECT_EQ(again.feature_names, trained.feature_names);
  EXPECT_EQ(again.X, (RowMatrix{{7, 0, 0, 1, 5, 0}, {8, 1, 0, 0, 4, 1}}));
  EXPECT_TRUE(again.standardization.empty());
  EXPECT_TRUE(again.ids.empty());
  EXPECT_EQ(encoded("id,b,kind,a\n71,5,w,7\n93,,u,8\n").ids, (Names{"71", "93"}));
  EXPECT_MESSAGE(DataError, encoded("kind,a\nu,7\n"), "new.csv", "needs a column that is not there: b",
                 "kind, a");
  EXPECT_MESSAGE(DataError, encoded("b,kind,a\n5,z,7\n"), "line 2", "'z' is a category", "u, v, w");
  EXPECT_MESSAGE(DataError, encoded("b,kind,a\n5,u,x\n5,u,y\n"), "line 2", "column 2 ('a')",
                 "'x', expected a number");
  const Dataset comma = read("a;y\n1,5;0\n2,25;1\n3;0\n");
  const auto like_comma = [&](const std::string& text) {
    return select(open_source(write("new.csv", text), {}), {}, {.encoding = &comma.encoding}).X;
  };
  EXPECT_EQ(like_comma("a\n2\n3\n"), (RowMatrix{{2}, {3}}));
  EXPECT_EQ(like_comma("a;b\n1.234,5;0\n1.234;0\n"), (RowMatrix{{1234.5}, {1234}}));
  EXPECT_MESSAGE(DataError, like_comma("a\n2.446\n2.990\n"), "line 2",
                 "'2.446' is 2.446 as number, but 2446 as decimal comma, as in the data of the model");
  EXPECT_EQ(read_encoding(encoding_text(trained.encoding)).features(), trained.encoding.features());
  EXPECT_MESSAGE(DataError, read_encoding("{\"inputs\": 3}"), "columns of a model");
}

TEST_F(Tables, ColumnsOfOneNameAreToldByTheirPlace) {
  const Dataset data = read("a,a,b,y\n1,2,3,0.5\n4,5,6,1.5\n");
  EXPECT_EQ(data.X, (RowMatrix{{1, 2, 3}, {4, 5, 6}}));
}

TEST_F(Tables, OptionsOfTablesAreErrorsElsewhere) {
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("digits", {.features = "all"}),
                 "`features` is for tables");
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("digits", {.drop = {"1"}}), "`drop` is for tables");
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("digits", {.id = "1"}), "`id` is for tables");
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("digits", {.one_hot = {"1"}}),
                 "`one_hot` is for tables");
}

}  // namespace
}  // namespace zeroloss
