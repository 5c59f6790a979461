#pragma once
#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "conv/group.hpp"
#include "zeroloss/base/error.hpp"

/// What gloo and NCCL have in common.
namespace zeroloss::internal {

inline constexpr std::chrono::milliseconds kJoining = std::chrono::minutes(5);    ///< for all to come
inline constexpr std::chrono::milliseconds kTogether = std::chrono::minutes(60);  ///< for the slowest of all

inline c10::intrusive_ptr<c10d::Store> store_of(const ConvProcess& process) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(process.port);
  options.isServer = process.rank == 0 && !process.store_runs;
  options.numWorkers = static_cast<std::size_t>(process.world);
  options.waitWorkers = false;
  options.timeout = kJoining;
  auto store = c10::make_intrusive<c10d::PrefixStore>(
      "zeroloss", c10::make_intrusive<c10d::TCPStore>(process.address, options));
  const auto key = [](int rank) { return fmt::format("joined {}", rank); };
  store->set(key(process.rank), std::vector<std::uint8_t>{1});
  std::vector<std::string> all;
  for (int rank = 0; rank < process.world; ++rank) all.push_back(key(rank));
  store->wait(all, kJoining);
  return store;
}

/// A Group over one of c10d's process groups, made from a store.
template <class Backend>
class Processes : public Group {
 public:
  template <class Make>
  Processes(const ConvProcess& process, const char* name, Make make)
      : process_(process),
        what_(fmt::format("conv: {} between {} processes at {}:{}", name, process.world, process.address,
                          process.port)) {
    guard([&] { backend_ = make(store_of(process)); });
  }

  ~Processes() override {
    if constexpr (requires(Backend & backend) { backend.shutdown(); }) {
      try {
        backend_->shutdown();
      } catch (const std::exception&) {  // the others are gone already
      }
    }
  }

  void sum(torch::Tensor& numbers) override {
    std::vector<torch::Tensor> all{numbers};
    guard([&] { backend_->allreduce(all)->wait(); });
  }

 private:
  template <class Work>
  void guard(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      throw BackendError(
          fmt::format("{} failed (rank {}): {}", what_, process_.rank, text.substr(0, text.find('\n'))));
    }
  }

  ConvProcess process_;
  std::string what_;
  c10::intrusive_ptr<Backend> backend_;
};

}  // namespace zeroloss::internal
