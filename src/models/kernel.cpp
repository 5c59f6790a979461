#include <fmt/format.h>

#include <utility>

#include "models/kind.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/network/kernel_network.hpp"
#include "zeroloss/network/network.hpp"

namespace zeroloss {
using namespace internal;

Model model_of(const std::shared_ptr<const KernelNetwork>& network, const Metadata& extra) {
  const KernelNetwork& it = *network;
  Model model{.kind = "kernel",
              .description = fmt::format("infinitely wide two-layer {} network, ridge {:.3g}, of {}",
                                         it.activation, it.ridge, count(it.n(), "point", "points")),
              .task = it.task,
              .class_names = it.class_names,
              .outputs = [network](const auto& X, const Progress& p) { return predict(*network, X, p); },
              .classes = predicted_classes,
              .export_onnx = [network, extra](const auto& path) { export_onnx(path, *network, extra); },
              .inputs = it.features(),
              .encoding = it.encoding,
              .signature = fmt::format("x [batch, {}] float64 -> y [batch, {}]{}", it.features(),
                                       it.outputs(), label_of(it.task)),
              .network = network};
  if (it.task == Task::classification && it.solution_error.size() > 0)
    model.decided = [network](const auto& X, const Progress& p) {
      BoundedOutputs bounded = bounded_predict(*network, X, p);
      return std::pair(std::move(bounded.outputs), std::move(bounded.decided));
    };
  return model;
}

namespace internal {

ModelKind kernel() {
  return {"kernel", [](const std::string& path, const Metadata& metadata) {
            return model_of(std::make_shared<const KernelNetwork>(load_kernel_network(path)), metadata);
          }};
}

}  // namespace internal
}  // namespace zeroloss
