#include "zeroloss/conv/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/parallel_for.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace internal {

template <class T>
T& at(std::vector<T>& values, Index i) {
  return values[static_cast<std::size_t>(i)];
}

/// Buffers that come back when their last holder lets go.
struct Pool : std::enable_shared_from_this<Pool> {
  std::size_t count = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<float>> free;
  std::size_t made = 0;

  std::shared_ptr<float> take() {
    std::shared_ptr<float> buffer;
    {
      const std::lock_guard lock(mutex);
      if (!free.empty()) {
        buffer = std::move(free.back());
        free.pop_back();
      } else {
        buffer = std::shared_ptr<float>(new float[count], std::default_delete<float[]>());
        free.reserve(++made);  // so that giving back never allocates
      }
    }
    float* place = buffer.get();
    return {place, [pool = shared_from_this(), buffer = std::move(buffer)](float*) mutable {
              const std::lock_guard lock(pool->mutex);
              pool->free.push_back(std::move(buffer));
            }};
  }
};

/// The order of training, read forwards: only the permutation of one epoch is kept.
struct Order {
  Index n = 0;
  std::uint64_t seed = 0;
  Index epoch = -1;
  std::vector<Index> permutation{};

  Index image(Index position) {
    if (position / n != epoch) {
      epoch = position / n;
      permutation.resize(static_cast<std::size_t>(n));
      std::iota(permutation.begin(), permutation.end(), Index{0});
      Random random(seed, Stream::batches, static_cast<std::uint64_t>(epoch));
      shuffle(permutation, random);
    }
    return at(permutation, position % n);
  }
};

}  // namespace internal

using namespace internal;

namespace {

constexpr std::size_t kAhead = 4;  // batches, the one in work included
constexpr Index kPiece = 16;       // images that a thread takes at once

/// Image i as it is in memory, or decoded into `decoded`; of a size that fits the crop.
ImageView fetch_image(const ImageSet& images, const Augment& options, Index size, Index i, Image& decoded) {
  if (images.in_memory()) return images.view(i);
  decoded = images.image(i);
  if (options.crop != "resized" && (decoded.height != size || decoded.width != size))
    throw DataError(fmt::format("{}: is {} x {}, crop = {} needs {} x {}; use crop = resized",
                                images.files[static_cast<std::size_t>(i)], decoded.height, decoded.width,
                                options.crop, size, size));
  return decoded;
}

}  // namespace

struct Batches::State {
  /// A batch in work.
  struct Slot {
    Batch batch{};
    Index first = 0;  ///< position of its first image in the order of training
    Index claimed = 0, done = 0;
    Index failed_at = 0;
    std::exception_ptr failure{};

    bool complete() const { return done == batch.count(); }
  };

  const ImageSet& images;
  const Augment options;
  const Index batch, share, rank, size;
  const std::uint64_t seed;
  std::int64_t step;  ///< the next one to open
  Order order;
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();

  std::mutex mutex;
  std::condition_variable work, ready;
  std::deque<Slot> slots;  ///< front: the next to hand out; back: the one in which images are claimed
  bool stop = false;
  std::exception_ptr no_room{};  ///< there is no memory for another slot
  std::vector<std::thread> threads;

  State(const ImageSet& set, const Augment& augment, Index global, std::uint64_t key, std::int64_t first_step,
        int process, int world)
      : images(set),
        options(augment),
        batch(global),
        share(global / world),
        rank(process),
        size(check_augment(augment, set)),
        seed(key),
        step(first_step),
        order{set.n(), key} {}

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    work.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  bool has_claims() const { return !slots.empty() && slots.back().claimed < slots.back().batch.count(); }

  /// Begins the next batch. What goes wrong is kept for next().
  void open() {
    Slot& slot = slots.emplace_back();
    slot.first = step * batch + rank * share;
    slot.batch.step = step;
    slot.batch.epoch = static_cast<double>((step + 1) * batch) / static_cast<double>(images.n());
    slot.batch.size = size;
    ++step;
    try {
      slot.batch.x = pool->take();
      for (Index k = 0; k < share; ++k) slot.batch.indices.push_back(order.image(slot.first + k));
      for (const Index i : slot.batch.indices)
        slot.batch.labels.push_back(images.labels[static_cast<std::size_t>(i)]);
    } catch (...) {
      slot.batch = {.step = slot.batch.step};  // nothing to do: complete
      slot.failure = std::current_exception();
      ready.notify_one();
    }
  }

