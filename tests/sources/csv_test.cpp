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
  EXPECT_MESSAGE(DataError,
                 read("\xFF\xFE"
                      "1\n"),
                 "UTF-16");
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
