#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "zeroloss/base/progress.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/storage/tensors.hpp"

/// The infinitely wide network of one hidden layer as a predictor: kernel ridge regression with its tangent
/// kernel Sigma (theory 2), f(x) = offset + sum_i k(<x_i, x>) C_i with C = (K + ridge k(1) I)^-1 (Y -
/// offset). With ridge = 0 that is what gradient descent on the hidden layer converges to from outputs of 0.
namespace zeroloss {

struct KernelNetwork {
  std::string activation = "relu";
  double ridge = 0;       ///< in units of the kernel's diagonal k(1)
  RowMatrix points{};     ///< n x d, training points as the neurons see them, of unit length
  Matrix coefficients{};  ///< C, n x outputs
  Vector offset{};        ///< of each output: the mean of targets that are numbers, 0 of classes
  /// What outputs may be off those of the exact solution C, at every point, proved (PredictorBound::error):
  /// outputs x outputs; empty where nothing is.
  Matrix solution_error{};
  Center center{};                         ///< subtracted from every point first; empty = nothing is
  static constexpr bool normalize = true;  ///< then every point is divided by its length
  Task task = Task::none;
  std::vector<std::string> class_names{};  ///< of the data it was trained on; empty for regression
  Standardization standardization{};       ///< before all this; its origin is `center`
  Encoding encoding{};                     ///< of the rows of a table before that; empty: points are numbers

  Index n() const { return points.rows(); }
  Index d() const { return points.cols(); }  ///< of the points that the neurons see
  Index outputs() const { return coefficients.cols(); }
  Index features() const { return d() - (standardization.bias != 0 ? 1 : 0); }  ///< of the points given
};
template <Is<KernelNetwork> T, class Visitor>
void fields(T& n, const Visitor& visit) {
  visit(Field{"activation"}, n.activation);
  visit(Field{"ridge", "In units of the kernel's diagonal."}, n.ridge);
  visit(Field{"points", "n x d, the training points, of unit length."}, n.points);
  visit(Field{"coefficients", "n x outputs."}, n.coefficients);
  visit(Field{"offset", "Of each output: the mean of targets that are numbers, 0 of classes."}, n.offset);
  visit(Field{"solution_error",
              "outputs x outputs: what outputs, and differences of two, may be off the exact predictor's at "
              "every point, proved; empty where nothing is."},
        n.solution_error);
  visit(Field{"center"}, n.center);
  visit(Field{"task", "none | regression | classification."}, n.task);
  visit(Field{"class_names", "Empty for regression."}, n.class_names);
  visit(Field{"standardization"}, n.standardization);
  visit(Field{"encoding"}, n.encoding);
}

/// Outputs for points as the neurons see them, m x d -> m x outputs. m n (d + about 50) multiply-adds. Throws
/// Interrupted once cancelled, ResourceError.
Matrix outputs(const KernelNetwork& network, const RowMatrix& X, const Progress& progress = {});

/// Outputs for raw points, m x features -> m x outputs: one for regression and for two classes (the sign
/// decides), else one a class (the largest decides). Throws as predict() of
/// a Network.
Matrix predict(const KernelNetwork& network, const Eigen::Ref<const RowMatrix>& X,
               const Progress& progress = {});

/// Outputs beside the exact predictor's, whose coefficients solve the equations exactly.
struct BoundedOutputs {
  Matrix outputs;  ///< m x outputs
  Matrix error;    ///< m x outputs: what each may be off, proved; infinite where nothing is
  /// Of classification: whose class is proved to be that of the exact predictor; else empty.
  std::vector<bool> decided;
};

/// The same as outputs() and predict(), with bounds in which all rounding is counted. Points are the exact
/// quotients that `X` is within unit_row_error of, as normalize_rows leaves them.
BoundedOutputs bounded_outputs(const KernelNetwork& network, const RowMatrix& X,
                               const Progress& progress = {});
BoundedOutputs bounded_predict(const KernelNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                               const Progress& progress = {});

/// Writes a safetensors file: tensors points (n x d), coefficients (n x outputs), offset (outputs) and, where
/// it is known, solution_error (outputs x outputs), F64,
/// and mean, mean_low and scale as in files of a Network; metadata kind = kernel, format_version = 1,
/// activation, ridge, and what those files have. `extra` is kept beside these. Throws std::invalid_argument
/// for a network that load_kernel_network would refuse, and as write_tensors.
void save_model(const std::filesystem::path& path, const KernelNetwork& network, const Metadata& extra = {});

/// What save_model wrote: the same numbers to the last bit. Throws DataError naming the file and what is
/// wrong, as load_model.
KernelNetwork load_kernel_network(const std::filesystem::path& path);

/// Writes it as ONNX in float64, as export_onnx() of a Network: input "x" [batch, features], output "y"
/// [batch, outputs], for classification "label" [batch]. The kernel is evaluated at all stored points: in
/// closed form for relu, leaky_relu and erf, the arc sine as a rational function (fdlibm's, within an ulp),
/// since ONNX Runtime has none in float64; else as the power series that predict() sums. Memory at use:
/// several arrays of batch x n numbers.
void export_onnx(const std::filesystem::path& path, const KernelNetwork& network, const Metadata& extra = {});

}  // namespace zeroloss
