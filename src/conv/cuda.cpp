#include "conv/cuda.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <torch/cuda.h>

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
