#include "zeroloss/conv/batches.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <new>
#include <numeric>
#include <set>
#include <thread>

#include "conv/images.hpp"
#include "support/statistics.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace {

const std::thread::id kTest = std::this_thread::get_id();
std::atomic<bool> no_memory{false};  // on other threads than the test's

}  // namespace

// Inlined, GCC would take them for a pair that does not match.
#define ZEROLOSS_NOT_INLINED __attribute__((noinline))
ZEROLOSS_NOT_INLINED void* operator new(std::size_t size) {
  void* const place = no_memory && std::this_thread::get_id() != kTest ? nullptr : std::malloc(size);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
ZEROLOSS_NOT_INLINED void operator delete(void* place) noexcept { std::free(place); }
ZEROLOSS_NOT_INLINED void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace zeroloss {
namespace {

using test::random_images;

struct Copy {
  std::int64_t step = 0;
  double epoch = 0;
  std::vector<float> x;
  std::vector<std::int64_t> labels;
  std::vector<Index> indices;
  bool operator==(const Copy&) const = default;
};

Copy copy(const Batch& batch) {
  const Index count = batch.count() * batch.size * batch.size * 3;
  return {batch.step, batch.epoch, {batch.x.get(), batch.x.get() + count}, batch.labels, batch.indices};
}

std::vector<Copy> take(Batches& batches, int count) {
  std::vector<Copy> taken;
  for (int k = 0; k < count; ++k) taken.push_back(copy(batches.next()));
  return taken;
}

TEST(Batches, GoThroughEveryImageOnceAnEpoch) {
  const ImageSet images = random_images(50, 6, 1);
  Batches batches(images, {}, 8, 3);
  std::vector<Index> order;
  for (int step = 0; step < 50; ++step) {
    const Batch batch = batches.next();
    EXPECT_EQ(batch.step, step);
    EXPECT_DOUBLE_EQ(batch.epoch, 8.0 * (step + 1) / 50);
    EXPECT_EQ(batch.count(), 8);
    EXPECT_EQ(batch.size, 6);
    for (Index k = 0; k < 8; ++k) {
      const Index i = batch.indices[static_cast<std::size_t>(k)];
      EXPECT_EQ(batch.labels[static_cast<std::size_t>(k)], images.labels[static_cast<std::size_t>(i)]);
      order.push_back(i);
    }
  }
  std::set<std::vector<Index>> orders;
  for (auto begin = order.begin(); begin != order.end(); begin += 50) {
    EXPECT_EQ(std::set<Index>(begin, begin + 50).size(), 50U) << "a permutation";
    orders.emplace(begin, begin + 50);
  }
  EXPECT_EQ(orders.size(), 8U) << "another one in every epoch";
}

TEST(Batches, HoldWhatAugmentMakes) {
  const ImageSet images = random_images(10, 6, 2);
  const Augment options{.pad = 2, .cutout = 2};
  Batches batches(images, options, 7, 5);
  std::vector<float> expected(3 * 36);
  for (Index position = 0; position < 70;) {
    const Batch batch = batches.next();
    for (Index k = 0; k < 7; ++k, ++position) {
      const Index i = batch.indices[static_cast<std::size_t>(k)], epoch = position / 10;
      augment(images.view(i), options, 6,
              Random(5, Stream::augment, static_cast<std::uint64_t>(epoch * 10 + i)), expected.data());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.x.get() + k * 108)) << position;
    }
  }
}

TEST(Batches, OrdersAreUniform) {
  // Where image 0 of 5 stands, and who follows it, over 4,000 epochs.
  const ImageSet images = random_images(5, 1, 1);
  Batches batches(images, {.crop = "none"}, 5, 7);
  std::vector<double> places(5), after(5);
  for (int epoch = 0; epoch < 4000; ++epoch) {
    const std::vector<Index> order = batches.next().indices;
    const auto place = static_cast<std::size_t>(std::ranges::find(order, 0) - order.begin());
    ++places[place];
    ++after[static_cast<std::size_t>(order[(place + 1) % 5])];
  }
  EXPECT_EQ(after[0], 0);
  after.erase(after.begin());
  EXPECT_LT(test::chi_square_sigmas(places), test::kSigmas);
  EXPECT_LT(test::chi_square_sigmas(after), test::kSigmas);
}

TEST(Batches, DoNotDependOnThreads) {
  const ImageSet images = random_images(100, 8, 3);
  Batches one(images, {}, 40, 1, 0, 1);
  const std::vector<Copy> expected = take(one, 30);
  for (const int threads : {2, 7}) {
    Batches many(images, {}, 40, 1, 0, threads);
    EXPECT_EQ(take(many, 30), expected) << threads;
  }
  Batches other(images, {}, 40, 2);
  EXPECT_NE(take(other, 30), expected) << "but on the seed";
}

TEST(Batches, OfAllRanksAreTheBatchOfOneProcess) {
  const ImageSet images = random_images(50, 5, 4);
  for (const int world : {2, 3, 12}) {
    Batches whole(images, {}, 12, 1);
    std::vector<std::unique_ptr<Batches>> parts;
    for (int rank = 0; rank < world; ++rank)
      parts.push_back(std::make_unique<Batches>(images, Augment{}, 12, 1, 0, 1, rank, world));
    for (int step = 0; step < 20; ++step) {
      Copy joined{step, 12.0 * (step + 1) / 50, {}, {}, {}};
      for (const auto& part : parts) {
        const Copy share = copy(part->next());
        joined.x.insert(joined.x.end(), share.x.begin(), share.x.end());
        joined.labels.insert(joined.labels.end(), share.labels.begin(), share.labels.end());
        joined.indices.insert(joined.indices.end(), share.indices.begin(), share.indices.end());
      }
      EXPECT_EQ(joined, copy(whole.next())) << world << " processes, step " << step;
    }
  }
}

TEST(Batches, ResumeWhereTheyStopped) {
  const ImageSet images = random_images(30, 4, 5);
  Batches all(images, {}, 8, 1);
  const std::vector<Copy> expected = take(all, 20);
  for (const int first : {1, 3, 4, 15, 19}) {
    Batches rest(images, {}, 8, 1, first, 2);
    EXPECT_EQ(take(rest, 20 - first), (std::vector<Copy>{expected.begin() + first, expected.end()})) << first;
  }
}

TEST(Batches, MayBeLargerThanAnEpoch) {
  const ImageSet images = random_images(3, 2, 6);
  Batches large(images, {.pad = 1}, 20, 1), small(images, {.pad = 1}, 1, 1);
  for (int step = 0; step < 3; ++step) {
    const Copy whole = copy(large.next());
    std::vector<float> x;
    for (const Copy& one : take(small, 20)) x.insert(x.end(), one.x.begin(), one.x.end());
    EXPECT_EQ(whole.x, x);
  }
}

TEST(Batches, LeaveABufferAloneThatIsHeld) {
  const ImageSet images = random_images(30, 4, 5);
  Batch kept;
  std::vector<float> x;
  std::set<const float*> places;
  {
    Batches batches(images, {}, 8, 1, 0, 2, 1, 2);
    kept = batches.next();
    x = copy(kept).x;
    for (int k = 0; k < 100; ++k) places.insert(batches.next().x.get());
    EXPECT_EQ(copy(kept).x, x);
  }
  EXPECT_EQ(copy(kept).x, x) << "even when the threads have gone";
  EXPECT_EQ(places.count(kept.x.get()), 0U);
  EXPECT_LE(places.size(), 5U) << "four ahead, one handed over: used again";
}

TEST(Batches, StopAtAnyTime) {
  const ImageSet images = random_images(1000, 16, 7);
  for (int k = 0; k < 40; ++k) {
    Batches batches(images, {}, 100, 1, 0, 1 + k % 5);
    for (int j = 0; j < k % 4; ++j) batches.next();
  }
}

TEST(Batches, SayThatThereIsNoMemory) {
  const ImageSet images = random_images(1000, 16, 7);
  for (int taken = 0; taken < 8; ++taken) {  // the queue needs memory for one of a few batches
    Batches batches(images, {}, 100, 1, 0, 2);
    take(batches, taken);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // as many are ahead as may be
    no_memory = true;
    EXPECT_THROW(while (true) batches.next(), std::bad_alloc);
    no_memory = false;
  }
}

class BatchesOfFiles : public test::TempFolder {
 protected:
  /// As many images of 9 x 13 as wanted.
  ImageSet photos(int n) const {
    for (int k = 0; k < n; ++k)
      write(
          "p/" + std::string(k % 2 == 0 ? "cat" : "dog") + "/" + std::to_string(k) + ".png",
          content(std::string(ZEROLOSS_TEST_FILES) + (k % 3 == 0 ? "/images/rgb.png" : "/images/grey.png")));
    return read_images(path("p"));
  }
};

TEST_F(BatchesOfFiles, DecodeAndCrop) {
  const ImageSet images = photos(9);
  const Augment options{.crop = "resized", .size = 8};
  Batches batches(images, options, 4, 1, 0, 3);
  std::vector<float> expected(3 * 64);
  for (Index position = 0; position < 40;) {
    const Batch batch = batches.next();
    for (Index k = 0; k < 4; ++k, ++position) {
      const Index i = batch.indices[static_cast<std::size_t>(k)];
      augment(images.image(i), options, 8,
              Random(1, Stream::augment, static_cast<std::uint64_t>(position / 9 * 9 + i)), expected.data());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.x.get() + k * 192));
    }
  }
}

