#pragma once
#include <memory>
#include <string>

#include "zeroloss/kernel/engine.hpp"

/// Kernels as tensors of LibTorch: in the memory of a GPU, multiplied by cuBLAS and factored by cuSOLVER, or
/// on the processor by the same code.
namespace zeroloss {

/// Of "cpu", "cuda", "cuda:N", or "auto": a GPU where there is one. Factorisations are proved by their
/// residual (Proof::residual), whose products are probed first: where double precision is not that of IEEE,
/// or float32 is TF32, BackendError. cuBLAS's emulation is switched off by its environment variables, which
/// it reads once: a process that uses it before must not have switched it on. Throws std::invalid_argument
/// for another name, BackendError for a GPU that is not there, or where LibTorch is not.
std::unique_ptr<Engine> torch_engine(const std::string& device = "auto");

}  // namespace zeroloss
