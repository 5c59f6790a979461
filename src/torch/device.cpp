#include "torch/device.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <stdexcept>

#include "torch/cuda.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {

torch::Device device_of(const std::string& of, const std::string& name, int local_rank) {
  const bool chosen = name == "cuda" || name.starts_with("cuda:");
  if (name == "cpu" || (name == "auto" && cuda::devices() == 0)) return torch::kCPU;
  if (name != "auto" && !chosen)
    throw std::invalid_argument(
        fmt::format("{}: device must be cpu, cuda, cuda:N or auto; got '{}'", of, name));
  int index = local_rank;
  if (name.starts_with("cuda:")) {
    const std::string number = name.substr(5);
    const auto read = parsed_integer<int>(number);
    if (!read || number.starts_with('-') || *read > 999)
      throw std::invalid_argument(fmt::format("{}: device '{}'; expected cuda:N, N a number", of, name));
    index = *read;
  }
  if (index >= cuda::devices())
    throw BackendError(fmt::format("{}: device {} asked for, but {} sees {} CUDA devices", of, name,
                                   libtorch_version(), cuda::devices()));
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

std::string device_name(const torch::Device& device) {
  return device.is_cuda() ? device.str() + " (" + cuda::name(device.index()) + ")" : device.str();
}

double available_bytes(const torch::Device& device) {
  return device.is_cuda() ? cuda::free_bytes(device.index()) : static_cast<double>(available_memory_bytes());
}

void require_bytes(double needed, const torch::Device& device, const std::string& what, const char* hint) {
  const double free = available_bytes(device);
  if (needed > free)
    throw ResourceError(fmt::format("{} needs {} on {}, {} free; {}", what, format_bytes(needed),
                                    device_name(device), format_bytes(free), hint));
}

std::string libtorch_version() { return fmt::format("LibTorch {}, {}", TORCH_VERSION, cuda::version()); }

torch::Device use_device(const std::string& of, const std::string& name) {
  const torch::Device device = device_of(of, name);
  if (device.is_cuda()) cuda::use(device.index());
  at::set_num_threads(thread_count());
  return device;
}

std::string engine_name(const torch::Device& device) {
  return fmt::format("{} on {}", libtorch_version(), device_name(device));
}

}  // namespace zeroloss::internal
