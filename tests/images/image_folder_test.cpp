#include <gtest/gtest.h>

#include <bit>

#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/data/dataset.hpp"

/// idx files and the folders of MNIST and CIFAR.
namespace zeroloss {
namespace {

template <class T>
std::string big_endian(T value) {
  std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
  if (std::endian::native == std::endian::little) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

template <class T>
std::string idx(char type, const std::vector<std::int32_t>& sizes, const std::vector<T>& values) {
  std::string bytes{'\0', '\0', type, static_cast<char>(sizes.size())};
  for (const auto size : sizes) bytes += big_endian(size);
  for (const T value : values) bytes += big_endian(value);
  return bytes;
}

using Bytes = std::vector<std::uint8_t>;

class Folder : public test::TempFolder {
 protected:
  const std::string images = idx<std::uint8_t>(8, {3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255});
  const std::string labels = idx<std::uint8_t>(8, {3}, {7, 0, 7});
  const RowMatrix pixels{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 255}};

  static std::string cifar(const Bytes& labels_of, std::size_t label_bytes) {
    std::string bytes;
    for (std::size_t i = 0; i < labels_of.size() / label_bytes; ++i) {
      for (std::size_t k = 0; k < label_bytes; ++k)
        bytes += static_cast<char>(labels_of[i * label_bytes + k]);
      bytes += std::string(3072, static_cast<char>(200 + i));
    }
    return bytes;
  }
};

TEST_F(Folder, ReadsEveryIdxElementType) {
  const RowMatrix expected{{-1, 2}, {3, -4}};
  EXPECT_EQ(read_dataset(write("a.idx", idx<std::int8_t>(9, {2, 2}, {-1, 2, 3, -4}))).X, expected);
  EXPECT_EQ(read_dataset(write("a.idx", idx<std::int16_t>(11, {2, 2}, {-1, 2, 3, -4}))).X, expected);
  EXPECT_EQ(read_dataset(write("a.idx", idx<std::int32_t>(12, {2, 2}, {-1, 2, 3, -4}))).X, expected);
  EXPECT_EQ(read_dataset(write("a.idx", idx<float>(13, {2, 2}, {-1, 2, 3, -4}))).X, expected);
  EXPECT_EQ(read_dataset(write("a.idx", idx<double>(14, {2, 2}, {-1, 2, 3, -4}))).X, expected);
  EXPECT_EQ(read_dataset(write("a.idx", idx<std::uint8_t>(8, {1, 3}, {0, 128, 255}))).X,
            (RowMatrix{{0, 128, 255}}));
}

TEST_F(Folder, FindsTheLabelsBesideTheImages) {
  for (const auto& [image_name, label_name] : std::vector<std::pair<std::string, std::string>>{
           {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
           {"t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"},
           {"images.idx", "labels.idx"}}) {
    write(label_name, labels);
    const Dataset data = read_dataset(write(image_name, images));
    EXPECT_EQ(data.X, pixels);
    EXPECT_EQ(data.y, (Vector{{1, 0, 1}}));
    EXPECT_EQ(data.class_names, (std::vector<std::string>{"0", "7"}));
    EXPECT_EQ(data.target_name, "labels file " + label_name);
    EXPECT_EQ(data.digest, sha256(images + labels));
  }
  write_gz("b-labels-idx1-ubyte.gz", labels);
  EXPECT_EQ(read_dataset(write_gz("b-images-idx3-ubyte.gz", images)).y, (Vector{{1, 0, 1}}));
  EXPECT_EQ(read_dataset(write("b-images-idx3-ubyte", images)).y, (Vector{{1, 0, 1}}))
      << "the labels may be gzipped alone";
  const Dataset alone = read_dataset(write("c-images-idx3-ubyte", images));
  EXPECT_EQ(alone.task, Task::none);
  EXPECT_EQ(alone.digest, sha256(images));
}

TEST_F(Folder, NamesDamagedIdx) {
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", images.substr(0, images.size() - 1))), "a.idx",
                 "truncated", "found 27", "expected 28");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", images + "x")), "too long");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", images.substr(0, 10))), "truncated", "header");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", images.substr(0, 3))), "truncated", "header");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", "hello world")), "not an idx file");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", std::string("\0\0\x0A\2", 4))), "not an idx file");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", labels)), "one dimension", "images file");
  EXPECT_MESSAGE(DataError,
                 read_dataset(write("a.idx", idx<std::uint8_t>(8, {2000000000, 2000000000, 2000000000}, {}))),
                 "impossible sizes");
  EXPECT_MESSAGE(DataError,
                 read_dataset(write_gz("a.idx.gz", idx<std::uint8_t>(8, {2000000000, 1000000}, {1, 2}))),
                 "truncated");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx", idx<std::uint8_t>(8, {-1, 2}, {}))), "truncated");
  const std::string gz = content(write_gz("w.idx.gz", images));
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx.gz", gz.substr(0, gz.size() - 9))), "truncated gzip");
  EXPECT_MESSAGE(DataError, read_dataset(write("a.idx.gz", gz.substr(0, gz.size() - 9)), {.n = 1}),
                 "truncated gzip");
}

