#include <gtest/gtest.h>
#include <zip.h>

#include <cstdint>
#include <cstring>
#include <functional>

#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/sources/arrays.hpp"

namespace zeroloss {
namespace {

/// Files made by NumPy with make_files.py.
std::string numpy_file(const std::string& name) { return std::string(ZEROLOSS_TEST_FILES) + "/" + name; }

std::string header(const std::string& dictionary) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dictionary.size()) + '\0' + dictionary;
}

std::string npy(const RowMatrix& X) {
  const std::string bytes(reinterpret_cast<const char*>(X.data()),
                          static_cast<std::size_t>(X.size()) * sizeof(double));
  return header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(X.rows()) + ", " +
                std::to_string(X.cols()) + "), }") +
         bytes;
}

class Npy : public test::TempFolder {
 protected:
  Dataset read(const std::string& bytes, const ReadOptions& options = {}) {
    return read_dataset(write("t.npy", bytes), options);
  }
  void archive(const std::string& name, const std::vector<std::pair<std::string, std::string>>& entries) {
    int status = 0;
    zip_t* zip = zip_open(path(name).c_str(), ZIP_CREATE | ZIP_TRUNCATE, &status);
    for (const auto& [entry, bytes] : entries)
      zip_file_add(zip, entry.c_str(), zip_source_buffer(zip, bytes.data(), bytes.size(), 0), 0);
    ASSERT_EQ(zip_close(zip), 0);
  }
};

TEST_F(Npy, ReadsEveryElementTypeAsNumPyWritesIt) {
  const RowMatrix base{{0, 1}, {2, 3}, {4, 5}};
  const RowMatrix lower = (base.array() - 1).matrix(), parity{{0, 1}, {0, 1}, {0, 1}};
  for (const std::string type : {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"})
    for (const std::string order : {"le", "be"}) {
      if (order == "be" && type.ends_with('1')) continue;
      const RowMatrix expected = type[0] == 'f'   ? RowMatrix(lower / 2)
                                 : type[0] == 'i' ? lower
                                 : type[0] == 'u' ? base
                                                  : parity;
      EXPECT_EQ(read_dataset(numpy_file(type + "_" + order + ".npy")).X, expected) << type << order;
    }
  EXPECT_EQ(read_dataset(numpy_file("f8_le_fortran.npy")).X, lower / 2);
  EXPECT_EQ(read_dataset(numpy_file("i2_be_fortran.npy")).X, lower);
}

TEST_F(Npy, ReadsEveryVersionAndFlattens) {
  for (const char* name : {"version1.npy", "version2.npy", "version3.npy"})
    EXPECT_EQ(read_dataset(numpy_file(name)).X, (RowMatrix{{-0.5, 0}, {0.5, 1}, {1.5, 2}})) << name;
  EXPECT_EQ(read_dataset(numpy_file("cube.npy")).X, (RowMatrix{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}));
}

TEST_F(Npy, SaysWhereIntegersAreRounded) {
  const auto integers = [](std::int64_t last) {
    const std::int64_t cells[] = {1, 2, 3, last};
    return header("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }") +
           std::string(reinterpret_cast<const char*>(cells), sizeof(cells));
  };
  const std::int64_t first = std::int64_t{1} << 53;
  EXPECT_TRUE(read(integers(first - 1)).remarks.empty());
  const Dataset rounded = read(integers(first + 1));
  ASSERT_EQ(rounded.remarks.size(), 1U);
  EXPECT_NE(rounded.remarks.front().find("rounded: integers of 2^53"), std::string::npos);
  EXPECT_TRUE(read(npy(RowMatrix{{1, 0x1p60}})).remarks.empty()) << "a double is what it is";

  const auto beside = [&](const RowMatrix& X, std::int64_t last,
                          const char* task) {  // two points, two targets
    const std::int64_t y[] = {1, last};
    const std::string targets = header("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }") +
                                std::string(reinterpret_cast<const char*>(y), sizeof(y));
    archive("both.npz", {{"X.npy", npy(X)}, {"y.npy", targets}});
    return read_dataset(path("both.npz"), {.task = task}).remarks;
  };
  const RowMatrix large{{0x1p660}, {1}};
  EXPECT_TRUE(beside(large, 2, "regression").empty()) << "the targets are integers, the points are not";
  EXPECT_TRUE(beside(large, first + 1, "classification").empty()) << "names of classes keep their digits";
  EXPECT_EQ(beside(large, first + 1, "regression").size(), 1U);
}

TEST_F(Npy, DescribesItsSource) {
  const Dataset data = read_dataset(numpy_file("f8_le.npy"));
  EXPECT_EQ(data.task, Task::none);
  EXPECT_EQ(data.digest, sha256_file(numpy_file("f8_le.npy")));
  EXPECT_EQ(data.records, (std::vector<Index>{0, 1, 2}));
  EXPECT_MESSAGE(std::invalid_argument, read_dataset(numpy_file("f8_le.npy"), {.target = "a"}), "'a'",
                 "column of a csv");
}

TEST_F(Npy, ReadsOnlyWhatIsWanted) {
  const RowMatrix X = RowMatrix::Random(50, 3);
  const Dataset some = read(npy(X), {.n = 20, .shuffle = true, .seed = 3});
  for (Index i = 0; i < 20; ++i) EXPECT_EQ(some.X.row(i), X.row(some.records[static_cast<std::size_t>(i)]));
  EXPECT_EQ(read(npy(X), {.n = 2}).X, X.topRows(2));
}

TEST_F(Npy, RefusesWhatItCannotRepresent) {
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("vector.npy")), "X must be 2-d", "(3,)");
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("half.npy")), "'<f2'", "expected f4");
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("object.npy")), "'|O'", "dtype=str");
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("structured.npy")), "structured");
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("text.npy")), "X holds text");
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("nan.npy")), "record 1", "column 1", "nan");
}

