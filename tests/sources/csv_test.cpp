#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss {
namespace {

class Csv : public test::TempFolder {
 protected:
  Dataset read(const std::string& text, const ReadOptions& options = {}) {
    return read_dataset(write("t.csv", text), options);
  }
};

TEST_F(Csv, ReadsNumbersWithoutHeader) {
  const Dataset data = read("1,2.5\n-3,1e5\n");
  EXPECT_EQ(data.X, (RowMatrix{{1, 2.5}, {-3, 1e5}}));
  EXPECT_EQ(data.task, Task::none);
  EXPECT_EQ(data.y.size(), 0);
  EXPECT_TRUE(data.feature_names.empty());
  EXPECT_TRUE(data.target_name.empty());
  EXPECT_EQ(data.records, (std::vector<Index>{0, 1}));
  EXPECT_EQ(data.digest, sha256("1,2.5\n-3,1e5\n"));
  EXPECT_EQ(data.name, path("t.csv"));
  EXPECT_EQ(data.label_treatment, "given");
}

TEST_F(Csv, ReadsEveryWayToWriteANumber) {
  EXPECT_EQ(read(" +1 ,\"2\", .5\t,-1E-3,007\n").X, (RowMatrix{{1, 2, 0.5, -1e-3, 7}}));
}

TEST_F(Csv, ReadsEveryLineEndingAndTheByteOrderMark) {
  const RowMatrix expected{{1, 2}, {3, 4}};
  for (const std::string text : {"1,2\n3,4\n", "1,2\r\n3,4\r\n", "1,2\n3,4", "1,2\r3,4\r",
                                 "\xEF\xBB\xBF"
                                 "1,2\n3,4\n",
                                 "\n1,2\n\n3,4\n\n"})
    EXPECT_EQ(read(text).X, expected) << text;
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\n1,2\n")
                .feature_names,
            (std::vector<std::string>{"a", "b"}));
}

TEST_F(Csv, FindsTheSeparator) {
  const RowMatrix expected{{1, 2}, {3, 4}};
  EXPECT_EQ(read("1;2\n3;4\n").X, expected);
  EXPECT_EQ(read("1\t2\n3\t4\n").X, expected);
  EXPECT_EQ(read("\"a,b,c,d\";e\n1;2\n3;4\n").X, expected) << "separators inside quotes do not count";
  EXPECT_EQ(read("5\n6\n").X, (RowMatrix{{5}, {6}}));
}

TEST_F(Csv, TakesTheUsualTargetNames) {
  for (const std::string name : {"label", "target", "class", "y", "LABEL", "Y"}) {
    const Dataset data = read("a," + name + ",b\n1,0,2\n3,1,4\n");
    EXPECT_EQ(data.X, (RowMatrix{{1, 2}, {3, 4}}));
    EXPECT_EQ(data.y, (Vector{{0, 1}}));
    EXPECT_EQ(data.feature_names, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(data.target_name, "column 1 ('" + name + "')");
  }
  EXPECT_EQ(read("labels,yes\n1,2\n").task, Task::none) << "only exact names count";
  EXPECT_EQ(read("y,label\n5,0\n6,1\n").target_name, "column 1 ('label')");
}

TEST_F(Csv, TakesTheTargetByNameOrIndex) {
  const std::string text = "a,b,label\n1,2,0\n3,4,1\n";
  EXPECT_EQ(read(text, {.target = "a"}).y, (Vector{{0, 1}})) << "class indices of 1 and 3";
  EXPECT_EQ(read(text, {.target = "1"}).X, (RowMatrix{{1, 0}, {3, 1}}));
  EXPECT_EQ(read(text, {.target = "none"}).X, (RowMatrix{{1, 2, 0}, {3, 4, 1}}));
  EXPECT_EQ(read("1,2\n3,4\n", {.target = "0"}).class_names, (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(read("1,0\n5,6\n7,8\n", {.target = "1", .task = "regression"}).y, (Vector{{0, 6, 8}}));
}

TEST_F(Csv, ReadsTextClasses) {
  const Dataset data =
      read("x,species\n1,\"set, \"\"osa\"\"\"\n2,virginica\n3, virginica \n", {.target = "species"});
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"set, \"osa\"", "virginica"}));
  EXPECT_EQ(data.y, (Vector{{0, 1, 1}}));
  EXPECT_EQ(data.task, Task::classification);
}

