#include <fmt/format.h>

#include <stdexcept>

#include "base/json.hpp"
#include "data/model_file.hpp"
#include "data/onnx_parts.hpp"
#include "kernel/activations/list.hpp"
#include "network/onnx_formula.hpp"
#include "zeroloss/deep/onnx.hpp"
#include "zeroloss/storage/onnx.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// A network written as a graph, layer behind layer.
class GraphWriter {
 public:
  GraphWriter() : model_("deep"), formula_(model_, Dtype::f64) {}

  OnnxModel write(const DeepNetwork& network) {
    std::string h = model_.input("x", Dtype::f64, {-1, network.features()});
    if (network.shift.size() > 0) h = model_.node("Sub", {h, constant("shift", network.shift)});
    if (network.shift_low.size() > 0) h = model_.node("Sub", {h, constant("shift_low", network.shift_low)});
    if (network.factor.size() > 0) h = model_.node("Mul", {h, constant("factor", network.factor)});
    if (network.constant != 0) h = with_constant(model_, h, network.constant, Dtype::f64);
    if (network.unit) h = of_unit_length(model_, h);
    for (std::size_t l = 0; l < network.layers.size(); ++l)
      h = behind(network.layers[l], fmt::format("{}", l + 1), h);
    const std::string y = linear(h, network.V, "V", network.c, "c", "y");
    model_.output(y, Dtype::f64, {-1, network.outputs()});
    if (network.task == Task::classification) add_class(model_, y, network.outputs(), Dtype::f64);
    return std::move(model_);
  }
  bool rough_erf() const { return formula_.rough_erf(); }

 private:
  std::string constant(const std::string& name, const Vector& a) {
    return model_.constant(view_of(name, {a.size()}, a.data()));
  }

  // A number for each unit. A single one would be merged with the product before it, into an attribute that
  // ONNX Runtime keeps in float32.
  std::string each(double value, Index count, const std::string& name) {
    const Vector numbers = Vector::Constant(count, value);
    return constant(name, numbers);
  }

  std::string linear(const std::string& h, const RowMatrix& W, const std::string& W_name, const Vector& b,
                     const std::string& b_name, const std::string& name = "") {
    const RowMatrix turned = W.transpose();
    const std::string weights =
        model_.constant(view_of(W_name, {turned.rows(), turned.cols()}, turned.data()));
    if (b.size() == 0) return model_.node("MatMul", {h, weights}, {}, name);
    return model_.node("Add", {model_.node("MatMul", {h, weights}), constant(b_name, b)}, {}, name);
  }

  std::string phi(const Layer& layer, const std::string& number, const std::string& z) {
    if (layer.activation == "identity") return z;
    if (layer.activation == "leaky_relu")  // whose operator has a slope in float32
      return model_.node("Max",
                         {z, model_.node("Mul", {z, each(layer.leak, layer.units(), "leak" + number)})});
    return describe(phi_of(activation_of(layer)),
                    [&](auto description) { return description.onnx(formula_, z); });
  }

  std::string behind(const Layer& layer, const std::string& number, const std::string& h) {
    std::string branch = phi(layer, number, linear(h, layer.W, "W" + number, layer.b, "b" + number));
    if (layer.U.size() > 0)
      branch = linear(branch, layer.U, "U" + number, layer.bU, "bU" + number);
    else if (layer.bU.size() > 0)
      branch = model_.node("Add", {branch, constant("bU" + number, layer.bU)});
    if (layer.scale != 1)
      branch = model_.node("Mul", {branch, each(layer.scale, layer.outputs(), "scale" + number)});
    return layer.residual ? model_.node("Add", {h, branch}) : branch;
  }

  OnnxModel model_;
  OnnxFormula formula_;
};

}  // namespace

void export_onnx(const std::filesystem::path& path, const DeepNetwork& network, const Metadata& extra) {
  check(network);
  if (const std::string what = names_problem(network.task, network.class_names, 0); !what.empty())
    throw std::invalid_argument("export_onnx: " + what);
  GraphWriter writer;
  OnnxModel model = writer.write(network);
  Metadata own;
  if (writer.rough_erf()) own["erf_precision"] = "float32";
  model.metadata(model_metadata("deep", "float64", network.task, network.class_names, own, extra));
  model.write(path);
}

}  // namespace zeroloss
