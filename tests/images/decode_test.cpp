#include <gtest/gtest.h>
#include <zlib.h>

#include <map>

#include "images/pictures.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/images/images.hpp"

/// Decoders and resize() against Pillow (make_images.py).
namespace zeroloss {
namespace {

namespace fs = std::filesystem;

using test::expect_equal;
using test::kImages;

/// What Pillow makes of the stored files.
std::map<std::string, Image> pillow_images() {
  std::map<std::string, Image> images;
  std::ifstream in(kImages + "expected.txt");
  std::string name, hex;
  for (Image image; in >> name >> image.height >> image.width >> hex; image.pixels.clear()) {
    for (std::size_t i = 0; i < hex.size(); i += 2)
      image.pixels.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    images[name] = image;
  }
  return images;
}

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

/// A grey PNG file of these rows, each after its filter.
std::string png(std::uint32_t height, std::uint32_t width, char bits, const std::string& rows) {
  const auto chunk = [](const std::string& content) {
    const auto sum =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    return big_endian(static_cast<std::uint32_t>(content.size() - 4)) + content +
           big_endian(static_cast<std::uint32_t>(sum));
  };
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
           rows.size());
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR" + big_endian(width) + big_endian(height) + bits + std::string(4, '\0')) +
         chunk("IDAT" + packed) + chunk("IEND");
}

class Decode : public test::TempFolder {
 protected:
  static std::string stored(const std::string& name) { return content(kImages + name); }
};

using Resize = Decode;

TEST_F(Decode, AsPillowDoes) {
  int files = 0;
  for (const auto& [name, expected] : pillow_images()) {
    if (!fs::exists(kImages + name)) continue;
    SCOPED_TRACE(name);
    expect_equal(decode_image(kImages + name), expected);
    ++files;
  }
  EXPECT_EQ(files, 23);
}

TEST_F(Resize, AsPillowDoes) {
  int sizes = 0;
  for (const auto& [name, expected] : pillow_images()) {
    const std::string source = name.substr(0, name.find('_'));
    if (source != "resized" && source != "sharp") continue;
    SCOPED_TRACE(name);
    const Image image = decode_image(kImages + (source == "sharp" ? "sharp.png" : "source.png"));
    expect_equal(resize(image, expected.height, expected.width), expected);
    ++sizes;
  }
  EXPECT_EQ(sizes, 10);
}

TEST_F(Resize, KeepsWhatIsConstantAndWhatHasTheSize) {
  Image flat{7, 5, std::vector<std::uint8_t>(105, 201)};
  for (const auto& [height, width] : std::vector<std::pair<Index, Index>>{{1, 1}, {3, 11}, {40, 2}, {7, 9}})
    expect_equal(
        resize(flat, height, width),
        {height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width), 201)});
  const Image image = decode_image(kImages + "rgb.png");
  expect_equal(resize(image, image.height, image.width), image);
  EXPECT_MESSAGE(std::invalid_argument, resize(image, 0, 3), "resize", "0 x 3");
  EXPECT_MESSAGE(std::invalid_argument, resize(image, 3, -1), "resize", "3 x -1");
  EXPECT_MESSAGE(std::invalid_argument, resize({}, 3, 3), "0 x 0");
  flat.pixels.pop_back();
  EXPECT_MESSAGE(std::invalid_argument, resize(flat, 3, 3), "7 x 5", "104");
}

