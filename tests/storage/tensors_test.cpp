#include "zeroloss/storage/tensors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/full_disk.hpp"
#include "support/python.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

template <class T>
std::vector<T> values(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.size()};
}

/// A file as the format has it, well-formed or not.
std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// A header entry.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}";
}

class Tensors : public test::TempFolder {
 protected:
  /// One tensor of each type, the smallest type first, with metadata.
  void write_all(const std::string& to) const {
    write_tensors(
        to,
        {view_of("bytes", {3}, u8.data()), view_of("W", {2, 1, 2}, f64.data()), view_of("v", {2}, f32.data()),
         view_of("step", {}, i64.data()), view_of<double>("none", {0, 3}, nullptr)},
        {{"kind", "two_layer"}, {"text", "\"quoted\"\n\xC3\xA9"}});
  }
  void expect_all(const TensorFile& file) const {
    ASSERT_EQ(file.tensors.size(), 5u);
    EXPECT_EQ(values<double>(*file.find("W")), f64);
    EXPECT_EQ(file.find("W")->shape, (std::vector<Index>{2, 1, 2}));
    EXPECT_EQ(values<float>(*file.find("v")), f32);
    EXPECT_EQ(values<std::int64_t>(*file.find("step")), i64);
    EXPECT_EQ(file.find("step")->shape, std::vector<Index>{});
    EXPECT_EQ(values<std::uint8_t>(*file.find("bytes")), u8);
    EXPECT_EQ(file.find("none")->size(), 0);
    EXPECT_EQ(file.find("none")->shape, (std::vector<Index>{0, 3}));
    EXPECT_EQ(file.metadata, (Metadata{{"kind", "two_layer"}, {"text", "\"quoted\"\n\xC3\xA9"}}));
  }
  void refuses(const std::string& bytes, const std::string& reason) const {
    const std::string file = write("bad", bytes);
    EXPECT_MESSAGE(DataError, read_tensors(file), file + ": ", reason);
    EXPECT_MESSAGE(DataError, read_metadata(file), file + ": ", reason);
  }

  std::vector<double> f64{1, -0.1, 1e300, 4.9e-324};
  std::vector<float> f32{0.5f, -3e38f};
  std::vector<std::int64_t> i64{std::int64_t{-1} << 62};
  std::vector<std::uint8_t> u8{0, 7, 255};
};

TEST_F(Tensors, AreReadAsTheyWereWritten) {
  write_all(path("a"));
  expect_all(read_tensors(path("a")));
  EXPECT_EQ(read_metadata(path("a")).at("kind"), "two_layer");
  EXPECT_EQ(read_tensors(path("a")).find("absent"), nullptr);
}

