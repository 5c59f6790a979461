#pragma once
#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "conv/group.hpp"
#include "zeroloss/core/error.hpp"

/// What gloo and NCCL have in common.
namespace zeroloss {

inline constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(5);

inline c10::intrusive_ptr<c10d::Store> store_of(const ConvProcess& process) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(process.port);
  options.isServer = process.rank == 0 && !process.store_runs;
  options.numWorkers = static_cast<std::size_t>(process.world);
  options.waitWorkers = false;
  options.timeout = kPatience;
  const auto store = c10::make_intrusive<c10d::TCPStore>(process.address, options);
  return c10::make_intrusive<c10d::PrefixStore>("zeroloss", store);
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

}  // namespace zeroloss