TEST_F(Folder, NamesLabelsThatDoNotFit) {
  write("train-images-idx3-ubyte", images);
  write("train-labels-idx1-ubyte", idx<std::uint8_t>(8, {2}, {1, 2}));
  EXPECT_MESSAGE(DataError, read_dataset(path("train-images-idx3-ubyte")), "2 labels", "3 images");
  write("train-labels-idx1-ubyte", images);
  EXPECT_MESSAGE(DataError, read_dataset(path("train-images-idx3-ubyte")), "3 dimensions", "expected 1");
}

TEST_F(Folder, RoundTripsRandomIdx) {
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    Random random(trial, Stream::points);
    const auto n = static_cast<std::int32_t>(1 + random.below(50)),
               d = static_cast<std::int32_t>(1 + random.below(50));
    std::vector<double> values(static_cast<std::size_t>(n * d));
    for (double& x : values) x = random.normal();
    EXPECT_EQ(read_dataset(write("a.idx", idx<double>(14, {n, d}, values))).X,
              Eigen::Map<RowMatrix>(values.data(), n, d));
    EXPECT_EQ(read_dataset(write_gz("a.idx.gz", idx<double>(14, {n, d}, values))).X,
              Eigen::Map<RowMatrix>(values.data(), n, d));
  }
}

TEST_F(Folder, ReadsMnistSplits) {
  write("m/train-images-idx3-ubyte", images);
  write("m/train-labels-idx1-ubyte", labels);
  write("m/t10k-images-idx3-ubyte", idx<std::uint8_t>(8, {2, 1, 1}, {5, 6}));
  write("m/t10k-labels-idx1-ubyte", idx<std::uint8_t>(8, {2}, {0, 1}));
  EXPECT_EQ(read_dataset(path("m")).X, pixels);
  EXPECT_EQ(read_dataset(path("m"), {.split = "test"}).X, (RowMatrix{{5}, {6}}));
  EXPECT_MESSAGE(std::invalid_argument, read_dataset(path("m"), {.split = "both"}), "split", "\"both\"");
  EXPECT_MESSAGE(DataError, read_dataset(path("m/train-images-idx3-ubyte"), {.split = "test"}),
                 "no test split");
}

TEST_F(Folder, SaysWhatIsKnown) {
  write("other/readme", "x");
  EXPECT_MESSAGE(
      DataError, read_dataset(path("other")),
      "no train files known here; expected data_batch_1.bin or test_batch.bin (CIFAR-10), train.bin and "
      "test.bin (CIFAR-100), train-images-idx3-ubyte[.gz] (MNIST) or a folder of jpg, jpeg or png files for "
      "each class");
  EXPECT_MESSAGE(DataError, read_dataset(path("other"), {.split = "test"}), "no test files",
                 " t10k-images-idx3-ubyte[.gz] (MNIST)");
  EXPECT_MESSAGE(DataError, read_dataset(write("zeros", std::string(20, '\0'))),
                 "its format is not known; expected csv, csv.gz, npy, npz, idx, idx.gz or a folder of CIFAR, "
                 "MNIST or image files");
}

TEST_F(Folder, ReadsCifar10) {
  const std::string first = cifar({3, 9}, 1), second = cifar({0}, 1), test = cifar({1, 2}, 1);
  for (const std::string inside : {"", "cifar-10-batches-bin/"}) {
    const std::string folder_name = "c" + std::to_string(inside.size());
    write(folder_name + "/" + inside + "data_batch_1.bin", first);
    write(folder_name + "/" + inside + "data_batch_2.bin", second);
    write(folder_name + "/" + inside + "test_batch.bin", test);
    const Dataset data = read_dataset(path(folder_name));
    EXPECT_EQ(data.n(), 3);
    EXPECT_EQ(data.d(), 3072);
    EXPECT_EQ(data.X.col(3071), (Vector{{200, 201, 200}}));
    EXPECT_EQ(data.y, (Vector{{1, 2, 0}}));
    EXPECT_EQ(data.class_names, (std::vector<std::string>{"0", "3", "9"}));
    EXPECT_EQ(data.digest, sha256(first + second));
    const Dataset last = read_dataset(path(folder_name), {.classes = {"0", "9"}});
    EXPECT_EQ(last.records, (std::vector<Index>{1, 2}));
    EXPECT_EQ(last.X.col(0), (Vector{{201, 200}}));
    EXPECT_EQ(read_dataset(path(folder_name), {.split = "test"}).n(), 2);
    write(folder_name + "/" + inside + "batches.meta.txt",
          "zebra\nant\ncat\ndog\nemu\nfox\ngnu\nhen\nibis\njay\n\n");
    EXPECT_EQ(read_dataset(path(folder_name)).class_names, (std::vector<std::string>{"dog", "jay", "zebra"}));
    EXPECT_EQ(read_dataset(path(folder_name)).y, (Vector{{0, 1, 2}}));
  }
}

