#include "torch/cuda.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <torch/cuda.h>
#include <torch/utils.h>

namespace zeroloss::internal::cuda {

struct Graph::State {
  at::cuda::CUDAGraph graph;
};

int devices() { return static_cast<int>(torch::cuda::device_count()); }

std::string version() { return fmt::format("CUDA {}.{}", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10); }

std::string name(int device) { return at::cuda::getDeviceProperties(device)->name; }

void configure(bool deterministic) {
  at::globalContext().setBenchmarkCuDNN(!deterministic);
  at::globalContext().setDeterministicCuDNN(deterministic);
  at::globalContext().setAllowTF32CuDNN(false);
}

double free_bytes(int device) {
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  torch::empty({0}, torch::kCUDA);  // before the first tensor the allocator knows no device
  std::size_t free = 0, all = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &all));
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
  // The first of each array is of all pools together.
  const auto kept = stats.reserved_bytes[0].current - stats.allocated_bytes[0].current;
  return static_cast<double>(free) + static_cast<double>(kept);
}

void use(int device) { c10::cuda::set_device(static_cast<c10::DeviceIndex>(device)); }

void synchronize() { c10::cuda::device_synchronize(); }

Graph::Graph(const std::function<void()>& work) : state_(std::make_unique<State>()) {
  synchronize();
  {
    const c10::cuda::CUDAStreamGuard guard(at::cuda::getStreamFromPool());
    for (int i = 0; i < 3; ++i) work();
    synchronize();
    state_->graph.capture_begin();
    work();
    state_->graph.capture_end();
  }
  synchronize();
}

Graph::~Graph() = default;

void Graph::replay() { state_->graph.replay(); }

}  // namespace zeroloss::internal::cuda