TEST_F(Csv, ReadsGzip) {
  const Dataset data = read_dataset(write_gz("t.csv.gz", "a,y\n1,0.5\n2,1.5\n"));
  EXPECT_EQ(data.X, (RowMatrix{{1}, {2}}));
  EXPECT_EQ(data.y, (Vector{{0.5, 1.5}}));
  EXPECT_EQ(data.digest, sha256_file(path("t.csv.gz")));
}

TEST_F(Csv, ReadsTextFilesOfAnyName) {
  EXPECT_EQ(read_dataset(write("table.txt", "1,2\n3,4\n")).X, (RowMatrix{{1, 2}, {3, 4}}));
  EXPECT_EQ(read_dataset(write("iris.DATA", "1 ;2\n")).X, (RowMatrix{{1, 2}}));
}

TEST_F(Csv, NamesMissingValuesByLineAndColumn) {
  const ReadOptions strict{.missing = "error"};
  for (const std::string value : {"", "NA", "nan", "NaN", " ", "\"\"", "?", "n/a", "NULL", "none", "-", "."})
    EXPECT_MESSAGE(DataError, read("a,b\n1,2\n3," + value + "\n", strict), "t.csv", "line 3",
                   "column 1 ('b')", "missing", "`missing=median`");
  EXPECT_MESSAGE(DataError, read("1,2\n,4\n", strict), "line 2", "column 0", "missing");
  EXPECT_MESSAGE(DataError, read("a,y\n1,0\n2,NA\n", strict), "line 3", "column 1 ('y')", "missing target");
  EXPECT_MESSAGE(DataError, read("1,,3\n1,2,3\n", strict), "line 1", "column 1", "missing");
  EXPECT_MESSAGE(std::invalid_argument, read("1,2\n", {.missing = "mean"}), "missing", "mean");
}

TEST_F(Csv, NamesWhatIsNotANumber) {
  EXPECT_MESSAGE(DataError, read("a,b\n1,2\n3,four\n"), "line 3", "column 1 ('b')", "text 'four'",
                 "expected a number", "`drop=b`");
  for (const std::string text : {"1.2.3", "0x10", "+-1", "1,5x", "--1", "1e", "+"})
    EXPECT_MESSAGE(DataError, read("a\n1\n\"" + text + "\"\n"), "line 3", "text '" + text + "'");
  for (const std::string value : {"inf", "-inf", "Infinity"})
    EXPECT_MESSAGE(DataError, read("a,b\n1," + value + "\n"), "line 2", "column 1 ('b')", "not finite");
  EXPECT_MESSAGE(DataError, read("a,b\n1,1e999\n"), "line 2", "'1e999'", "range");
  EXPECT_MESSAGE(DataError, read("a,y\n1,0.5\n1,inf\n"), "line 3", "not finite");
}

TEST_F(Csv, NamesRaggedRecords) {
  EXPECT_MESSAGE(DataError, read("1,2\n3\n"), "line 2", "found 1 fields", "expected 2");
  EXPECT_MESSAGE(DataError, read("a,b\n1,2\n3,4,5\n"), "line 3", "found 3 fields", "expected 2");
}

TEST_F(Csv, CountsPhysicalLines) {
  EXPECT_MESSAGE(DataError, read("\"a\nb\",y\n1,2\nx,3\n"), "line 4", "text 'x'");
  EXPECT_MESSAGE(DataError, read("y,\"a\r\nb\r\nc\"\r\n\"0\n\",1\r\n2,\"2\n\n\"\r\n3,\"w\n\"\r\n"), "line 9",
                 "text 'w");
  EXPECT_MESSAGE(DataError, read("1,2\n\n\n3,x\n"), "line 4", "text 'x'");
  EXPECT_MESSAGE(DataError, read("1,2\r3,4\r5,x\r"), "line 3", "text 'x'");
}

TEST_F(Csv, NamesQuotesOutOfPlace) {
  EXPECT_MESSAGE(DataError, read("a,b\n1,\"2\n3,4\n"), "line 2", "quote");
  EXPECT_MESSAGE(DataError, read("a,b\n1,2\"3\n"), "line 2", "quote");
  EXPECT_MESSAGE(DataError, read("a,b\n\"1\"2,3\n"), "line 2", "quote");
}