TEST_F(BatchesOfFiles, PassOnWhatIsWrongWithAFile) {
  const ImageSet images = photos(8);
  const Augment options{.crop = "resized", .size = 8};
  EXPECT_MESSAGE(DataError, Batches(images, {.crop = "pad", .size = 8}, 4, 1).next(), ".png", "is 9 x 13",
                 "8 x 8", "crop = resized");
  Batches sound(images, options, 2, 1);
  std::vector<Index> order;
  for (int k = 0; k < 4; ++k)
    for (const Index i : sound.next().indices) order.push_back(i);
  const std::string victim = images.files[static_cast<std::size_t>(order[5])];
  std::filesystem::remove(victim);
  Batches batches(images, options, 2, 1, 0, 3);
  EXPECT_EQ(batches.next().indices, (std::vector<Index>{order[0], order[1]}));
  EXPECT_EQ(batches.next().indices, (std::vector<Index>{order[2], order[3]})) << "what came before is whole";
  EXPECT_MESSAGE(DataError, batches.next(), victim, "no such file");
  EXPECT_MESSAGE(DataError, batches.next(), victim, "no such file");
  std::vector<float> x(3 * 64 * 8);
  std::vector<Index> all(8);
  std::iota(all.begin(), all.end(), Index{0});
  EXPECT_MESSAGE(DataError, fill_evaluation(images, options, all, x.data()), victim);
}

