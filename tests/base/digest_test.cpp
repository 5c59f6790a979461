#include "zeroloss/base/digest.hpp"

#include <gtest/gtest.h>

#include "base/portable_sha256.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

using Digest = test::TempFolder;

// The examples of FIPS 180-4 and NIST's message of a million letters.
const std::string kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const std::string kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const std::string kTwoBlocks = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
const std::string kMillion = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST_F(Digest, OfAStringIsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), kEmpty);
  EXPECT_EQ(sha256("abc"), kAbc);
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), kTwoBlocks);
}

TEST_F(Digest, OfAStreamDoesNotDependOnItsPieces) {
  const std::string letters(1'000'000, 'a');
  for (const std::size_t piece : {1u, 63u, 64u, 65u, 1'000'000u}) {
    Sha256 digest;
    for (std::size_t i = 0; i < letters.size(); i += piece)
      digest.update(letters.data() + i, std::min(piece, letters.size() - i));
    EXPECT_EQ(digest.hex(), kMillion) << piece;
  }
}

TEST_F(Digest, MovesWithItsBytes) {
  Sha256 first;
  first.update("ab", 2);
  Sha256 second = std::move(first);
  second.update("c", 1);
  EXPECT_EQ(second.hex(), kAbc);
}

TEST_F(Digest, OfAFileIsThatOfItsBytes) {
  EXPECT_EQ(sha256_file(write("empty", "")), kEmpty);
  EXPECT_EQ(sha256_file(write("million", std::string(1'000'000, 'a'))), kMillion);
}

TEST_F(Digest, PortableEqualsOpenSsl) {
  std::string bytes;
  for (int length = 0; length <= 200; ++length) {
    EXPECT_EQ(test::portable_sha256(bytes, 1000), sha256(bytes)) << length;
    EXPECT_EQ(test::portable_sha256(bytes, 7), sha256(bytes)) << length;
    bytes += static_cast<char>(37 * length + 11);
  }
  for (const std::size_t length : {65'535u, 65'536u, 3'000'001u}) {
    bytes.assign(length, static_cast<char>(0xd7));
    EXPECT_EQ(test::portable_sha256(bytes, 4097), sha256(bytes)) << length;
    EXPECT_EQ(test::portable_sha256_file(write("large", bytes)), sha256(bytes)) << length;
  }
  EXPECT_EQ(test::portable_sha256("abc", 1), kAbc);
}

TEST_F(Digest, NamesAFileItCannotRead) {
  EXPECT_MESSAGE(DataError, sha256_file(path("absent")), path("absent"), "cannot be opened");
  EXPECT_MESSAGE(DataError, sha256_file(folder.string()), folder.string(), "reading failed");
}

}  // namespace
}  // namespace zeroloss