TEST_F(Npy, NamesDamage) {
  const std::string good = npy(RowMatrix::Ones(3, 2));
  EXPECT_MESSAGE(DataError, read(good.substr(0, good.size() - 1)), "t.npy", "truncated", "expected",
                 std::to_string(good.size()), "found " + std::to_string(good.size() - 1));
  EXPECT_MESSAGE(DataError, read(good + "x"), "too long");
  EXPECT_MESSAGE(DataError, read("NUMPY"), "not an npy file");
  EXPECT_MESSAGE(DataError, read(""), "not an npy file");
  EXPECT_MESSAGE(DataError, read("\x93NUM"), "truncated");
  EXPECT_MESSAGE(DataError, read(good.substr(0, 30)), "truncated", "header");
  EXPECT_MESSAGE(DataError, read(good.substr(0, 9)), "truncated", "header");
  EXPECT_MESSAGE(DataError, read(std::string("\x93NUMPY\x09\x00", 8) + good), "version 9");
  EXPECT_MESSAGE(DataError, read(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)), "4294967295 bytes");
}

TEST_F(Npy, NeverTrustsSizesInItsHeader) {
  const auto with_shape = [](const std::string& shape) {
    return header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "), }") + "12345678";
  };
  EXPECT_MESSAGE(DataError, read(with_shape("1000000000000, 3")), "truncated");
  EXPECT_MESSAGE(DataError, read(with_shape("4611686018427387904, 8")), "impossible size");
  EXPECT_MESSAGE(DataError, read(with_shape("4000000000, 4000000000")), "impossible sizes");
  EXPECT_MESSAGE(DataError, read(with_shape("99999999999999999999, 1")), "impossible size");
  EXPECT_MESSAGE(DataError, read(header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }")),
                 "0 records of 3");
  EXPECT_MESSAGE(DataError, read(header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0), }")),
                 "3 records of 0");
  EXPECT_MESSAGE(DataError, read(header("{'descr': '<f8'}")), "damaged header");
}

TEST_F(Npy, RoundTripsRandomMatricesAloneAndInArchives) {
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    Random random(trial, Stream::points);
    RowMatrix X(static_cast<Index>(1 + random.below(40)), static_cast<Index>(1 + random.below(40)));
    for (double& x : X.reshaped()) x = random.normal();
    EXPECT_EQ(read(npy(X)).X, X);
    archive("t.npz", {{"X.npy", npy(X)}, {"readme.txt", "not an array"}});
    EXPECT_EQ(read_dataset(path("t.npz")).X, X);
  }
}