TEST_F(Csv, AWordInTheFirstRecordIsNotAHeaderWhereTheSecondHasOneToo) {
  const Dataset iris = read("5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,virginica\n", {.target = "2"});
  EXPECT_EQ(iris.n(), 3);
  EXPECT_EQ(iris.class_names, (std::vector<std::string>{"setosa", "virginica"}));
  EXPECT_EQ(iris.X(0, 0), 5.1);
  EXPECT_TRUE(iris.feature_names.empty());
  const Dataset named = read("a,b,kind\n4.9,3.0,setosa\n7.0,3.2,virginica\n", {.target = "kind"});
  EXPECT_EQ(named.n(), 2);
  EXPECT_MESSAGE(DataError, read("1,2,a\n3,b\n", {.target = "2"}), "line 2", "2 fields", "3");
}

TEST_F(Csv, NamesEmptyFiles) {
  EXPECT_MESSAGE(DataError, read(""), "t.csv", "is empty");
  EXPECT_MESSAGE(DataError, read("\n\n"), "is empty");
  EXPECT_MESSAGE(DataError, read("a,b\n"), "header", "no records");
  EXPECT_MESSAGE(DataError, read("y\n1\n2\n"), "only the target column");
}

TEST_F(Csv, NamesDamagedGzip) {
  std::string rows;
  for (int i = 0; i < 5000; ++i) rows += std::to_string(i * 7919 % 10007) + "," + std::to_string(i) + "\n";
  const std::string whole = content(write_gz("t.csv.gz", rows));
  write("cut.csv.gz", whole.substr(0, whole.size() / 2));
  EXPECT_MESSAGE(DataError, read_dataset(path("cut.csv.gz")), "cut.csv.gz", "truncated gzip");
  write("cut.csv.gz", whole.substr(0, whole.size() - 4));
  EXPECT_MESSAGE(DataError, read_dataset(path("cut.csv.gz")), "truncated gzip");
  std::string flipped = whole;
  flipped[flipped.size() - 6] ^= 1;
  write("bad.csv.gz", flipped);
  EXPECT_MESSAGE(DataError, read_dataset(path("bad.csv.gz")), "damaged gzip");
}

TEST_F(Csv, NamesWrongTargets) {
  EXPECT_MESSAGE(DataError, read("a,b\n1,2\n", {.target = "c"}), "'c'", "a, b", "2 columns");
  EXPECT_MESSAGE(DataError, read("1,2\n", {.target = "2"}), "'2'", "2 columns", "no header");
  EXPECT_EQ(read("1,2\n3,4\n", {.target = "-1", .task = "regression"}).y, (Vector{{2, 4}}));
  EXPECT_MESSAGE(DataError, read("1,2\n", {.target = "-3"}), "'-3'");
  EXPECT_MESSAGE(DataError, read("y,Y\n1,2\n"), "more than one column is called 'y'");
  EXPECT_MESSAGE(DataError, read("a,a\n1,2\n", {.target = "a"}), "more than one column is called 'a'");
}

TEST_F(Csv, RoundTripsRandomMatrices) {
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    Random random(trial, Stream::points);
    RowMatrix X(static_cast<Index>(1 + random.below(30)), static_cast<Index>(1 + random.below(12)));
    for (double& x : X.reshaped()) x = random.normal() * std::pow(10, random.uniform() * 600 - 300);
    std::string text;
    for (Index i = 0; i < X.rows(); ++i)
      for (Index j = 0; j < X.cols(); ++j)
        text += fmt::format("{:.17g}{}", X(i, j), j + 1 < X.cols() ? ',' : '\n');
    EXPECT_EQ(read(text).X, X) << trial;
  }
}