TEST_F(Folder, ReadsFilesOfCifar10Alone) {
  const std::string test = cifar({1, 2, 2}, 1);
  const std::string file = write("c/test_batch.bin", test);
  write("c/batches.meta.txt", "zebra\nant\ncat\ndog\nemu\nfox\ngnu\nhen\nibis\njay\n");
  for (const std::string& source : {file, path("c")}) {
    const Dataset data = read_dataset(source);
    EXPECT_EQ(data.n(), 3) << source;
    EXPECT_EQ(data.X.col(0), (Vector{{200, 201, 202}}));
    EXPECT_EQ(data.class_names, (std::vector<std::string>{"ant", "cat"}));
    EXPECT_EQ(data.digest, sha256(test));
  }
  EXPECT_EQ(read_dataset(path("c"), {.split = "test"}).n(), 3);
  EXPECT_EQ(read_dataset(write("other/data_batch_3.bin", test)).class_names,
            (std::vector<std::string>{"1", "2"}));
  EXPECT_MESSAGE(DataError, read_dataset(write("short/test_batch.bin", test.substr(1))), "test_batch.bin",
                 "truncated");
}

TEST_F(Folder, ReadsCifar100FineLabels) {
  write("c/train.bin", cifar({0, 99, 19, 5}, 2));
  write("c/test.bin", cifar({1, 2, 1, 3}, 2));
  EXPECT_EQ(read_dataset(path("c")).class_names, (std::vector<std::string>{"5", "99"}));
  EXPECT_EQ(read_dataset(path("c")).y, (Vector{{1, 0}}));
  EXPECT_EQ(read_dataset(path("c"), {.split = "test"}).class_names, (std::vector<std::string>{"2", "3"}));
}

TEST_F(Folder, NamesWhatIsWrongWithCifar) {
  write("c/data_batch_1.bin", cifar({3, 10}, 1));
  EXPECT_MESSAGE(DataError, read_dataset(path("c")), "data_batch_1.bin", "record 1", "label 10", "0 to 9");
  write("c/data_batch_1.bin", cifar({3, 1}, 1).substr(1));
  EXPECT_MESSAGE(DataError, read_dataset(path("c")), "data_batch_1.bin", "truncated", "6145 bytes",
                 "multiple of 3073");
  write("c/data_batch_1.bin", "");
  EXPECT_MESSAGE(DataError, read_dataset(path("c")), "truncated", "found 0");
  EXPECT_MESSAGE(DataError, read_dataset(path("c"), {.split = "test"}), "test_batch.bin", "no such file");
  write("c/data_batch_1.bin", cifar({3, 1}, 1));
  write("c/batches.meta.txt", "cat\ndog\n");
  EXPECT_MESSAGE(DataError, read_dataset(path("c")), "batches.meta.txt", "found 2", "expected 10");
  EXPECT_MESSAGE(DataError, read_dataset(folder), "no train files known", "CIFAR-10", "MNIST");
}

TEST(SharedData, MnistIsWhatItIsKnownToBe) {
  ZEROLOSS_NEEDS_SHARED("mnist");
  const auto folder = test::shared_data() / "mnist";
  const Dataset first = read_dataset(folder, {.n = 3});
  EXPECT_EQ(first.d(), 784);
  EXPECT_EQ(first.class_names, (std::vector<std::string>{"0", "4", "5"}));
  EXPECT_EQ(first.y, (Vector{{2, 0, 1}}));
  EXPECT_EQ(first.X.rowwise().sum(), (Vector{{27525, 31095, 19443}}));
  EXPECT_EQ(first.X.minCoeff(), 0);
  EXPECT_EQ(first.X.maxCoeff(), 255);
  const Dataset test = read_dataset(folder, {.split = "test"});
  EXPECT_EQ(test.n(), 10000);
  EXPECT_EQ(test.classes(), 10);
}

}  // namespace
}  // namespace zeroloss
