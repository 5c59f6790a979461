#include "zeroloss/memorize/memorizer.hpp"

#include <fmt/format.h>

#include "models/kind.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;

Model model_of(const std::shared_ptr<const Memorizer>& network, const Metadata& extra) {
  const Memorizer& it = *network;
  return {.kind = "memorizer",
          .description = fmt::format("memoriser of {} residual blocks of width {}, {}",
                                     with_commas(it.blocks()), it.hidden(), it.precision),
          .task = it.task,
          .class_names = it.class_names,
          .outputs = [network](const auto& X, const Progress& p) { return predict(*network, X, p); },
          .classes = largest_outputs,
          .export_onnx = [network, extra](const auto& path) { export_onnx(path, *network, extra); },
          .inputs = it.d(),
          .encoding = it.encoding,
          .signature = fmt::format("x [batch, {}] {} -> y [batch, {}]{}", it.d(), it.precision, it.outputs(),
                                   label_of(it.task)),
          .network = network};
}

namespace internal {

ModelKind memorizer() {
  return {"memorizer", [](const std::string& path, const Metadata& metadata) {
            return model_of(std::make_shared<const Memorizer>(load_memorizer(path)), metadata);
          }};
}

}  // namespace internal
}  // namespace zeroloss
