#pragma once
#include <memory>
#include <string>

#include "zeroloss/network/tangent_steps.hpp"

/// Gauss-Newton's steps of a two-layer network as tensors of LibTorch.
namespace zeroloss {

/// Of "cpu", "cuda", "cuda:N", or "auto": a GPU where there is one. Float64 everywhere. With n points of d
/// numbers and m units a network takes 8 (n (n + 2 w) + 8 n m + 5 m d + n d) bytes of the device, w = 1024
/// (of a processor 512), a step n^2 (m + d)/2 + n^3/6 multiply-adds. A certificate takes 8 (n (n + 10 w) + n
/// (m + d + 2 max(m, d))) more, asked for at the beginning; its factors are proved by their residuals, with
/// products that are probed first. Throws std::invalid_argument for another name, BackendError for a GPU that
/// is not there, or where LibTorch is not.
std::unique_ptr<TangentEngine> torch_tangents(const std::string& device = "auto");

}  // namespace zeroloss
