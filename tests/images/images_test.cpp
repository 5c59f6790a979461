#include "zeroloss/images/images.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "images/pictures.hpp"
#include "support/shared_data.hpp"
#include "support/subprocess.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/data/dataset.hpp"

/// Sets of images against read_dataset.
namespace zeroloss {
namespace {

namespace fs = std::filesystem;

using test::expect_equal;
using test::kImages;

class Images : public test::TempFolder {
 protected:
  static std::string stored(const std::string& name) { return content(kImages + name); }

  /// CIFAR records with random pixels.
  static std::string cifar(const std::vector<int>& labels, std::size_t label_bytes, std::uint64_t seed) {
    Random random(seed, Stream::points);
    std::string bytes;
    for (const int label : labels) {
      bytes += std::string(label_bytes - 1, '\7') + static_cast<char>(label);
      for (int k = 0; k < 3072; ++k) bytes += static_cast<char>(random.below(256));
    }
    return bytes;
  }

  std::string cifar10() const {
    write("c/data_batch_1.bin", cifar({3, 9, 1, 1, 0, 9, 3, 2}, 1, 1));
    write("c/data_batch_2.bin", cifar({4, 9, 3, 3}, 1, 2));
    write("c/test_batch.bin", cifar({9, 1}, 1, 3));
    return path("c");
  }

