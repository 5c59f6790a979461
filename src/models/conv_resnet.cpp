#include <fmt/format.h>

#include "models/kind.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/conv/resnet.hpp"

namespace zeroloss::internal {
namespace {

Model open(const std::string& path, const Metadata& metadata) {
  const auto network = std::make_shared<const ConvNetwork>(load_conv_network(path));
  const ConvArchitecture& shape = network->architecture;
  const auto refuse = [path](const auto&, const Progress&) -> Matrix {
    throw DataError(path + ": a convolutional network; it predicts with: `predict()` (files), `evaluate()`");
  };
  return {.kind = "conv_resnet",
          .description = fmt::format("convolutional network for {0} x {0} images", shape.image_size),
          .task = Task::classification,
          .class_names = network->class_names,
          .outputs = refuse,
          .export_onnx = [network, metadata](const auto& file) { export_onnx(file, *network, metadata); },
          .signature = fmt::format("images [batch, {0}, {0}, 3] uint8 RGB -> logits [batch, {1}] float32, "
                                   "label [batch] int64",
                                   shape.image_size, shape.classes),
          .network = network};
}

}  // namespace

ModelKind conv_resnet() { return {"conv_resnet", open}; }

}  // namespace zeroloss::internal