TEST(Evaluation, HoldsWhatPrepareMakes) {
  const ImageSet images = random_images(40, 6, 8);
  const std::vector<Index> indices{3, 39, 0, 3, 17};
  std::vector<float> x(5 * 108, NAN), expected(108);
  fill_evaluation(images, {}, indices, x.data());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    prepare(images.view(indices[k]), {}, 6, expected.data());
    EXPECT_TRUE(
        std::equal(expected.begin(), expected.end(), x.begin() + static_cast<std::ptrdiff_t>(108 * k)));
  }
  const std::vector<Index> beyond{40}, before{-1};
  EXPECT_MESSAGE(std::invalid_argument, fill_evaluation(images, {}, beyond, x.data()), "index 40",
                 "40 images");
  EXPECT_MESSAGE(std::invalid_argument, fill_evaluation(images, {}, before, x.data()), "index -1");
}

TEST(Batches, NameWrongArguments) {
  const ImageSet images = random_images(10, 4, 1);
  EXPECT_MESSAGE(std::invalid_argument, Batches(images, {}, 0, 1), "batch", "at least 1", "0");
  EXPECT_MESSAGE(std::invalid_argument, Batches(images, {}, 9, 1, 0, 1, 0, 2), "multiple of 2", "9");
  EXPECT_MESSAGE(std::invalid_argument, Batches(images, {}, 8, 1, -1), "first_step", "-1");
  EXPECT_MESSAGE(std::invalid_argument, Batches(images, {}, 8, 1, 0, 0), "threads", "0");
  EXPECT_MESSAGE(std::invalid_argument, Batches(images, {}, 8, 1, 0, 1, 2, 2), "rank 2 of world 2");
  EXPECT_MESSAGE(std::invalid_argument, Batches(images, {}, 8, std::uint64_t{1} << 53), "seed");
  EXPECT_MESSAGE(std::invalid_argument, Batches(images, {.crop = "x"}, 8, 1), "crop");
  EXPECT_MESSAGE(std::invalid_argument, Batches({}, {}, 8, 1), "no images");
}

}  // namespace
}  // namespace zeroloss