  /// Three classes, a.. to c.., of 2, 3 and 1 images.
  std::string photos(const std::string& root = "p") const {
    write(root + "/bird/2.png", stored("rgb.png"));
    write(root + "/bird/10.PNG", stored("grey.png"));
    write(root + "/cat/x.jpg", stored("rgb_420.jpg"));
    write(root + "/cat/y.jpeg", stored("grey.jpg"));
    write(root + "/cat/z.JPG", stored("cmyk.jpg"));
    write(root + "/cat/notes.txt", "not an image");
    write(root + "/cat/.hidden.png", "nor this");
    write(root + "/ant/a.png", stored("palette.png"));
    write(root + "/.cache/a.png", "no class");
    return path(root);
  }
};

TEST_F(Images, OfCifarAreThoseOfReadDataset) {
  const std::string source = cifar10();
  const std::vector<std::pair<ImageOptions, ReadOptions>> cases{
      {{}, {}},
      {{.split = "test"}, {.split = "test"}},
      {{.n = 7, .shuffle = true, .seed = 4}, {.n = 7, .shuffle = true, .seed = 4}},
      {{.classes = {"9", "3"}}, {.classes = {"9", "3"}}},
      {{.n = 4, .shuffle = true, .classes = {"9", "3"}, .labels = "random", .seed = 1},
       {.n = 4, .shuffle = true, .classes = {"9", "3"}, .labels = "random", .seed = 1}},
      {{.classes = {"9", "3"}, .labels = "noise:0.5", .seed = 2},
       {.classes = {"9", "3"}, .labels = "noise:0.5", .seed = 2}}};
  for (const auto& [image_options, read_options] : cases) {
    const ImageSet images = read_images(source, image_options);
    const Dataset data = read_dataset(source, read_options);
    ASSERT_EQ(images.n(), data.n());
    EXPECT_EQ(images.records, data.records);
    EXPECT_EQ(images.digest, data.digest);
    EXPECT_EQ(images.label_treatment, data.label_treatment);
    EXPECT_EQ(images.name, data.name);
    EXPECT_TRUE(images.in_memory());
    for (Index i = 0; i < data.n(); ++i) {
      EXPECT_EQ(images.class_names[static_cast<std::size_t>(images.labels[static_cast<std::size_t>(i)])],
                data.class_names[static_cast<std::size_t>(data.y(i))]);
      const Image image = images.image(i);
      ASSERT_EQ(image.height, 32);
      ASSERT_EQ(image.width, 32);
      for (Index k = 0; k < 1024; ++k)
        for (Index c = 0; c < 3; ++c)
          ASSERT_EQ(image.pixels[static_cast<std::size_t>(3 * k + c)], data.X(i, 1024 * c + k));
    }
  }
  EXPECT_EQ(read_images(source).classes(), 10);
  EXPECT_EQ(read_images(source, {.split = "test"}).classes(), 10) << "numbered as in the train split";
  EXPECT_EQ(read_images(source, {.n = 2, .classes = {"9", "3", "0"}}).class_names,
            (std::vector<std::string>{"0", "3", "9"}));
  write("c/batches.meta.txt", "zebra\nant\ncat\ndog\nemu\nfox\ngnu\nhen\nibis\njay\n\n");
  EXPECT_EQ(read_images(source).class_names.front(), "zebra") << "as in the file";
  EXPECT_EQ(read_images(source, {.classes = {"jay", "zebra"}}).labels,
            (std::vector<std::int64_t>{1, 0, 1, 1}));
}

TEST_F(Images, OfCifar100HaveFineLabels) {
  write("c/cifar-100-binary/train.bin", cifar({0, 99, 19}, 2, 1));
  write("c/cifar-100-binary/test.bin", cifar({5}, 2, 1));
  const ImageSet images = read_images(path("c"));
  EXPECT_EQ(images.labels, (std::vector<std::int64_t>{0, 99, 19}));
  EXPECT_EQ(images.classes(), 100);
  EXPECT_EQ(read_images(path("c"), {.split = "test"}).labels, (std::vector<std::int64_t>{5}));
}

TEST_F(Images, NameWhatIsWrongWithCifar) {
  write("c/data_batch_1.bin", cifar({3, 10}, 1, 1));
  EXPECT_MESSAGE(DataError, read_images(path("c")), "data_batch_1.bin", "record 1", "label 10", "0 to 9");
  write("c/data_batch_1.bin", cifar({3, 1}, 1, 1).substr(1));
  EXPECT_MESSAGE(DataError, read_images(path("c")), "data_batch_1.bin", "truncated", "6145 bytes");
  write("c/data_batch_1.bin", "");
  EXPECT_MESSAGE(DataError, read_images(path("c")), "truncated", "found 0");
  EXPECT_MESSAGE(DataError, read_images(path("c"), {.split = "test"}), "test_batch.bin", "no such file");
  cifar10();
  EXPECT_MESSAGE(DataError, read_images(path("c"), {.n = 13}), "n = 13", "there are 12");
  EXPECT_MESSAGE(DataError, read_images(path("c"), {.classes = {"3"}}), "only class is '3'", "two");
  EXPECT_MESSAGE(DataError, read_images(path("c"), {.classes = {"7", "8"}}), "no image of the classes");
  EXPECT_MESSAGE(DataError, read_images(path("c"), {.classes = {"3", "x"}}), "no class 'x'", "0, 1, 2");
}

TEST_F(Images, NameWrongOptions) {
  const std::string source = cifar10();
  EXPECT_MESSAGE(std::invalid_argument, read_images(source, {.split = "both"}), "read_images", "split",
                 "'both'");
  EXPECT_MESSAGE(std::invalid_argument, read_images(source, {.n = -1}), "read_images", "n", "-1");
  EXPECT_MESSAGE(std::invalid_argument, read_images(source, {.labels = "noise:2"}), "read_images", "noise:p",
                 "'noise:2'");
  EXPECT_MESSAGE(std::invalid_argument, read_images(source, {.corrupt = "mend"}), "corrupt", "refuse or skip",
                 "'mend'");
  EXPECT_MESSAGE(std::invalid_argument, read_images(source, {.seed = std::uint64_t{1} << 53}), "seed");
  EXPECT_MESSAGE(std::invalid_argument, read_images("cifar10"), "read_images", "cache");
  EXPECT_MESSAGE(DataError, read_images("cifar10", {.cache = folder}), "cifar10", "`fetch(cifar10)`");
  EXPECT_MESSAGE(DataError, read_images("mnist"), "'mnist'", "cifar10, cifar100");
}

TEST_F(Images, OfFoldersAreOrderedByClassAndName) {
  const ImageSet images = read_images(photos());
  EXPECT_EQ(images.class_names, (std::vector<std::string>{"ant", "bird", "cat"}));
  EXPECT_EQ(images.labels, (std::vector<std::int64_t>{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(images.records, (std::vector<Index>{0, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(images.in_memory());
  EXPECT_TRUE(images.pixels.empty());
  std::vector<std::string> expected;
  std::string sums;
  for (const std::string name :
       {"ant/a.png", "bird/10.PNG", "bird/2.png", "cat/x.jpg", "cat/y.jpeg", "cat/z.JPG"}) {
    expected.push_back(path("p/" + name));
    sums += sha256_file(path("p/" + name)) + "  " + name + "\n";
  }
  EXPECT_EQ(images.files, expected);
  EXPECT_EQ(images.digest, sha256(sums));
  expect_equal(images.image(4), decode_image(kImages + "grey.jpg"));
  const ImageSet some =
      read_images(path("p"), {.n = 3, .shuffle = true, .classes = {"cat", "ant"}, .seed = 3});
  EXPECT_EQ(some.class_names, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(some.digest, images.digest);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(some.files[i], images.files[static_cast<std::size_t>(some.records[i])]);
    EXPECT_EQ(some.labels[i], images.labels[static_cast<std::size_t>(some.records[i])] / 2);
  }
}

TEST_F(Images, OfFoldersAreTakenFromTheClassesInTurn) {  // which lie there one after the other
  const std::string root = photos();
  EXPECT_EQ(read_images(root, {.n = 4}).records, (std::vector<Index>{0, 1, 2, 3}));
  EXPECT_EQ(read_images(root, {.n = 3}).labels, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(read_images(root, {.n = 2, .classes = {"bird", "cat"}}).labels,
            (std::vector<std::int64_t>{0, 1}));
}

TEST_F(Images, OfFoldersHaveSplits) {
  EXPECT_MESSAGE(DataError, read_images(photos(), {.split = "test"}), "no test split", "train/");
  photos("s/train");
  EXPECT_EQ(read_images(path("s")).n(), 6);
  EXPECT_MESSAGE(DataError, read_images(path("s"), {.split = "test"}), "no test split");
  write("s/test/cat/t.png", stored("rgb.png"));
  const ImageSet test = read_images(path("s"), {.split = "test"});
  EXPECT_EQ(test.class_names, (std::vector<std::string>{"ant", "bird", "cat"}));
  EXPECT_EQ(test.labels, (std::vector<std::int64_t>{2}));
  write("s/val/bird/v.png", stored("rgb.png"));
  EXPECT_EQ(read_images(path("s"), {.split = "test"}).files,
            (std::vector<std::string>{path("s/val/bird/v.png")}));
  write("s/val/wolf/v.png", stored("rgb.png"));
  EXPECT_MESSAGE(DataError, read_images(path("s"), {.split = "test"}), "wolf", "unknown in", "train");
}

TEST_F(Images, OfFoldersNeedImagesOfTwoClasses) {
  EXPECT_MESSAGE(DataError, read_images(path("absent")), "absent", "no such folder");
  fs::create_directories(path("e"));
  EXPECT_MESSAGE(DataError, read_images(path("e")), "no images", "jpg, jpeg or png");
  write("e/cat/a.png", stored("rgb.png"));
  EXPECT_MESSAGE(DataError, read_images(path("e")), "only class is 'cat'");
  fs::create_directories(path("e/dog"));
  EXPECT_MESSAGE(DataError, read_images(path("e")), "only class is 'cat'",
                 "left out: 1 folder without pictures: dog");
  write("e/dog/a.txt", "none");
  EXPECT_MESSAGE(DataError, read_images(path("e")), "dog", "no jpg, jpeg or png file");
  write("e/dog/a.png", stored("rgb.png"));
  fs::create_directories(path("e/__MACOSX/cat"));
  fs::create_directories(path("e/fox"));
  EXPECT_EQ(read_images(path("e")).class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(read_images(path("e")).remarks,
            (std::vector<std::string>{"left out: 2 folders without pictures: __MACOSX, fox"}));
}

TEST_F(Images, OfFoldersWithDamageAreRefusedOrSkipped) {
  const std::string root = photos();
  write("p/ant/broken.jpg", stored("rgb_420.jpg").substr(0, 500));
  for (int k = 0; k < 11; ++k) write("p/bird/bad" + std::to_string(k) + ".png", "no image");
  EXPECT_MESSAGE(DataError, read_images(root), "12 of 18 images", "broken.jpg: truncated", "bad7.png",
                 "and 2 more", "corrupt = skip");
  EXPECT_EQ(read_images(root, {.classes = {"cat", "bird"}, .corrupt = "skip"}).corrupt.size(), 11U);
  const ImageSet images = read_images(root, {.corrupt = "skip"});
  EXPECT_EQ(images.n(), 6);
  EXPECT_EQ(images.corrupt.size(), 12U);
  EXPECT_NE(images.corrupt.front().find("broken.jpg: truncated"), std::string::npos);
  EXPECT_EQ(images.labels, (std::vector<std::int64_t>{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(images.records, (std::vector<Index>{0, 2, 3, 15, 16, 17}));
  for (Index i = 0; i < images.n(); ++i) EXPECT_NO_THROW(images.image(i));
  fs::remove(path("p/cat/x.jpg"));
  EXPECT_MESSAGE(DataError, images.image(3), "x.jpg", "no such file");
  for (const char* name : {"bird/2.png", "bird/10.PNG", "cat/y.jpeg", "cat/z.JPG", "ant/a.png"})
    write("p/" + std::string(name), "gone too");
  EXPECT_MESSAGE(DataError, read_images(root, {.corrupt = "skip"}), "17 of 17 images");
}

TEST_F(Images, OfFoldersAreExaminedOnceWithACache) {
  const std::string root = photos();
  const auto settled = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file()) fs::last_write_time(entry.path(), settled);
  double decoded = 0;
  Progress counted([&](const ProgressReport& report) {
    if (report.finished && report.stage == "decoding images") decoded = report.done;
  });
  const auto read = [&](const std::vector<std::string>& classes = {}) {
    return read_images(root, {.classes = classes, .corrupt = "skip", .cache = path("cache")}, counted);
  };
  EXPECT_EQ(read({"bird", "cat"}).n(), 5);
  EXPECT_EQ(decoded, 6);
  const ImageSet first = read();  // of ant/a.png, the digest alone is known
  EXPECT_EQ(decoded, 1);
  EXPECT_EQ(read().digest, first.digest);
  EXPECT_EQ(decoded, 0);
  EXPECT_EQ(read_images(root).digest, first.digest);

  // What has a new time is read again, what has the old one is not, damaged or not.
  const std::string damaged = path("p/cat/x.jpg");
  write("p/cat/x.jpg", std::string(fs::file_size(damaged), '?'));
  fs::last_write_time(damaged, settled);
  EXPECT_EQ(read().n(), 6);
  EXPECT_EQ(decoded, 0);
  fs::last_write_time(damaged, settled + std::chrono::nanoseconds(1000));
  for (const double expected : {1.0, 0.0}) {
    const ImageSet images = read();
    EXPECT_EQ(decoded, expected);
    ASSERT_EQ(images.corrupt.size(), 1U);
    EXPECT_TRUE(images.corrupt.front().starts_with(damaged + ": ")) << images.corrupt.front();
    EXPECT_NE(images.digest, first.digest);
  }

  // A file that changed a moment ago may change again within the same tick of the clock.
  write("p/cat/x.jpg", stored("rgb_420.jpg"));
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(read().digest, first.digest);
    EXPECT_EQ(decoded, 1);
  }

  for (const auto& entry : fs::directory_iterator(path("cache/images")))
    if (entry.path().extension() == ".index") fs::resize_file(entry, fs::file_size(entry) - 3);
  EXPECT_EQ(read().digest, first.digest);
  EXPECT_EQ(decoded, 6);  // an index that is damaged is none
}

TEST_F(Images, StopAndTellHowFarTheyAre) {
  std::vector<std::string> stages;
  double done = 0;
  Progress progress([&](const ProgressReport& report) {
    stages.push_back(report.stage);
    done = report.done;
  });
  read_images(photos(), {}, progress);
  EXPECT_EQ(stages, (std::vector<std::string>{"decoding images"}));
  EXPECT_EQ(done, 6);
  const std::atomic<bool> cancel = true;
  Progress cancelled({}, &cancel);
  EXPECT_THROW(read_images(path("p"), {}, cancelled), Interrupted);
  EXPECT_THROW(read_images(cifar10(), {}, cancelled), Interrupted);
}

TEST_F(Images, OfOneSizeAreADataset) {
  const std::string root = photos();
  write("p/cat/x.jpg", stored("rgb_444.jpg"));
  const Dataset data = read_dataset(root, {.classes = {"ant", "cat"}});
  EXPECT_EQ(data.n(), 4);
  EXPECT_EQ(data.d(), 9 * 13 * 3);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(data.y, (Vector{{0, 1, 1, 1}}));
  EXPECT_EQ(data.digest, read_images(root).digest);
  EXPECT_EQ(data.ids, (std::vector<std::string>{"ant/a.png", "cat/x.jpg", "cat/y.jpeg", "cat/z.JPG"}));
  EXPECT_EQ(data.picture.height, 9);
  EXPECT_EQ(data.picture.width, 13);
  EXPECT_EQ(data.picture.planes, 3);
  const Image image = decode_image(kImages + "rgb_444.jpg");
  for (Index k = 0; k < 9 * 13; ++k)
    for (Index c = 0; c < 3; ++c)
      ASSERT_EQ(data.X(1, 9 * 13 * c + k), image.pixels[static_cast<std::size_t>(3 * k + c)]);
  write("p/cat/large.png", stored("source.png"));
  EXPECT_MESSAGE(DataError, read_dataset(root), "a.png is 9 x 13", "large.png is 20 x 30", "say `resize=64`");
  const Dataset small = read_dataset(root, {.resize = 7, .classes = {"ant", "cat"}});
  EXPECT_EQ(small.n(), 5);
  EXPECT_EQ(small.picture, (PictureSize{7, 7, 3}));
  const Image shrunk = resize(decode_image(kImages + "rgb_444.jpg"), 7, 7);
  for (Index k = 0; k < 49; ++k)
    for (Index c = 0; c < 3; ++c)
      ASSERT_EQ(small.X(2, 49 * c + k), shrunk.pixels[static_cast<std::size_t>(3 * k + c)]);
  EXPECT_THROW(read_dataset(root, {.resize = -1}), std::invalid_argument);
  EXPECT_THROW(read_dataset("digits", {.resize = 7}), std::invalid_argument);
  EXPECT_EQ(read_dataset(root, {.classes = {"ant", "bird"}}).n(), 3) << "others need not have its size";
  EXPECT_MESSAGE(DataError, read_dataset(path("p"), {.split = "test"}), "no test split");
}

TEST(SharedData, PhotosAreRead) {
  ZEROLOSS_NEEDS_SHARED("photos");
  const fs::path folder = test::shared_data() / "photos";
  const ImageSet train = read_images(folder), val = read_images(folder, {.split = "test"});
  EXPECT_EQ(train.class_names, (std::vector<std::string>{"ants", "bees"}));
  EXPECT_EQ(train.n(), 16);
  EXPECT_EQ(val.n(), 8);
  const Image image = train.image(0);
  EXPECT_GT(image.height * image.width, 100 * 100);
}

TEST_F(Images, SlowOfCifar10AreWhatTheyAreKnownToBe) {
  ZEROLOSS_NEEDS_CIFAR10(folder);
  for (const std::string split : {"train", "test"}) {
    const ImageSet images = read_images(folder, {.split = split});
    EXPECT_EQ(images.n(), split == "train" ? 50000 : 10000);
    for (std::int64_t c = 0; c < 10; ++c)
      EXPECT_EQ(std::ranges::count(images.labels, c), split == "train" ? 5000 : 1000);
    if (split == "test") continue;
    // The means by channel that everybody normalises CIFAR-10 with: 0.4914, 0.4822, 0.4465.
    double sums[3] = {};
    for (std::size_t k = 0; k < images.pixels.size(); ++k) sums[k % 3] += images.pixels[k];
    const double known[3] = {0.4914, 0.4822, 0.4465};
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(sums[c] / (50000.0 * 1024 * 255), known[c], 0.5e-4);  // four digits
  }
}

}  // namespace
}  // namespace zeroloss