TEST_F(Csv, AFirstLineMayCountWhatFollows) {
  using Names = std::vector<std::string>;
  const Dataset iris = read("4,2,set,versi,virg\n1,2,0\n3,4,1\n5,6,1\n7,8,2\n");
  EXPECT_EQ(iris.X, (RowMatrix{{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
  EXPECT_EQ(iris.class_names, (Names{"set", "versi", "virg"}));
  EXPECT_EQ(iris.y, (Vector{{0, 1, 1, 2}}));
  EXPECT_EQ(iris.remarks, (Names{"first line: 4 records of 2 features, classes set, versi, virg"}));
  EXPECT_EQ(read("2,4,b,a,c\n1,2,3,4,1\n3,4,5,6,0\n").class_names, (Names{"a", "b"}))
      << "as wide as a record";
  const Dataset plain = read("3,2\n1,2,0.5\n3,4,1.5\n5,6,2.5\n", {.target = "-1"});
  EXPECT_EQ(plain.y, (Vector{{0.5, 1.5, 2.5}}));
  EXPECT_EQ(plain.remarks, (Names{"first line: 3 records of 2 features"}));
  EXPECT_EQ(read("3,1\n1,2\n3,4\n").n(), 3) << "numbers only, and as wide: a record";
  EXPECT_MESSAGE(DataError, read("5,2,a,b\n1,2,0\n3,4,1\n"), "line 2", "found 3 fields, expected 4");
  EXPECT_MESSAGE(DataError, read("3,2,a,b\n1,2,0\n3,4\n5,6,0\n"), "line 3",
                 "expected 3 as the first line says");
}

TEST_F(Csv, NamesOfTextColumnsAreThoseThatNeverRecur) {
  std::string records;
  for (int i = 0; i < 12; ++i)
    records +=
        std::string(i % 2 == 0 ? "e" : "p") + "," + "xyz"[i % 3] + ",note" + std::to_string(i / 5) + "\n";
  using Names = std::vector<std::string>;
  const Dataset named = read("edible,cap,note\n" + records, {.target = "edible"});
  EXPECT_EQ(named.n(), 12);
  EXPECT_EQ(named.class_names, (Names{"e", "p"}));
  EXPECT_EQ(named.feature_names.front(), "cap = x");
  EXPECT_EQ(read(records, {.target = "0"}).n(), 12) << "its first cells recur";
  EXPECT_EQ(read("e,cap,note\n" + records, {.target = "0"}).n(), 13) << "one of them does";
  EXPECT_EQ(read("edible,cap,cap\n" + records, {.target = "0"}).n(), 13) << "names differ";
  EXPECT_EQ(read("q,w,v\n" + records + "s,u,t\n", {.target = "0"}).n(), 14) << "others do not recur either";
  EXPECT_EQ(read("day,kind\n2020-01-01,u\n2020-01-02,v\n", {.target = "kind"}).n(), 2)
      << "a word above a date";
  EXPECT_EQ(read("\"1,000\",5\n7,6\n").n(), 2) << "an amount is none";
}

TEST_F(Csv, DescriptionsAndFilesOfOtherProgramsAreRefusedInWords) {
  EXPECT_MESSAGE(DataError, read_dataset(write("iris.names", "1. Title\n")), "iris.names", "description",
                 "iris.data, which is not here");
  write("iris.data", "1,2,u\n3,4,v\n\n");
  EXPECT_MESSAGE(DataError, read_dataset(path("iris.names")), "give " + path("iris.data"));
  EXPECT_EQ(read_dataset(path("iris.data"), {.target = "-1"}).class_names,
            (std::vector<std::string>{"u", "v"}));
  EXPECT_MESSAGE(DataError, read_dataset(write("it's.parquet", "PAR1")), "is a Parquet file",
                 "zeroloss.read_dataset", "python3 -c 'import pandas; pandas.read_parquet(\"",
                 "it'\\''s.csv");
  EXPECT_MESSAGE(DataError, read_dataset(write("t.XLSX", "PK\x03\x04"), {.target = "y"}), "a spreadsheet",
                 "read_excel");
  EXPECT_MESSAGE(DataError, read_dataset(write("t.feather", "ARROW1")), "an Arrow file", "read_feather");
}

TEST_F(Csv, LinesAboveTheTableAreSkippedAndSaid) {
  using Names = std::vector<std::string>;
  const RowMatrix expected{{1, 2, 3}, {4, 5, 6}};
  const struct {
    std::string text;
    Names remarks;
  } cases[] = {
      {"sep=;\na;b;c\n1;2;3\n4;5;6\n", {}},
      {"# made by hand\n# on a day\na,b,c\n1,2,3\n4,5,6\n",
       {"above the table: 2 lines not read ('# made by hand', ..); `skip` says how many"}},
      {"# a b c\n1 2 3\n4 5 6\n", {"columns: blanks separate them"}},
      {"Report\n\na,b,c\n1,2,3\n4,5,6\n",
       {"above the table: 1 line not read ('Report'); `skip` says how many"}},
      {"Report,,\n,,\na,b,c\n1,2,3\n4,5,6\n",
       {"above the table: 2 lines not read ('Report,,', ..); `skip` says how many"}},
      {"a,b,c\nmm,mm,kg\n1,2,3\n4,5,6\n", {"left out: line 2, units ('mm', ..); `skip=0` keeps it"}},
      {"a,b,c\n1,2,3,\n4,5,6,\n", {"left out: the empty field behind the last column of 2 records"}},
      {"a,b,c\n1,2,3\n# half of it\n4,5,6\n", {"left out: 1 line beginning with #"}},
      {"a,b,c\n1,2,3\n4,5,6\nTotal,,9\n", {"left out: line 4, a total ('Total'); `skip_end=0` keeps it"}}};
  for (const auto& [text, remarks] : cases) {
    const Dataset data = read(text, {.target = "none"});
    EXPECT_EQ(data.X, expected) << text;
    EXPECT_EQ(data.feature_names, (Names{"a", "b", "c"})) << text;
    EXPECT_EQ(data.remarks, remarks) << text;
  }
  EXPECT_EQ(read("a b\nr1 1 2\nr2 3 4\nr3 5 6\n", {.features = "a,b"}).X, (RowMatrix{{1, 2}, {3, 4}, {5, 6}}))
      << "R gives its row names no name";
  EXPECT_EQ(read("|1x3 Cross validator\n58, u, 1\n61, ?, 2\n60, v, 3\n").n(), 3);
  EXPECT_EQ(read("x,v\n1,2\n3,4\n").n(), 2) << "two cells are no title";
  EXPECT_MESSAGE(DataError, read("a,b\n1,2\n#3,4,5\n\"#4\",5\n7\n"), "line 5", "found 1 fields");
}

TEST_F(Csv, NamesThatAreNumbersAreTold) {
  using Names = std::vector<std::string>;
  const Dataset counted = read("0,1,2\n5,6,a\n7,8,b\n9,9,a\n", {.target = "2"});
  EXPECT_EQ(counted.X, (RowMatrix{{5, 6}, {7, 8}, {9, 9}}));
  EXPECT_EQ(counted.feature_names, (Names{"0", "1"}));
  EXPECT_EQ(counted.remarks.at(0),
            "names: 0, 1, .. as pandas calls columns; `header=no` takes them for a record");
  EXPECT_EQ(read(",0,1\n0,6,7.5\n1,8,1.5\n", {.features = "0,1"}).X, (RowMatrix{{6, 7.5}, {8, 1.5}}));
  EXPECT_EQ(read("0,1,2\n5,6,7\n", {.header = "no"}).n(), 2);
  EXPECT_EQ(read("0,1\n1,0\n").n(), 2) << "of two columns it may be a record";
  std::string years = "country,2019,2020,k\n";
  for (int i = 0; i < 24; ++i) years += fmt::format("{},{},{},{}\n", "AB"[i % 2], 30 + i, 54.5, "xyz"[i % 3]);
  EXPECT_EQ(read(years, {.target = "k"}).n(), 24);
}

TEST_F(Csv, WhatStandsBelowTheTableIsNoRecord) {
  const std::string table = "a,b,c\n1,2,3\n4,5,6\n";
  const Dataset noted = read(table + "\nSource: me\n", {.target = "none"});
  EXPECT_EQ(noted.n(), 2);
  EXPECT_EQ(noted.remarks.at(0), "left out: line 5, a note ('Source: me'); `skip_end` says how many");
  EXPECT_MESSAGE(DataError, read(table + "Source: me\n7,8,9\n"), "line 4", "found 1 fields, expected 3");
  EXPECT_MESSAGE(DataError, read(table + "7\n"), "line 4", "`skip_end`");
  EXPECT_EQ(read(table + "7\nx,y\n", {.target = "none", .skip_end = 2}).n(), 2);
  EXPECT_MESSAGE(DataError, read(table, {.skip_end = 3}), "is empty");
  EXPECT_MESSAGE(DataError, read("a,v,k\n37,1,10,x\n37,2,11,y\n"), "found 4 fields, expected 3");
  std::string many = "a,b\n";
  for (int i = 0; i < 12; ++i) many += fmt::format("{},{}\n", i * i, i % 5);
  EXPECT_MESSAGE(DataError, read(many + "Footnote 1,2\n"), "'Footnote 1'", "`skip_end=1`");
}

TEST_F(Csv, TheFormOfATableMayBeSaid) {
  const ReadOptions form{.target = "none", .delimiter = "/", .decimal = ",", .header = "no", .skip = 1};
  EXPECT_EQ(read("1/2\n1,5/2\n3/1.000\n", form).X, (RowMatrix{{1.5, 2}, {3, 1000}}));
  EXPECT_EQ(read("5,6\n7,8\n", {.header = "yes"}).feature_names, (std::vector<std::string>{"5", "6"}));
  EXPECT_EQ(read("5\t6\n7\t8\n", {.delimiter = "tab"}).X, (RowMatrix{{5, 6}, {7, 8}}));
  EXPECT_EQ(read("1,2\n3,4\n5,6\n", {.skip_end = 2}).X, (RowMatrix{{1, 2}}));
  EXPECT_EQ(read("a;b\n1,234;5\n2,345;6\n", {.decimal = "."}).X, (RowMatrix{{1234, 5}, {2345, 6}}));
  EXPECT_MESSAGE(DataError, read("1,2\n", {.skip_end = 1}), "is empty");
  EXPECT_MESSAGE(std::invalid_argument, read("1,2\n", {.skip = -1}), "`skip` must be >= 0");
  EXPECT_MESSAGE(std::invalid_argument, read("1,2\n", {.delimiter = "::"}), "`delimiter`", "'::'");
  EXPECT_MESSAGE(std::invalid_argument, read("1,2\n", {.header = "maybe"}), "header", "maybe");
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("digits", {.skip = 1}), "`skip` is for tables");
}

TEST_F(Csv, TextInOtherEncodingsIsRead) {
  const std::string plain = "gr\u00F6\u00DFe,y\n1,s\u00FC\u00DF\n2,sauer\n3,\U0001F600\n";
  std::u16string wide = u"gr\u00F6\u00DFe,y\n1,s\u00FC\u00DF\n2,sauer\n3,\U0001F600\n";
  std::string little = "\xFF\xFE", big = "\xFE\xFF";
  for (const char16_t c : wide) {
    little += {static_cast<char>(c & 0xFF), static_cast<char>(c >> 8)};
    big += {static_cast<char>(c >> 8), static_cast<char>(c & 0xFF)};
  }
  const Dataset expected = read(plain);
  for (const std::string& text : {little, big}) {
    EXPECT_EQ(read(text).class_names, expected.class_names);
    EXPECT_EQ(read(text).feature_names, expected.feature_names);
  }
  EXPECT_MESSAGE(DataError, read(little + "1"), "half a character");
  EXPECT_MESSAGE(DataError, read(big.substr(0, big.size() - 4)), "half a character");
  const Dataset latin = read(
      "gr\xF6\xDF"
      "e,y\n1,s\xFC\xDF\n2,sauer\n");
  EXPECT_EQ(latin.feature_names, expected.feature_names);
  EXPECT_EQ(latin.class_names, (std::vector<std::string>{"sauer", "s\u00FC\u00DF"}));
  EXPECT_EQ(latin.remarks,
            (std::vector<std::string>{"text: 2 lines are no UTF-8 and read as Latin-1, line 1 the first"}));
}

TEST_F(Csv, NamesThatDifferInTheirSpellingAloneAreJoinedIfAsked) {
  using Names = std::vector<std::string>;
  const std::string text = "c,v,y\nred,1,No\nRed,2,no.\nblue,3,Yes\nred,4,No\nblue,5,Yes\n";
  const Dataset apart = read(text), joined = read(text, {.spelling = "joined"});
  EXPECT_EQ(apart.class_names, (Names{"No", "Yes", "no."}));
  EXPECT_EQ(apart.remarks.at(1),
            "spellings: Red, red in column 0 ('c') differ in case, blanks or a final period alone; "
            "`spelling=joined` makes one name of such");
  EXPECT_EQ(apart.remarks.at(2).substr(0, 22), "spellings: No, no. in ");
  EXPECT_EQ(joined.class_names, (Names{"No", "Yes"}));
  EXPECT_EQ(joined.feature_names, (Names{"c = red", "v"}));
  EXPECT_EQ(joined.y, (Vector{{0, 0, 1, 0, 1}}));
  const Source test = open_source(write("test.csv", "c,v,y\nRED,1,NO\nblue,2,yes\n"), {});
  EXPECT_EQ(select_test(joined, test, test_options("test.csv", joined, {})).X, (RowMatrix{{1, 1}, {0, 2}}));
  EXPECT_EQ(select_test(joined, test, test_options("test.csv", joined, {})).y, (Vector{{0, 1}}));
  const Source other = open_source(write("other.csv", "c,v,y\nred,1,yes\n"), {});
  EXPECT_MESSAGE(DataError, select_test(apart, other, {}), "class 'yes'", "differs from 'Yes'",
                 "`spelling=joined`");
}

TEST_F(Csv, AnUnknownCategoryIsAsAMissingCellIfAsked) {
  const Dataset data = read("c,v,y\na,1,0.5\nb,2,1.5\nc,3,2.5\n,4,3.5\n");
  const Source source = open_source(write("new.csv", "c,v\nd,5\nb,6\n"), {});
  EXPECT_MESSAGE(DataError, select(source, {}, {.encoding = &data.encoding}), "line 2: column 0 ('c')", "'d'",
                 "a, b, c", "`unknown=missing`");
  const Dataset taken = select(source, {.unknown = "missing"}, {.encoding = &data.encoding});
  EXPECT_EQ(taken.X, (RowMatrix{{0, 0, 0, 1, 5}, {0, 1, 0, 0, 6}}));
  EXPECT_EQ(taken.remarks.at(0),
            "unknown: column 0 ('c'), 1 cell of categories that the model's data did not have, as "
            "missing cells");
  EXPECT_EQ(select(source, {.missing = "drop", .unknown = "missing"}, {.encoding = &data.encoding}).n(), 1);
}

TEST_F(Csv, ManyColumnsAreSaidInOneLine) {
  std::string text = "a,b,c,d,e,y\n";
  for (int i = 0; i < 12; ++i)
    text += fmt::format("{},2020-01-{:02},yes,no,{},{}\n", i % 2 == 0 ? "u" : "v", i + 1, i == 3 ? "" : "7.5",
                        i + 0.5);
  const Dataset data = read(text), verbose = read(text, {.verbose = true});
  EXPECT_EQ(data.remarks.size(), 5u);
  EXPECT_EQ(data.shown_remarks(),
            (std::vector<std::string>{
                "columns: 1 read as date, 2 read as truth, 1 of categories (2 indicators), 1 missing "
                "cell of 1 filled by medians and flagged; `verbose` says it of each"}));
  EXPECT_EQ(verbose.shown_remarks(), data.remarks);
}

TEST_F(Csv, OtherTextFormatsAreRead) {
  using Names = std::vector<std::string>;
  const Dataset arff = read(
      "% by hand\n@RELATION 'a b'\n@attribute 'x 1' REAL\n@attribute c {0, 1}\n@ATTRIBUTE class {'a b',c} % "
      "two\n"
      "@data\n1.5,0,'a b'\n?,1,c % comment\n2.5,1,'a b'\n");
  EXPECT_EQ(arff.feature_names, (Names{"x 1", "x 1 is missing", "c = 1"}));
  EXPECT_EQ(arff.X, (RowMatrix{{1.5, 0, 0}, {1.5, 1, 1}, {2.5, 0, 1}}));
  EXPECT_EQ(arff.class_names, (Names{"a b", "c"}));
  EXPECT_EQ(read("@relation r\n@attribute a numeric\n@attribute b {u,v}\n@data\n{0 3}\n{1 v}\n{}\n").X,
            (RowMatrix{{3, 0}, {0, 1}, {0, 0}}))
      << "sparse";
  EXPECT_EQ(read("@relation r\n@attribute d date \"dd/MM/yyyy\"\n@data\n01/03/1970\n").X, (RowMatrix{{59}}));
  EXPECT_MESSAGE(DataError, read("@relation r\n@attribute d date dd/MM/yyyy\n@data\n1/3/1970\n"), "line 4",
                 "'1/3/1970'", "'dd/MM/yyyy'");
  EXPECT_MESSAGE(DataError, read("@relation r\n@attribute a numeric\n@data\n1,2\n"), "line 4",
                 "found 2 cells, expected 1");
  EXPECT_MESSAGE(DataError, read("@relation r\n@attribute a odd\n@data\n1\n"), "line 2", "type 'odd'");
  EXPECT_MESSAGE(DataError, read("@relation r\n@attribute a numeric\n@data\n'1\n"), "a quote is not closed");
  EXPECT_MESSAGE(DataError, read("@relation r\n@attribute a numeric\n@data\n"), "no records behind @data");

  const Dataset sparse = read("+1 qid:3 1:0.5 3:2 # one\n\n-1 2:-1\n+1 1:4 2:1e2\n");
  EXPECT_EQ(sparse.X, (RowMatrix{{0.5, 0, 2}, {0, -1, 0}, {4, 100, 0}}));
  EXPECT_EQ(sparse.class_names, (Names{"-1", "1"}));
  EXPECT_EQ(sparse.y, (Vector{{1, 0, 1}}));
  EXPECT_EQ(read("0.5 0:1 1:2\n1.5 0:3\n").X, (RowMatrix{{1, 2}, {3, 0}})) << "indices from 0";
  EXPECT_MESSAGE(DataError, read_dataset(write("t.svm", "1 1:2 2:3\n1 1:2 1:3\n")), "line 2: index 1 twice");

  const Dataset train = read("1 1:1 3:2\n0 2:1\n");
  const Source shorter = open_source(write("new.svm", "1 1:5 2:1\n0 1:1\n"), {});
  EXPECT_EQ(select_test(train, shorter, {}).X, (RowMatrix{{5, 1, 0}, {1, 0, 0}}));
  EXPECT_MESSAGE(DataError, read("1,2 1:1 3:2\n0 1:1 2:1\n"), "line 1: label '1,2'", "one number a record");

  const Dataset series =
      read("#comment\n@problemName P\n@classLabel true a b\n@data\n1,2,3:4,5:a\n6,7:8,9:b\n0,1,2:3,?:a\n");
  EXPECT_EQ(series.feature_names.at(0), "0:t0");
  EXPECT_EQ(series.class_names, (Names{"a", "b"}));
  EXPECT_EQ(series.n(), 3);
  EXPECT_MESSAGE(DataError, read("@problemName P\n@classLabel true a b\n@data\n1,2:a\n1,2:3:b\n"), "line 5",
                 "found 2 dimensions, expected 1");
}

TEST_F(Csv, IntegersOfWhichMostOccurOnceAreNumbers) {
  const std::string text = "x,y\n1,3\n2,9\n3,3\n4,12\n5,7\n6,9\n7,1\n8,3\n9,15\n10,20\n";
  const Dataset data = read(text);
  EXPECT_EQ(data.task, Task::regression);
  EXPECT_EQ(data.remarks.back(),
            "targets: numbers, 7 different ones in 10 records; `task=classification` makes classes of "
            "them");
  EXPECT_EQ(read(text, {.task = "classification"}).classes(), 7);
}

TEST_F(Csv, IsReadFromMemory) {
  const std::string text = "a;b,c\n1,2\n3,NA\n";
  const auto names = [&](std::optional<bool> header) {
    const ReadOptions options{.target = "none"};
    return select(open_csv("memory", text, header, options), options).feature_names;
  };
  EXPECT_EQ(names(true), (std::vector<std::string>{"a;b", "c", "c is missing"}));
  EXPECT_EQ(open_csv("memory", text, true, {}).digest, sha256(text));
  EXPECT_EQ(open_csv("memory", "1,2\n3,4\n", false, {}).n, 2);
  EXPECT_EQ(open_csv("memory", "1,2\n3,4\n", true, {}).n, 1);
  EXPECT_EQ(open_csv("memory", "x,y\nu,v\n", false, {}).n, 2);
  EXPECT_MESSAGE(DataError, open_csv("memory", "", {}, {}), "memory: is empty");
}

}  // namespace
}  // namespace zeroloss
