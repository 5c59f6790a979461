#include "zeroloss/conv/train.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss {
namespace {

[[noreturn]] void absent(const char* what) {
  throw BackendError(std::string(what) +
                     ": this build has no LibTorch; install it (Debian: libtorch-dev; elsewhere: pip install "
                     "torch, and give CMake its folder by -DZEROLOSS_TORCH) and build again");
}

}  // namespace

ConvResult train(const ImageSet&, const ImageSet&, const ConvOptions&, Progress&, const ConvObserver&) {
  absent("conv");
}

Logits predict(const ConvNetwork&, const ImageSet&, const ConvDevice&, Progress&, Index) {
  absent("predict");
}

std::string libtorch() { return {}; }

}  // namespace zeroloss
