#include "zeroloss/sources/arrays.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/numpy.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

class Arrays : public test::TempFolder {};

const RowMatrix kTable{{1, 2, 3}, {4, 5, 6}};

TEST_F(Arrays, ReadsNpyAndNamedArraysOfNpz) {
  EXPECT_EQ(read_matrix(write("t.npy", test::npy(kTable))), kTable);
  EXPECT_EQ(read_matrix(write("v.npy", test::npy(kTable, "(6,)"))), kTable.reshaped<Eigen::RowMajor>());
  test::write_npz(path("t.npz"), {{"other", test::npy(kTable.leftCols(1))}, {"Y", test::npy(kTable)}});
  EXPECT_EQ(read_matrix(path("t.npz"), "Y"), kTable);
  const std::string files = std::string(ZEROLOSS_TEST_FILES) + "/";  // by NumPy
  EXPECT_EQ(read_matrix(files + "f8_le_fortran.npy"), read_matrix(files + "f8_le.npy"));
}

TEST_F(Arrays, WhatIsNotAMatrixIsNamed) {
  EXPECT_MESSAGE(DataError, read_matrix(path("absent.npy")), "absent.npy");
  EXPECT_MESSAGE(DataError, read_matrix(write("c.npy", test::npy(kTable, "(1, 2, 3)"))), "(1, 2, 3)");
  EXPECT_MESSAGE(DataError, read_matrix(std::string(ZEROLOSS_TEST_FILES) + "/text.npy"), "text");
  test::write_npz(path("t.npz"), {{"a", test::npy(kTable)}});
  EXPECT_MESSAGE(DataError, read_matrix(path("t.npz"), "Y"), "no array 'Y'", "a (2, 3)");
  EXPECT_MESSAGE(DataError, read_matrix(path("t.npz")), "not an npy file");
  RowMatrix broken = kTable;
  broken(1, 2) = INFINITY;
  EXPECT_MESSAGE(DataError, read_matrix(write("n.npy", test::npy(broken))), "row 1, column 2", "inf");
  const std::string whole = test::npy(kTable);
  EXPECT_MESSAGE(DataError, read_matrix(write("s.npy", whole.substr(0, whole.size() - 8))), "truncated");
}

TEST_F(Arrays, OfAnyDimensionsAreDescribedAndReadRowByRow) {
  test::write_npz(path("t.npz"), {{"W", test::npy(kTable, "(3, 1, 2)")}, {"v", test::npy(kTable, "(6,)")}});
  const auto found = arrays_in(path("t.npz"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "W");
  EXPECT_EQ(found[0].shape, (std::vector<Index>{3, 1, 2}));
  EXPECT_EQ(found[1].shape, (std::vector<Index>{6}));
  EXPECT_EQ(read_array(path("t.npz"), "W"), (RowMatrix{{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(arrays_in(write("t.npy", test::npy(kTable)))[0].name, "");
  EXPECT_EQ(read_array(path("t.npy")), kTable);
  EXPECT_MESSAGE(DataError, read_array(path("t.npz"), "u"), "no array 'u'");
  EXPECT_MESSAGE(DataError, read_array(write("one.npy", test::npy(kTable.topLeftCorner(1, 1), "()"))),
                 "single number");
  EXPECT_MESSAGE(DataError, arrays_in(write("t.txt", "text")), "not an npy file");
}

}  // namespace
}  // namespace zeroloss