TEST_F(Npy, ReadsArchives) {
  const RowMatrix X{{-0.5, 0}, {0.5, 1}, {1.5, 2}};
  const Dataset numbers = read_dataset(numpy_file("numbers.npz"));
  EXPECT_EQ(numbers.X, X);
  EXPECT_EQ(numbers.y, (Vector{{0.25, 1.5, -2}}));
  EXPECT_EQ(numbers.task, Task::regression);
  EXPECT_EQ(numbers.target_name, "array 'y'");
  EXPECT_EQ(numbers.digest, sha256_file(numpy_file("numbers.npz")));
  EXPECT_EQ(read_dataset(numpy_file("unicode.npz")).class_names,
            (std::vector<std::string>{"chat", "zèbre", "日本"}));
  EXPECT_EQ(read_dataset(numpy_file("unicode.npz")).y, (Vector{{1, 0, 2}}));
  EXPECT_EQ(read_dataset(numpy_file("unicode_be.npz")).y, (Vector{{1, 0, 1}}));
  EXPECT_EQ(read_dataset(numpy_file("bytes.npz")).class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(read_dataset(numpy_file("column_y.npz")).y, (Vector{{0, 1, 0}}));
  EXPECT_EQ(read_dataset(numpy_file("only_table.npz")).X, X);
  EXPECT_EQ(read_dataset(numpy_file("numbers.npz"), {.target = "none"}).task, Task::none);
}

TEST_F(Npy, FindsPairsOfArrays) {
  const auto points = [](Index n) { return npy(RowMatrix::Random(n, 2)); };
  const auto labels = [](const std::string& bytes, std::size_t n) {
    return header("{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(n) + ",), }") +
           bytes;
  };
  using Names = std::vector<std::string>;
  const std::string two("\0\1", 2), three("\1\0\1", 3);
  for (const auto& [X, y] :
       {std::pair{"X", "y"}, {"x_train", "y_train"}, {"data", "target"}, {"data", "labels"}}) {
    archive("t.npz", {{std::string(X) + ".npy", points(2)}, {std::string(y) + ".npy", labels(two, 2)}});
    const Dataset data = read_dataset(path("t.npz"));
    EXPECT_EQ(data.y, (Vector{{0, 1}})) << X;
    EXPECT_EQ(data.target_name, std::string("array '") + y + "'");
    EXPECT_EQ(data.remarks, Names{}) << y;
  }
  archive("t.npz", {{"X_test.npy", points(3)},
                    {"X_train.npy", points(2)},
                    {"y_test.npy", labels(three, 3)},
                    {"y_train.npy", labels(two, 2)},
                    {"X_val.npy", points(3)},
                    {"y_val.npy", labels(three, 3)}});
  EXPECT_EQ(read_dataset(path("t.npz")).n(), 2);
  EXPECT_EQ(read_dataset(path("t.npz")).remarks, (Names{"left out: arrays X_test, y_test, X_val, y_val"}));
  for (const char* target : {"y_test", "y_val"}) {
    const Dataset data = read_dataset(path("t.npz"), {.target = target});
    EXPECT_EQ(data.y, (Vector{{1, 0, 1}})) << target;
    EXPECT_EQ(data.d(), 2);
  }
  EXPECT_EQ(read_dataset(path("t.npz"), {.target = "none"}).task, Task::none);
  EXPECT_MESSAGE(DataError, read_dataset(path("t.npz"), {.target = "y"}), "no array 'y'", "X_test (3, 2)");
  archive("w.npz", {{"X.npy", points(2)}, {"weights.npy", labels(two, 2)}});
  EXPECT_EQ(read_dataset(path("w.npz")).task, Task::none);
  EXPECT_EQ(read_dataset(path("w.npz")).remarks, (Names{"left out: array weights"}));
  EXPECT_EQ(read_dataset(path("w.npz"), {.target = "weights"}).y, (Vector{{0, 1}}));
}

TEST_F(Npy, BigIntegersAreNames) {
  const std::int64_t big[] = {9007199254740993, -9007199254740993, 9007199254740992};
  for (const bool big_endian : {false, true}) {
    std::string bytes;
    for (const std::int64_t value : big)
      for (int k = 0; k < 8; ++k)
        bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * (big_endian ? 7 - k : k) & 0xFF);
    const std::string y = header(std::string("{'descr': '") + (big_endian ? '>' : '<') +
                                 "i8', 'fortran_order': False, 'shape': (3,), }") +
                          bytes;
    archive("t.npz", {{"X.npy", npy(RowMatrix::Random(3, 2))}, {"y.npy", y}});
    EXPECT_EQ(read_dataset(path("t.npz")).class_names,
              (std::vector<std::string>{"-9007199254740993", "9007199254740992", "9007199254740993"}));
    EXPECT_EQ(read_dataset(path("t.npz"), {.task = "regression"}).y(2), 0x1p53);
  }
}

/// An array with the elements in C order, each as its bytes, written in either order.
std::string in_order(bool fortran, const std::string& descr, const std::vector<std::size_t>& shape,
                     const std::vector<std::string>& elements) {
  std::string sizes, bytes;
  for (const std::size_t size : shape) sizes += std::to_string(size) + ", ";
  std::vector<std::size_t> at(shape.size(), 0);
  for (std::size_t k = 0; k < elements.size(); ++k) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + at[i];
    bytes += elements[place];
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t next = fortran ? i : shape.size() - 1 - i;
      if (++at[next] < shape[next]) break;
      at[next] = 0;
    }
  }
  return header("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                ", 'shape': (" + sizes + "), }") +
         bytes;
}