TEST_F(Decode, Rounds16BitsAndTellsFormatsByTheirBytes) {
  expect_equal(decode_image(write("a.jpg", stored("rgb.png"))), decode_image(kImages + "rgb.png"));
  expect_equal(decode_image(write("a.png", stored("rgb_420.jpg"))), decode_image(kImages + "rgb_420.jpg"));
  std::string rows;
  for (int high = 0; high < 256; ++high) {
    rows += '\0';  // no filter
    for (int low = 0; low < 256; ++low) rows += {static_cast<char>(high), static_cast<char>(low)};
  }
  const Image image = decode_image(write("16.png", png(256, 256, 16, rows)));
  ASSERT_EQ(image.pixels.size(), 3U * 65536);
  for (std::size_t value = 0; value < 65536; ++value)
    ASSERT_EQ(image.pixels[3 * value + 1], (value + 128) / 257) << value;  // 65535 = 257 * 255
  // As points they keep all their bits.
  write("set/a/16.png", content(path("16.png")));
  write("set/b/16.png", content(path("16.png")));
  const RowMatrix X = read_dataset(path("set")).X;
  ASSERT_EQ(X.cols(), 3 * 65536);
  for (Index value = 0; value < 65536; ++value)
    ASSERT_EQ(X(0, 65536 + value), static_cast<double>(value) / 257) << value;
}

TEST_F(Decode, NamesDamagedFiles) {
  const std::string jpg = stored("rgb_420.jpg"), png = stored("rgb.png");
  EXPECT_MESSAGE(DataError, decode_image(path("absent.png")), "absent.png", "no such file");
  EXPECT_MESSAGE(DataError, decode_image(folder), "not a file");
  EXPECT_MESSAGE(DataError, decode_image(write("a.png", "")), "a.png", "empty");
  EXPECT_MESSAGE(DataError, decode_image(write("a.jpg", "GIF89a....")), "a.jpg", "neither JPEG nor PNG",
                 "474946383961");
  for (std::size_t cut : {1, 2, 10, 40, 100})
    EXPECT_MESSAGE(DataError, decode_image(write("a.jpg", jpg.substr(0, jpg.size() - cut))), "a.jpg",
                   "truncated JPEG");
  for (std::size_t cut : {1, 4, 12, 13, 40, 100})
    EXPECT_MESSAGE(DataError, decode_image(write("a.png", png.substr(0, png.size() - cut))), "a.png",
                   "truncated PNG");
  std::string bad = png;
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 0x10);
  EXPECT_MESSAGE(DataError, decode_image(write("a.png", bad)), "a.png", "damaged PNG");
  bad = jpg;
  bad.replace(bad.find("\xff\xdb"), 2, "\xff\xfe");  // the quantisation becomes a comment
  EXPECT_MESSAGE(DataError, decode_image(write("a.jpg", bad)), "a.jpg", "damaged JPEG");
}

// Whatever bytes are damaged, the answer is an image or a DataError.
TEST_F(Decode, SurvivesAnyDamage) {
  Random random(5, Stream::points);
  for (const std::string name : {"rgb_420.jpg", "rgb_progressive.jpg", "cmyk.jpg", "orientation_6.jpg",
                                 "rgb.png", "palette_transparent.png", "grey_16.png"}) {
    const std::string bytes = stored(name);
    for (int trial = 0; trial < 200; ++trial) {
      std::string bad = bytes;
      for (std::uint64_t k = 0; k <= random.below(4); ++k)
        bad[4 + random.below(bad.size() - 4)] = static_cast<char>(random.below(256));
      try {
        const Image image = decode_image(write("bad", bad));
        EXPECT_EQ(static_cast<Index>(image.pixels.size()), 3 * image.height * image.width);
      } catch (const DataError& error) {
        EXPECT_EQ(std::string(error.what()).find(path("bad")), 0U);
      }
    }
  }
}

TEST_F(Decode, RefusesAbsurdSizes) {
  std::string jpg = stored("rgb_420.jpg");
  const std::size_t frame = jpg.find("\xff\xc0");
  jpg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_MESSAGE(DataError, decode_image(write("a.jpg", jpg)), "a.jpg", "65500 x 65500", "100000000");
  EXPECT_MESSAGE(DataError, decode_image(write("a.png", png(30000, 40000, 8, ""))), "a.png", "30000 x 40000");
  EXPECT_MESSAGE(DataError, decode_image(write("a.png", png(0, 4, 8, ""))), "a.png");
}

}  // namespace
}  // namespace zeroloss
