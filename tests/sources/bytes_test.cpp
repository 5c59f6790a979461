#include "sources/bytes.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

using namespace internal;

class GzipInMemory : public test::TempFolder {
 protected:
  std::string packed(const std::string& bytes) const { return content(write_gz("t.gz", bytes)); }
  static std::string unpacked(const std::string& gzip, unsigned most) {
    ByteReader reader = gzip_bytes("memory", gzip, most).open();
    std::string text(1 << 20, '\0');
    text.resize(reader.read(text.data(), text.size()));
    return text;
  }
};

// zlib counts what it is given in 32 bits: more is given piece by piece, here of few bytes.
TEST_F(GzipInMemory, IsReadToItsEndInPiecesOfAnySize) {
  std::mt19937 random(1);
  std::string first(30'000, '\0'), second(10'000, 'x');
  for (char& c : first) c = static_cast<char>(random());
  const std::string one = packed(first), two = one + packed(second), three = two + packed("") + packed("end");
  const std::string garbage = two + std::string("\0\0 what follows", 14);
  for (const unsigned most : {1U, 2U, 7U, 1000U, static_cast<unsigned>(one.size()), 1U << 20}) {
    EXPECT_TRUE(unpacked(one, most) == first) << most;
    EXPECT_TRUE(unpacked(two, most) == first + second) << most;
    EXPECT_TRUE(unpacked(three, most) == first + second + "end") << most;
    EXPECT_TRUE(unpacked(garbage, most) == first + second) << most;
    for (const std::size_t end :
         {std::size_t{5}, std::size_t{11}, one.size() / 2, one.size() - 1, one.size() + 5})
      EXPECT_MESSAGE(DataError, unpacked(two.substr(0, end), most), "memory", "truncated gzip");
    std::string damaged = two;
    damaged[one.size() + 10] ^= 0x55;
    damaged[one.size() - 6] ^= 1;
    EXPECT_MESSAGE(DataError, unpacked(damaged, most), "memory", "damaged gzip");
  }
}

TEST_F(GzipInMemory, SlowCountsBeyond32Bits) {
  // 4 GiB of zeros in archives of 64 MiB, the last of which holds one number more.
  constexpr std::uint64_t kPart = std::uint64_t{1} << 26, kParts = 64;
  const std::string part = packed(std::string(kPart, '\0'));
  std::string all;
  for (std::uint64_t k = 0; k < kParts; ++k) all += part;
  all += packed("7");
  const Bytes bytes = memory_bytes("memory", all);
  EXPECT_EQ(bytes.size(), kPart * kParts + 1);
}

}  // namespace
}  // namespace zeroloss
