#include <fmt/format.h>

#include "models/enclosed_memorizer.hpp"
#include "models/kind.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/deep/onnx.hpp"
#include "zeroloss/graph/network.hpp"
#include "zeroloss/network/network.hpp"

namespace zeroloss {
using namespace internal;

Model model_of(const std::shared_ptr<const DeepNetwork>& network, const Metadata& extra) {
  const DeepNetwork& it = *network;
  // A network of other programs may have outputs without names: it is asked for numbers, then.
  const std::size_t classes = it.outputs() == 1 ? 2 : static_cast<std::size_t>(it.outputs());
  const bool named = it.task != Task::classification || it.class_names.size() == classes;
  const Task task = named ? it.task : Task::none;
  return {.kind = "deep",
          .description = fmt::format("network of {}, float64", describe(it)),
          .task = task,
          .class_names = named ? it.class_names : std::vector<std::string>{},
          .outputs = [network](const auto& X, const Progress& p) { return predict(*network, X, p); },
          .classes = predicted_classes,
          .export_onnx = [network, extra](const auto& path) { export_onnx(path, *network, extra); },
          .inputs = it.features(),
          .encoding = it.encoding,
          .signature = fmt::format("x [batch, {}] float64 -> y [batch, {}]{}", it.features(), it.outputs(),
                                   label_of(it.task)),
          .network = network};
}

Model model_of(const GraphNetwork& network, bool named) {
  if (const auto memorizer = memorizer_of(network)) return model_of(memorizer);
  const auto its = std::make_shared<const GraphNetwork>(network);
  Model model{.kind = "graph",
              .description = network.description,
              .task = network.labels ? Task::classification : Task::none,
              .outputs =
                  [its](const auto& X, const Progress& progress) {
                    Progress silent = progress.silent();
                    return enclosed_outputs(*its, X, "exact", silent).f;
                  },
              .classes = predicted_classes,
              .export_onnx =
                  [its](const auto&) {
                    throw DataError(fmt::format("{}: it is an ONNX file already: copy it", its->name));
                  },
              .notes = network.notes,
              .network = its};
  if (!named) return model;
  const Index d = network.labels ? features_of(network) : 0;
  model.task = d > 0 ? Task::classification : Task::none;
  if (d == 0) return model;
  const Index outputs = model.outputs(RowMatrix::Zero(1, d), {}).cols();
  model.class_names = class_names_of(network, outputs);
  if (!model.class_names.empty()) return model;
  for (Index k = 0; k < std::max<Index>(outputs, 2); ++k) model.class_names.push_back(fmt::to_string(k));
  return model;
}

namespace internal {

ModelKind deep() {
  return {"deep", [](const std::string& path, const Metadata& metadata) {
            return model_of(std::make_shared<const DeepNetwork>(load_deep(path)), metadata);
          }};
}

}  // namespace internal
}  // namespace zeroloss