TEST_F(Tensors, AreThoseOfThePythonPackageInBothDirections) {
  ZEROLOSS_NEEDS_PYTHON();
  write_all(path("a"));
  const auto outcome = test::run_python("storage/copy_tensors.py", {path("a"), path("b")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_all(read_tensors(path("b")));
  const nlohmann::json seen = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(seen["metadata"], nlohmann::json(read_metadata(path("a"))));
  EXPECT_EQ(seen["tensors"], nlohmann::json({{"W", {"float64", {2, 1, 2}, f64}},
                                             {"v", {"float32", {2}, f32}},
                                             {"step", {"int64", nlohmann::json::array(), i64}},
                                             {"bytes", {"uint8", {3}, u8}},
                                             {"none", {"float64", {0, 3}, nlohmann::json::array()}}}));
}

TEST_F(Tensors, FollowTheLayout) {
  write_all(path("a"));
  const std::string bytes = content(path("a"));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(bytes.size(), 8 + length + 4 * 8 + 8 + 2 * 4 + 3);
  EXPECT_EQ(header["W"],
            nlohmann::json::parse(R"({"dtype": "F64", "shape": [2, 1, 2], "data_offsets": [0, 32]})"));
  EXPECT_EQ(header["step"],
            nlohmann::json::parse(R"({"dtype": "I64", "shape": [], "data_offsets": [32, 40]})"));
  EXPECT_EQ(header["v"],
            nlohmann::json::parse(R"({"dtype": "F32", "shape": [2], "data_offsets": [40, 48]})"));
  EXPECT_EQ(header["bytes"],
            nlohmann::json::parse(R"({"dtype": "U8", "shape": [3], "data_offsets": [48, 51]})"));
  write_tensors(path("empty"), {});
  EXPECT_EQ(content(path("empty")), file_of("{}      "));
  EXPECT_TRUE(read_tensors(path("empty")).tensors.empty());
}

TEST_F(Tensors, LieAligned) {
  write_all(path("a"));
  for (const Tensor& tensor : read_tensors(path("a")).tensors)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % 64, 0u);
}

TEST_F(Tensors, PiecesAreOneTensor) {
  const std::vector<float> a{1, 2, 3}, b{4, 5, 6};
  write_tensors(path("a"), {{"stack", Dtype::f32, {2, 3}, {a.data(), b.data()}}});
  EXPECT_EQ(values<float>(read_tensors(path("a")).tensors.front()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Tensors, WriterRefusesWhatNobodyCouldRead) {
  const auto bad = [&](const std::vector<TensorView>& tensors, const Metadata& metadata = {}) {
    return [=, this] { write_tensors(path("a"), tensors, metadata); };
  };
  const double* x = f64.data();
  EXPECT_MESSAGE(std::invalid_argument, bad({view_of("x", {2}, x), view_of("x", {1}, x)})(), "'x' is taken");
  EXPECT_MESSAGE(std::invalid_argument, bad({view_of("__metadata__", {2}, x)})(), "'__metadata__' is taken");
  EXPECT_MESSAGE(std::invalid_argument, bad({view_of("x", {-1}, x)})(), "impossible shape [-1]");
  EXPECT_MESSAGE(std::invalid_argument, bad({view_of("x", {Index{1} << 31, Index{1} << 31}, x)})(),
                 "impossible");
  EXPECT_MESSAGE(std::invalid_argument, bad({{"x", Dtype::f64, {3}, {x, x}}})(), "2 pieces do not divide");
  EXPECT_MESSAGE(std::invalid_argument, bad({{"x", Dtype::f64, {3}, {}}})(), "0 pieces");
  EXPECT_MESSAGE(std::invalid_argument, bad({view_of("\xE9", {2}, x)})(), "not UTF-8");
  EXPECT_MESSAGE(std::invalid_argument, bad({}, {{"key", "\xFF"}})(), "not UTF-8");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Tensors, AFullDiskLeavesTheOldFile) {
  write_all(path("a"));
  const std::vector<double> many(10'000, 1.5);
  {
    const test::FullDisk disk(4096);
    EXPECT_MESSAGE(ResourceError, write_tensors(path("a"), {view_of("x", {10'000}, many.data())}), path("a"),
                   "writing failed");
  }
  expect_all(read_tensors(path("a")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(Tensors, ReaderRefusesWhatIsNoFile) {
  EXPECT_MESSAGE(DataError, read_tensors(path("absent")), path("absent"), "no such file");
  EXPECT_MESSAGE(DataError, read_tensors(folder), folder.string(), "expected a file");
  refuses("", "0 bytes, expected a header");
  refuses("PK\3\4 a zip archive", "not a safetensors file");
  refuses(std::string(8, '\xFF') + "{}", "a header of 18446744073709551615 bytes in a file of 10");
  refuses(file_of("{}").substr(0, 9), "a header of 2 bytes in a file of 9");
}

TEST_F(Tensors, ReaderRefusesBadHeaders) {
  refuses(file_of(""), "not JSON");
  refuses(file_of("{\"a\":"), "not JSON");
  refuses(file_of("[]"), "not a JSON object");
  refuses(file_of("7"), "not a JSON object");
  refuses(file_of("{\"\xFF\":1}"), "not JSON");
  refuses(file_of("{} {}"), "not JSON");
  refuses(file_of(std::string(100'000, '[')), "nested too deep");
  refuses(file_of("{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}"), "nested too deep");
  refuses(file_of("{\"a\":[]}"), "'a': expected an object");
  refuses(file_of("{\"__metadata__\":3}"), "__metadata__ is not a JSON object");
  refuses(file_of("{\"__metadata__\":{\"a\":3}}"), "metadata 'a' is not text");
  refuses(file_of("{\"__metadata__\":{\"a\":\"x\",\"a\":\"y\"}}"), "'a' occurs twice");
  const std::string a = entry("a", "F32", "[1]", "[0,4]");
  refuses(file_of("{" + a + "," + a + "}", "1234"), "'a' occurs twice");
  refuses(file_of("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F64\"}}"), "'dtype' occurs twice");
}

TEST_F(Tensors, ReaderRefusesBadTensors) {
  const auto one = [&](const std::string& dtype, const std::string& shape, const std::string& offsets,
                       const std::string& reason) {
    refuses(file_of("{" + entry("a", dtype, shape, offsets) + "}", "12345678"), "tensor 'a': " + reason);
  };
  one("F16", "[4]", "[0,8]", "dtype F16; expected F64, F32, I64 or U8");
  one("F64", "[-1]", "[0,8]", "expected \"shape\"");
  one("F64", "[1.0]", "[0,8]", "expected \"shape\"");
  one("F64", "1", "[0,8]", "expected \"shape\"");
  one("F64", "[18446744073709551615]", "[0,8]", "impossible shape");
  one("F64", "[4294967296,4294967296,0]", "[0,0]", "impossible shape");
  one("F64", "[2305843009213693952,8]", "[0,8]", "impossible shape");
  one("F64", "[1]", "[0,8,8]", "impossible data_offsets [0,8,8]");
  one("F64", "[1]", "[8,0]", "impossible data_offsets");
  one("F64", "[1]", "[0,16]", "impossible data_offsets [0,16] in 8 bytes of data: truncated");
  one("F64", "[1]", "[18446744073709551608,18446744073709551615]", "impossible data_offsets");
  one("F64", "[1]", "[0,\"8\"]", "expected \"data_offsets\"");
  one("F64", "[2]", "[0,8]", "8 bytes, but F64 of shape [2] take 16");
  one("F32", "[1]", "[4,8]", "its data begins at 4, where 0 is due");
  refuses(file_of("{\"a\":{\"shape\":[1],\"data_offsets\":[0,8]}}", "12345678"), "dtype missing");
  refuses(file_of("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,8]}}", "12345678"), "expected \"shape\"");
}

TEST_F(Tensors, ReaderRefusesOverlapsAndGaps) {
  const auto two = [](const std::string& a, const std::string& b) {
    return file_of("{" + entry("a", "F32", "[1]", a) + "," + entry("b", "F32", "[1]", b) + "}",
                   "123456789abc");
  };
  refuses(two("[0,4]", "[2,6]"), "overlaps others: it begins at 2, where 4 is due");
  refuses(two("[0,4]", "[0,4]"), "overlaps");
  refuses(two("[0,4]", "[8,12]"), "begins at 8, where 4 is due");
  refuses(two("[4,8]", "[0,4]"), "12 bytes of data, but its tensors take 8");
}

TEST_F(Tensors, ADamagedByteIsFoundOrHarmless) {
  write_all(path("a"));
  const std::string whole = content(path("a"));
  Random random(1, Stream::noise);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes = whole;
    for (std::uint64_t k = random.below(3) + 1; k-- > 0;)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (trial % 4 == 0) bytes.resize(random.below(bytes.size()));
    try {
      const TensorFile file = read_tensors(write("b", bytes));
      Index size = 0;
      for (const Tensor& tensor : file.tensors) size += tensor.bytes.size();
      EXPECT_LT(size, std::ssize(bytes));
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace zeroloss
