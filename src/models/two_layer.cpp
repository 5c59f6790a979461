#include <fmt/format.h>

#include "models/kind.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/network/model.hpp"

namespace zeroloss {
using namespace internal;

Model model_of(const std::shared_ptr<const Network>& network, const Metadata& extra) {
  const Network& it = *network;
  return {.kind = "two_layer",
          .description = fmt::format("two-layer {} network of width {}, {}", it.activation,
                                     with_commas(it.width()), it.precision),
          .task = it.task,
          .class_names = it.class_names,
          .outputs = [network](const auto& X, const Progress& p) { return predict(*network, X, p); },
          .classes = predicted_classes,
          .export_onnx = [network, extra](const auto& path) { export_onnx(path, *network, extra); },
          .inputs = it.features(),
          .encoding = it.encoding,
          .signature = fmt::format("x [batch, {}] {} -> y [batch, {}]{}", it.features(), it.precision,
                                   it.outputs.size(), label_of(it.task)),
          .network = network};
}

namespace internal {

ModelKind two_layer() {
  return {"two_layer", [](const std::string& path, const Metadata& metadata) {
            return model_of(std::make_shared<const Network>(load_model(path)), metadata);
          }};
}

}  // namespace internal
}  // namespace zeroloss
