// Points that claims name where they lie.
#include "present/point_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss::internal {
namespace {

class PointFileTest : public test::TempFolder {
 protected:
  // An array of rows x 3 as numpy writes it.
  template <class T>
  std::string array(const std::string& name, const char* descr, const std::vector<T>& numbers,
                    const char* order = "False") {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}, 3), }}", descr,
                                     order, numbers.size() / 3);
    header.resize(117, ' ');
    header += '\n';
    const std::string path = (folder / name).string();
    std::ofstream out(path, std::ios::binary);
    out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size()) << '\0' << header;
    bytes.assign(reinterpret_cast<const char*>(numbers.data()), sizeof(T) * numbers.size());
    out << bytes;
    return path;
  }
  std::string bytes;
};

TEST_F(PointFileTest, IsTheFileWithItsDigestAndTheRowsThatWereKept) {
  const std::string path = array<float>("x.npy", "<f4", {1, 2, 3, 4, 5, 6, 7, 8, 9.5F, 10, 11, 12});
  const Dataset all = read_dataset(path, {});
  const auto whole = point_file(all);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->rows.empty());
  EXPECT_EQ(whole->array.at("file").as<std::string>(), path);
  EXPECT_EQ(whole->array.at("dtype").as<std::string>(), "float32");
  EXPECT_EQ(whole->array.at("sha256").as<std::string>(), sha256(bytes));
  EXPECT_EQ(whole->array.at("shape").dump(), "[4,3]");
  const Dataset some = read_dataset(path, {.n = 3, .shuffle = true, .seed = 5});
  const auto part = point_file(some);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->rows, some.records);
}

TEST_F(PointFileTest, IsNoneWhereTheNumbersAreOthersOrAnotherProgramDoesNotReadThem) {
  const std::string path = array<double>("x.npy", "<f8", {1, 2, 3, 4, 5, 6});
  Dataset data = read_dataset(path, {});
  ASSERT_TRUE(point_file(data));
  Dataset changed = data;
  changed.X(1, 2) = 6.5;
  EXPECT_FALSE(point_file(changed));
  array<double>("x.npy", "<f8", {1, 2, 3, 4, 5, 6.5});  // the file, since then
  EXPECT_FALSE(point_file(data));
  const std::string turned = array<double>("turned.npy", "<f8", {1, 2, 3, 4, 5, 6}, "True");
  EXPECT_FALSE(point_file(read_dataset(turned, {})));
  std::ofstream(folder / "table.csv") << "a,b\n1,2\n3,4\n";
  EXPECT_FALSE(point_file(read_dataset((folder / "table.csv").string(), {.target = "none"})));
  std::filesystem::remove(path);
  EXPECT_FALSE(point_file(data));
}

}  // namespace
}  // namespace zeroloss::internal
