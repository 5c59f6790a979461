#pragma once
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {

/// "run/model.safetensors: writing failed: No space left on device", with the reason that errno has.
[[noreturn]] inline void fail(const std::filesystem::path& path, const char* action) {
  throw ResourceError(fmt::format("{}: {} failed: {}", path.string(), action, std::strerror(errno)));
}

}  // namespace zeroloss::internal
