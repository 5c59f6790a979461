#pragma once
#include <string>

#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {

/// What a build without LibTorch says to a call of what needs it.
[[noreturn]] inline void no_libtorch(const std::string& call) {
  throw BackendError(call +
                     ": this build has no LibTorch; install it (Debian: libtorch-dev; elsewhere: pip install "
                     "torch, and give CMake its folder by -DZEROLOSS_TORCH) and build again");
}

}  // namespace zeroloss::internal
