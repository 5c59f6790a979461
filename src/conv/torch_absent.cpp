#include "torch/absent.hpp"
#include "zeroloss/conv/train.hpp"

namespace zeroloss {
using namespace internal;

ConvResult train(const ImageSet&, const ImageSet&, const ConvOptions&, Progress&, const ConvObserver&) {
  no_libtorch("conv");
}

Logits predict(const ConvNetwork&, const ImageSet&, const ConvDevice&, Progress&, Index) {
  no_libtorch("predict");
}

std::string libtorch() { return {}; }

}  // namespace zeroloss
