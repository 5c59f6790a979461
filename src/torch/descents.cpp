#include "zeroloss/torch/descents.hpp"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "torch/descent_batch.hpp"
#include "torch/device.hpp"
#include "torch/guarded.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss {
using namespace internal;
namespace {

/// More would not make a step of one shorter, and an interruption would lose more.
constexpr Index kMostAtOnce = 4096;

/// What is left free: for libraries, and for others.
constexpr double kShare = 0.5;

/// Steps until the next look at which networks have ended: a look waits for the device, so they are as many
/// as take some tenth of a second. How many there are changes no result.
class Looks {
 public:
  Index steps() const { return steps_; }
  void took(double seconds) {
    if (seconds < 0.05) steps_ = std::min<Index>(2 * steps_, 2048);
    if (seconds > 0.2) steps_ = std::max<Index>(steps_ / 2, 1);
  }

 private:
  Index steps_ = 8;
};

class TorchDescents final : public DescentEngine {
 public:
  explicit TorchDescents(const torch::Device& device) : device_(device) {}

  std::string name() const override { return engine_name(device_); }

  Index at_once(const DescentShape& shape, const DescentRules& rules) const override {
    const double one = DescentBatch::bytes(shape, rules);
    require_bytes(one / kShare, device_, fmt::format("a network of width {}", shape.m), kNarrower);
    return std::clamp<Index>(static_cast<Index>(kShare * available_bytes(device_) / one), 1, kMostAtOnce);
  }

  void train(const std::vector<Descent>& list, const DescentRules& rules, const Done& done,
             Progress& progress) override {
    if (list.empty()) return;
    const auto most = static_cast<std::size_t>(at_once(DescentBatch::shape_of(list), rules));
    for (std::size_t begin = 0; begin < list.size(); begin += most) {
      std::vector<std::size_t> places(std::min(list.size() - begin, most));
      std::iota(places.begin(), places.end(), begin);
      train_some(list, std::move(places), rules, done, progress);
    }
  }

 private:
  /// Until all have ended; once half of those that are carried along have, without them.
  void train_some(const std::vector<Descent>& list, std::vector<std::size_t> places,
                  const DescentRules& rules, const Done& done, Progress& progress) const {
    using Clock = std::chrono::steady_clock;
    const auto on_device = [](auto work) { return guarded("descents", kNarrower, work); };
    auto batch = on_device([&] { return std::make_unique<DescentBatch>(list, places, rules, device_); });
    Looks looks;
    while (true) {
      auto ended = on_device([&] { return batch->take_ended(); });
      if (!ended.empty()) done(std::move(ended));
      if (batch->going() == 0) return;
      if (2 * batch->going() <= batch->size()) on_device([&] { batch->keep_going_ones(); });
      progress.check();
      const auto began = Clock::now();
      on_device([&] { batch->advance(looks.steps()); });
      looks.took(std::chrono::duration<double>(Clock::now() - began).count());
    }
  }

  const torch::Device device_;
};

}  // namespace

std::unique_ptr<DescentEngine> torch_descents(const std::string& device) {
  at::globalContext().setAllowTF32CuBLAS(false);
  return std::make_unique<TorchDescents>(use_device("sweep", device));
}

}  // namespace zeroloss