  void fill(Slot& slot, Index k) {
    const Index i = at(slot.batch.indices, k), epoch = (slot.first + k) / images.n();
    const Random random(seed, Stream::augment, static_cast<std::uint64_t>(epoch * images.n() + i));
    Image decoded;
    augment(fetch_image(images, options, size, i, decoded), options, size, random,
            slot.batch.x.get() + k * 3 * size * size);
  }

  /// Images begin..end-1 of a slot, without the lock; returns what went wrong and where.
  std::pair<std::exception_ptr, Index> fill(Slot& slot, Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      try {
        fill(slot, k);
      } catch (...) {
        return {std::current_exception(), k};
      }
    }
    return {nullptr, end};
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [&] { return stop || has_claims() || slots.size() < kAhead; });
      if (stop) return;
      if (!has_claims()) {
        try {
          open();
        } catch (...) {
          no_room = std::current_exception();
          stop = true;
          ready.notify_one();
        }
        work.notify_all();
        continue;
      }
      Slot& slot = slots.back();  // stays where it is: others are added behind it and taken before it
      const Index begin = slot.claimed, end = std::min(begin + kPiece, slot.batch.count());
      slot.claimed = end;
      lock.unlock();
      const auto [failure, failed_at] = fill(slot, begin, end);
      lock.lock();
      if (failure && (!slot.failure || failed_at < slot.failed_at)) {
        slot.failure = failure;
        slot.failed_at = failed_at;
      }
      slot.done += end - begin;
      if (slot.complete()) ready.notify_one();
    }
  }
};

Batches::Batches(const ImageSet& images, const Augment& options, Index batch, std::uint64_t seed,
                 std::int64_t first_step, int threads, int rank, int world) {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument("Batches: " + what);
  };
  require(images.n() >= 1, "there are no images");
  require(world >= 1 && rank >= 0 && rank < world,
          fmt::format("rank must be 0 to world - 1; got rank {} of world {}", rank, world));
  require(batch >= 1 && batch % world == 0,
          fmt::format("batch must be a multiple of {} processes, at least 1; got {}", world, batch));
  require(first_step >= 0, fmt::format("first_step must be >= 0; got {}", first_step));
  require(threads >= 1, fmt::format("threads must be >= 1; got {}", threads));
  Random(seed, Stream::augment);  // checks the seed
  state_ = std::make_unique<State>(images, options, batch, seed, first_step, rank, world);
  state_->pool->count = static_cast<std::size_t>(3 * state_->share * state_->size * state_->size);
  for (int k = 0; k < threads; ++k) state_->threads.emplace_back([state = state_.get()] { state->run(); });
}

Batches::~Batches() = default;

Batch Batches::next() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const auto complete = [&] { return !state.slots.empty() && state.slots.front().complete(); };
  state.ready.wait(lock, [&] { return complete() || state.no_room; });
  if (!complete()) std::rethrow_exception(state.no_room);
  if (state.slots.front().failure) std::rethrow_exception(state.slots.front().failure);
  Batch batch = std::move(state.slots.front().batch);
  state.slots.pop_front();
  lock.unlock();
  state.work.notify_all();
  return batch;
}

void fill_evaluation(const ImageSet& images, const Augment& options, std::span<const Index> indices,
                     float* x) {
  const Index size = check_augment(options, images);
  for (const Index i : indices)
    if (i < 0 || i >= images.n())
      throw std::invalid_argument(
          fmt::format("fill_evaluation: index {}; there are {} images", i, images.n()));
  const auto count = static_cast<Index>(indices.size());
  parallel_for(count, [&](Index k) {
    Image decoded;
    const Index i = indices[static_cast<std::size_t>(k)];
    prepare(fetch_image(images, options, size, i, decoded), options, size, x + k * 3 * size * size);
  });
}

}  // namespace zeroloss