template <class T>
std::vector<std::string> elements_of(const std::vector<T>& values) {
  std::vector<std::string> elements;
  for (const T& value : values) elements.emplace_back(reinterpret_cast<const char*>(&value), sizeof value);
  return elements;
}

TEST_F(Npy, OrdersOfAnArrayAreTheSameNumbers) {
  const auto check = [&]<class T>(const std::string& descr, T) {
    std::vector<T> values(12);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(k * k);
    if (sizeof(T) == 8) values[5] = static_cast<T>(std::int64_t{1} << 60);
    for (const std::vector<std::size_t>& shape :
         std::vector<std::vector<std::size_t>>{{3, 4}, {12, 1}, {1, 12}, {6, 1, 2}, {6, 2, 1}, {1, 1, 12}}) {
      const Dataset rows = read(in_order(false, descr, shape, elements_of(values)));
      const std::string columns = in_order(true, descr, shape, elements_of(values));
      EXPECT_EQ(read(columns).X, rows.X) << descr << " " << shape.size() << " " << shape[0];
      EXPECT_EQ(rows.X(0, rows.d() - 1), static_cast<double>(values[rows.X.cols() - 1]));
      if (shape[0] == 1) continue;
      const ReadOptions some{.n = 2, .shuffle = true, .seed = 7};
      EXPECT_EQ(read(columns, some).X, read(in_order(false, descr, shape, elements_of(values)), some).X);
    }
  };
  check("<f4", float{});
  check("<f8", double{});
  check("|i1", std::int8_t{});
  check("|u1", std::uint8_t{});
  check("<i2", std::int16_t{});
  check("<u2", std::uint16_t{});
  check("<i4", std::int32_t{});
  check("<u4", std::uint32_t{});
  check("<i8", std::int64_t{});
  check("<u8", std::uint64_t{});
  for (const std::vector<std::size_t>& shape :
       std::vector<std::vector<std::size_t>>{{3, 2, 2}, {1, 3, 4}, {2, 3, 1, 2}})
    EXPECT_MESSAGE(DataError, read(in_order(true, "<f8", shape, elements_of(std::vector<double>(12)))),
                   "Fortran order with shape", "ascontiguousarray");
}

TEST_F(Npy, LabelsOfAColumnAreTheSameInBothOrders) {
  const std::int64_t large = std::int64_t{1} << 60;
  const std::vector<std::vector<std::string>> labels{
      elements_of(std::vector<std::int64_t>{large + 7, 10, large + 9, 10}),
      elements_of(std::vector<std::int64_t>{7, 10, -3, 10}),
      {std::string("b\0\0\0c\0\0\0", 8), std::string("a\0\0\0\0\0\0\0", 8), std::string("d\0\0\0c\0\0\0", 8),
       std::string("a\0\0\0\0\0\0\0", 8)},
      {"bc", std::string("a\0", 2), "dc", std::string("a\0", 2)}};
  const char* descr[] = {"<i8", "<i8", "<U2", "|S2"};
  const std::vector<std::vector<std::string>> names{{"10", "1152921504606846983", "1152921504606846985"},
                                                    {"-3", "7", "10"},
                                                    {"a", "bc", "dc"},
                                                    {"a", "bc", "dc"}};
  for (std::size_t k = 0; k < labels.size(); ++k)
    for (const std::vector<std::size_t>& shape : std::vector<std::vector<std::size_t>>{{4}, {4, 1}})
      for (const bool fortran : {false, true}) {
        archive("t.npz", {{"X.npy", npy(RowMatrix::Random(4, 2))},
                          {"y.npy", in_order(fortran, descr[k], shape, labels[k])}});
        const Dataset data = read_dataset(path("t.npz"), {.task = "classification"});
        EXPECT_EQ(data.class_names, names[k]) << descr[k] << shape.size() << fortran;
        EXPECT_EQ(data.y(1), data.y(3));
        EXPECT_EQ(sample(data, 0).label, k == 0 ? names[0][1] : names[k][1]);
      }
}

