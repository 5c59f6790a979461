#include "zeroloss/models/models.hpp"

#include "bindings.hpp"
#include "zeroloss/deep/network.hpp"
#include "zeroloss/graph/network.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/network/kernel_network.hpp"
#include "zeroloss/network/network.hpp"

namespace zeroloss::python {
namespace {

/// A network that lives in Python, which keeps it.
template <class T>
void make(Model* self, const T& network) {
  new (self) Model(model_of(std::shared_ptr<const T>(std::shared_ptr<const T>(), &network)));
}

/// The model's network, if its class is T.
template <class T>
nb::object network_of(const Model& model) {
  const auto* network = std::any_cast<std::shared_ptr<const T>>(&model.network);
  return network == nullptr ? nb::none() : nb::cast(std::const_pointer_cast<T>(*network));
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Prediction>(m, "Predicted",
                         "What a model says about points, and how that compares with their targets.")
      .def_prop_ro(
          "outputs", [](const Prediction& p) { return p.outputs; }, "n x outputs.")
      .def_ro("predicted", &Prediction::predicted, "Names of classes; empty unless classification.")
      .def_ro("labels", &Prediction::labels, "Of the points; empty unless classification with labels.")
      .def_ro("wrong", &Prediction::wrong, "Points whose label is another one.")
      .def_ro("decided", &Prediction::decided,
              "Of each class whether it is proved to be that of the exact predictor which a kernel model is "
              "near; "
              "empty of others.")
      .def_ro("error", &Prediction::error, "Fraction wrong, or relative misfit; None without targets.");

  nb::class_<Model>(m, "Model", "A model of any kind, as far as its use goes.")
      .def("__init__", make<Network>, "network"_a, nb::keep_alive<1, 2>())
      .def("__init__", make<KernelNetwork>, "network"_a, nb::keep_alive<1, 2>())
      .def("__init__", make<Memorizer>, "network"_a, nb::keep_alive<1, 2>())
      .def("__init__", make<DeepNetwork>, "network"_a, nb::keep_alive<1, 2>())
      .def(
          "__init__",
          [](Model* self, const GraphNetwork& network) {
            new (self) Model(value_of_work(nb::none(), [&](Progress&) { return model_of(network, true); }));
          },
          "network"_a)
      .def(
          "__init__",
          [](Model* self, const std::filesystem::path& path) {
            new (self) Model(value_of_work(nb::none(), [&](Progress&) { return open_model(path); }));
          },
          "path"_a,
          "Of a .safetensors file, of a run folder that holds model.safetensors, or of an .onnx file.")
      .def_rw("its_classes", &Model::its_classes,
              "Targets are of its classes, be all of one; others are an error.")
      .def_ro("kind", &Model::kind, "two_layer | kernel | memorizer | deep | conv_resnet | graph.")
      .def_ro("notes", &Model::notes, "On how a file of other programs was read, a line each.")
      .def_ro("description", &Model::description)
      .def_prop_ro(
          "task", [](const Model& model) { return name(model.task); }, "none | regression | classification.")
      .def_ro("class_names", &Model::class_names, "Of the outputs; empty unless classification.")
      .def_ro("signature", &Model::signature, "Inputs and outputs of its ONNX.")
      .def_prop_ro(
          "network",
          [](const Model& model) {
            nb::object network = network_of<Network>(model);
            if (network.is_none()) network = network_of<KernelNetwork>(model);
            if (network.is_none()) network = network_of<Memorizer>(model);
            if (network.is_none()) network = network_of<DeepNetwork>(model);
            return network.is_none() ? network_of<GraphNetwork>(model) : network;
          },
          nb::sig(
              "def network(self) -> Network | KernelNetwork | Memorizer | DeepNetwork | GraphNetwork | None"),
          "None for other kinds.")
      .def(
          "read_dataset",
          [](const Model& model, const std::string& source, const ReadOptions& options,
             const std::string& call) {
            return std::make_shared<DatasetAsRead>(value_of_work(nb::none(), [&](Progress&) {
              return DatasetAsRead{select_for(model, open_source(source, options), options), options, call};
            }));
          },
          "source"_a, "options"_a, "call"_a, "Data with targets as the model's task has them.")
      .def(
          "dataset",
          [](const Model& model, const Array2& X, const std::optional<Array1>& numbers,
             std::vector<std::string> texts, const ReadOptions& options, std::string name,
             const std::string& call, std::vector<std::string> remarks, const std::vector<Index>& sizes) {
            return std::make_shared<DatasetAsRead>(value_of_work(nb::none(), [&](Progress&) {
              const Source source =
                  source_of(X, numbers, std::move(texts), std::move(name), std::move(remarks), sizes);
              return DatasetAsRead{select_for(model, source, options), options, call};
            }));
          },
          "X"_a, "numbers"_a.none(), "texts"_a, "options"_a, "name"_a, "call"_a, "remarks"_a, "sizes"_a,
          "The same of arrays, with what there is to say of how they became doubles.")
      .def(
          "table",
          [](const Model& model, const Frame& frame, const ReadOptions& options, std::string name,
             const std::string& call) {
            return std::make_shared<DatasetAsRead>(value_of_work(nb::none(), [&](Progress&) {
              const Source source = source_of(frame, std::move(name), options);
              return DatasetAsRead{select_for(model, source, options), options, call};
            }));
          },
          "frame"_a, "options"_a, "name"_a, "call"_a, "The same of a data frame.")
      .def(
          "with_task_of",
          [](const Model& model, const DatasetAsRead& data, std::vector<std::string> class_names) {
            const PredictOptions options{std::move(class_names)};
            return value_of_work(nb::none(), [&](Progress&) { return with_task_of(model, data, options); });
          },
          "data"_a, "class_names"_a, nb::keep_alive<0, 1>(),
          "With the task of the data's targets, where its file says none.")
      .def(
          "predict",
          [](const Model& model, const DatasetAsRead& data) {
            return value_of_work(nb::none(), [&](Progress& p) { return predict(model, data, p); });
          },
          "data"_a, "What it says about the points, compared with their targets.")
      .def(
          "export_onnx",
          [](const Model& model, const std::filesystem::path& path) { model.export_onnx(path); }, "path"_a,
          "Writes it as ONNX.")
      .def("__repr__", [](const Model& model) { return "<" + model.description + ">"; });
}

}  // namespace zeroloss::python
