#pragma once
#include <functional>
#include <memory>
#include <string>

/// What is said with CUDA's own headers. Without CUDA (cuda_absent.cpp) there are no devices, and nothing
/// else here is called.
namespace zeroloss::internal::cuda {

int devices();
std::string version();         ///< "CUDA 13.0", "no CUDA"
std::string name(int device);  ///< "NVIDIA H100 80GB HBM3"

/// Fast and, if asked for, reproducible convolutions; TF32 stays off.
void configure(bool deterministic);

/// What is free of a device's memory, with what LibTorch keeps of it for later.
double free_bytes(int device);

/// The device for work of this thread.
void use(int device);

/// Waits until all work of the current device is done.
void synchronize();

/// Kernels recorded once and started again by one call, which leaves the processor free.
class Graph {
 public:
  /// Runs `work` three times to settle what libraries choose, then records it. Its tensors have to stay where
  /// they are.
  explicit Graph(const std::function<void()>& work);
  ~Graph();
  void replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zeroloss::internal::cuda