// What takes no bytes may be said of any size.
TEST_F(Npy, EmptyArraysTakeNoMemory) {
  const auto of_shape = [](const std::string& shape, const std::string& descr = "<f8") {
    return header("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }");
  };
  for (const std::string shape : {"100000000000000000, 0", "3000000000, 0", "0, 3", "3000000000, 0, 7"}) {
    const std::string file = write("t.npy", of_shape(shape));
    for (const auto& read :
         {std::function([&] { (void)read_dataset(file); }), std::function([&] { (void)read_array(file); })})
      EXPECT_MESSAGE(DataError, read(), "t.npy", "records of", "expected at least one of each");
  }
  EXPECT_MESSAGE(DataError, read_matrix(write("t.npy", of_shape("100000000000000000, 0"))), "records of 0");
  archive("t.npz",
          {{"X.npy", of_shape("100000000000000000, 0")}, {"y.npy", of_shape("100000000000000000,", "<U0")}});
  EXPECT_MESSAGE(DataError, read_dataset(path("t.npz")), "records of 0 numbers");
  EXPECT_MESSAGE(DataError, read_matrix(write("t.npy", of_shape("0, 100000000000000000"))), "0 records of");
}

TEST_F(Npy, NamesWhatIsWrongWithAnArchive) {
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("two_tables.npz")), "no array 'X'", "a (3, 2), b (3, 2)");
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("short_y.npz")), "2 values", "3 points");
  EXPECT_MESSAGE(DataError, read_dataset(numpy_file("wide_y.npz")), "y must be 1-d", "(3, 2)");
  EXPECT_MESSAGE(DataError, read_dataset(write("bad.npz", "PK\x03\x04 nothing")), "bad.npz",
                 "not an npz or zip archive");
  const std::string whole = content(numpy_file("numbers.npz"));
  EXPECT_MESSAGE(DataError, read_dataset(write("cut.npz", whole.substr(0, whole.size() / 2))), "truncated");
  archive("none.npz", {{"readme.txt", "nothing here"}});
  EXPECT_MESSAGE(DataError, read_dataset(path("none.npz")), "no arrays");
  const std::string good = npy(RowMatrix::Ones(3, 2));
  archive("short.npz", {{"X.npy", good.substr(0, good.size() - 8)}});
  EXPECT_MESSAGE(DataError, read_dataset(path("short.npz")), "array 'X'", "truncated");
}

TEST_F(Npy, AZipOfOneTableIsThatTable) {
  archive("t.zip", {{"__MACOSX/._t.csv", "x"}, {"folder/t.csv", "a,y\n1,0.5\n2,1.5\n"}});
  EXPECT_EQ(read_dataset(path("t.zip")).X, (RowMatrix{{1}, {2}}));
  archive("readme.zip", {{"t.csv", "a,y\n1,0.5\n2,1.5\n"}, {"README.txt", "a table"}});
  EXPECT_EQ(read_dataset(path("readme.zip")).n(), 2);
  archive("two.zip", {{"a.csv", "1,2\n"}, {"b.csv", "1,2\n"}});
  EXPECT_MESSAGE(DataError, read_dataset(path("two.zip")), "holds 2 files", "a.csv, b.csv");
}

TEST_F(Npy, OneHotTargetsAreClasses) {
  const RowMatrix X{{1, 2}, {3, 4}, {5, 6}};
  archive("hot.npz", {{"X.npy", npy(X)}, {"y.npy", npy(RowMatrix{{0, 1, 0}, {1, 0, 0}, {0, 1, 0}})}});
  const Dataset data = read_dataset(path("hot.npz"));
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(data.y, (Vector{{1, 0, 1}}));
  EXPECT_EQ(data.remarks, (std::vector<std::string>{"one-hot: a row of 'y' is the number of its 1, 0 to 2"}));
  archive("not.npz", {{"X.npy", npy(X)}, {"y.npy", npy(RowMatrix{{0, 1, 0}, {1, 0, 1}, {0, 1, 0}})}});
  EXPECT_MESSAGE(DataError, read_dataset(path("not.npz")), "y must be 1-d, or one-hot; found shape (3, 3)");
}

TEST_F(Npy, IsWrittenAsItIsRead) {
  const RowMatrix X{{1, -2.5, 1e-300}, {0.1, 3, 4}};
  EXPECT_EQ(read_matrix(write("w.npy", npy_bytes(X))), X);
  EXPECT_EQ(npy_bytes(X).size(), 128 + 8u * 6);
}

TEST_F(Npy, IsKnownByItsFirstBytes) {
  EXPECT_EQ(read_dataset(write("array.bin", npy(RowMatrix::Ones(1, 2)))).X, RowMatrix::Ones(1, 2));
  EXPECT_EQ(read_dataset(write("archive.bin", content(numpy_file("numbers.npz")))).n(), 3);
  EXPECT_MESSAGE(DataError, read_dataset(write("what.bin", std::string("\0\1\2", 3))), "what.bin",
                 "format is not known", "csv");
}

}  // namespace
}  // namespace zeroloss
