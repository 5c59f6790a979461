#pragma once
#include <torch/types.h>

#include <string>

/// Devices by name.
namespace zeroloss::internal {

/// Of "cpu", "cuda", "cuda:N", or "auto": a GPU where there is one. `local_rank`: the GPU where none is
/// named. Throws std::invalid_argument, as of the call `of`, BackendError for a GPU that is not there.
torch::Device device_of(const std::string& of, const std::string& name, int local_rank = 0);

std::string device_name(const torch::Device& device);  ///< "cpu", "cuda:0 (NVIDIA H100)"

/// What is free of a GPU's memory, or of the machine's.
double available_bytes(const torch::Device& device);
/// Throws ResourceError where `needed` bytes are not free: "`what` needs 3.2 GB on cuda:0 (..), .. free;
/// `hint`".
void require_bytes(double needed, const torch::Device& device, const std::string& what, const char* hint);

std::string libtorch_version();  ///< "LibTorch 1.13.0, no CUDA"

/// device_of(), for the work of this thread, with as many threads of LibTorch's as ours.
torch::Device use_device(const std::string& of, const std::string& name);
std::string engine_name(const torch::Device& device);  ///< "LibTorch 1.13.0, no CUDA on cpu"

}  // namespace zeroloss::internal
