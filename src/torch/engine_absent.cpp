#include "zeroloss/core/error.hpp"
#include "zeroloss/torch/engine.hpp"

namespace zeroloss {

std::unique_ptr<Engine> torch_engine(const std::string&) {
  throw BackendError(
      "certify: this build has no LibTorch; install it (Debian: libtorch-dev; elsewhere: pip install torch, "
      "and "
      "give CMake its folder by -DZEROLOSS_TORCH) and build again");
}

}  // namespace zeroloss
