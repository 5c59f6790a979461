#pragma once
#include <any>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/deep/read.hpp"
#include "zeroloss/sources/readers.hpp"
#include "zeroloss/storage/tensors.hpp"

/// Any saved model, whatever its kind: opened, described, asked, exported.
namespace zeroloss {

struct KernelNetwork;
struct Memorizer;
struct Network;

/// A model as far as its use goes. Made by open_model, or of a network at hand.
struct Model {
  /// two_layer | kernel | memorizer | deep | conv_resnet, as in the file's metadata; graph: an ONNX file that
  /// is no network of layers.
  std::string kind;
  std::string description;                 ///< "two-layer relu network of width 1,024, float64"
  Task task = Task::none;                  ///< it was trained for
  std::vector<std::string> class_names{};  ///< of the outputs; empty unless classification
  /// The outputs for points, as predict() of its kind gives and throws. Throws DataError where the model is
  /// asked about something else than points.
  std::function<Matrix(const Eigen::Ref<const RowMatrix>& X, const Progress& progress)> outputs{};
  /// The same outputs, and at which points their class is proved to be that of a predictor which the model
  /// stands for; null where there is none, or nothing is proved of it.
  std::function<std::pair<Matrix, std::vector<bool>>(const Eigen::Ref<const RowMatrix>& X,
                                                     const Progress& progress)>
      decided{};
  std::function<std::vector<Index>(const Matrix& outputs)> classes{};  ///< the classes that outputs stand for
  /// Writes it as ONNX, as export_onnx() of its kind does, with all metadata of its file.
  std::function<void(const std::filesystem::path& path)> export_onnx{};
  Index inputs = 0;          ///< numbers of a point; 0: not known
  Encoding encoding{};       ///< of the rows of tables; empty: it is asked about numbers
  std::string signature{};   ///< of that ONNX: "x [batch, 64] float64 -> y [batch, 10], label [batch] int64"
  bool its_classes = false;  ///< select_for(): targets are of its classes; others are an error
  std::vector<std::string> notes{};  ///< on how a file of other programs was read, a line each
  /// A std::shared_ptr<const T>, T = Network, KernelNetwork, Memorizer, DeepNetwork, GraphNetwork or
  /// ConvNetwork.
  std::any network{};
};

/// The model in a .safetensors file, or in a run folder that holds model.safetensors; in an .onnx file, as
/// layers or as the graph that it is; or a state_dict, as `layout` says. Throws DataError naming the file and
/// what is wrong with it, and as read_network().
Model open_model(const std::filesystem::path& path, const StateLayout& layout = {},
                 const GraphOptions& graph = {});

/// A network as a model; `extra` is kept in what is exported.
Model model_of(const std::shared_ptr<const Network>& network, const Metadata& extra = {});
Model model_of(const std::shared_ptr<const KernelNetwork>& network, const Metadata& extra = {});
Model model_of(const std::shared_ptr<const Memorizer>& network, const Metadata& extra = {});
Model model_of(const std::shared_ptr<const DeepNetwork>& network, const Metadata& extra = {});

/// Its targets are classes where the graph makes labels, whose names are those of the file if `named`, which
/// evaluates it once; where their number or the sizes of a sample are not known it is asked for numbers,
/// then.
Model model_of(const GraphNetwork& network, bool named = false);

/// select(), with targets as the model's task has them: what looks like classes may be a regression target.
/// Without a target in the options a table's is the column that has the name of the model's target. Points
/// may all be of one class where the model knows its classes. Throws std::invalid_argument if options.task is
/// another task than the model's.
Dataset select_for(const Model& model, Source source, ReadOptions options);

struct PredictOptions {
  /// The classes that outputs stand for, as in output_classes(): of a model that names none, or numbers.
  std::vector<std::string> class_names = {};
};
template <Is<PredictOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(
      Field{"class_names",
            "The classes that the outputs stand for, in their order, or 0..9 for numbers; of one output that "
            "below 0, then that above [those that the model names; else those of the data]"}
          .taking("A,B,...")
          .under("Model"),
      o.class_names);
}

/// A model whose file does not say what it was trained for, with the task of the data's targets: its classes
/// are those of output_classes(), or its one output is a number. Notes say what was taken, or why targets are
/// not compared with. Any other model stays as it is, but for classes that are called by numbers. Throws
/// std::invalid_argument for names of classes that do not fit.
Model with_task_of(Model model, const Dataset& data, const PredictOptions& options = {});

/// What a model says about points, and how that compares with their targets.
struct Prediction {
  Matrix outputs{};                      ///< n x outputs
  std::vector<std::string> predicted{};  ///< names of classes; empty unless classification
  std::vector<std::string> labels{};     ///< of the points; empty unless classification with labels
  std::vector<Index> wrong{};            ///< points whose label is another one, ascending
  std::optional<double> error{};         ///< fraction wrong, or relative misfit; nothing without targets
  /// Of each class whether it is proved to be that of the exact predictor that a kernel model is near; empty
  /// of others.
  std::vector<bool> decided{};
};

/// Targets are compared with if there are any and the model has a task: classes by name, those of the data
/// may be others, fewer or in another order. Throws what model.outputs throws, std::invalid_argument for
/// targets of another task, DataError if no class of the data is one of the model's.
Prediction predict(const Model& model, const Dataset& data, const Progress& progress = {});

}  // namespace zeroloss
