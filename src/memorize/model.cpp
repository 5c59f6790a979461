#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "data/model_file.hpp"
#include "data/onnx_parts.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/storage/onnx.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr const char* kKind = "memorizer";

/// What is wrong with a network; empty if nothing is.
std::string problem(const Memorizer& network) {
  const Index k = network.hidden(), l = network.blocks(), p = network.U_out.rows(), r = network.outputs();
  if (network.precision != "float32" && network.precision != "float64")
    return fmt::format("unknown precision '{}'; expected float32 or float64", excerpt(network.precision));
  if (k < 1 || network.d() < 1 || l < 1 || p < 1 || r < 1) return "a network without weights";
  const auto shape = [](const auto& A, Index rows, Index cols) {
    return A.rows() == rows && A.cols() == cols;
  };
  if (!shape(network.U, l * k, k) || !shape(network.V, l * k, k) || !shape(network.s, l * k, 1) ||
      !shape(network.U_out, p, k) || !shape(network.s_out, p, 1) || !shape(network.V_out, r, p) ||
      (network.b_0.size() != 0 && network.b_0.size() != k))
    return "tensors whose sizes do not fit each other";
  for (const auto* A : {&network.A_0, &network.U, &network.V, &network.U_out, &network.V_out})
    if (!A->allFinite()) return "weights that are not finite";
  for (const auto* b : {&network.b_0, &network.s, &network.s_out})
    if (!b->allFinite()) return "weights that are not finite";
  if (network.task == Task::none) return "a network without a task";
  if (!network.encoding.empty() && network.encoding.d() != network.d())
    return fmt::format("columns that make {} features; expected {}", network.encoding.d(), network.d());
  if (std::string what = names_problem(network.task, network.class_names, 1); !what.empty()) return what;
  if (network.task == Task::classification && std::ssize(network.class_names) != r)
    return fmt::format("{} outputs; expected {} for the task", r, network.class_names.size());
  return {};
}

void check(const char* who, const Memorizer& network) {
  if (const std::string what = problem(network); !what.empty())
    throw std::invalid_argument(fmt::format("{}: {}", who, what));
}

Metadata metadata_of(const Memorizer& network, const Metadata& extra) {
  return model_metadata(
      kKind, network.precision, network.task, network.class_names,
      network.encoding.empty() ? Metadata{} : Metadata{{"columns", encoding_text(network.encoding)}}, extra);
}

Dtype dtype_of(const Memorizer& network) { return network.precision == "float32" ? Dtype::f32 : Dtype::f64; }

void read_weights(const ModelFile& file, Memorizer& network) {
  const Dtype dtype = file.dtype();
  network.A_0 = file.matrix("A_0", dtype);
  const Index k = network.hidden();
  const auto blocks = [&](const char* name, std::size_t sizes) {
    const std::vector<Index>& shape = file.tensor(name, dtype, sizes).shape;
    if (std::any_of(shape.begin() + 1, shape.end(), [k](Index size) { return size != k; }))
      throw file.damaged(fmt::format("tensor '{}' has shape [{}]; expected [l, {}{}]", name,
                                     fmt::join(shape, ", "), k, sizes == 3 ? fmt::format(", {}", k) : ""));
    return file.matrix(name, dtype, sizes);
  };
  network.b_0 = file.optional_vector("b_0", dtype);
  network.U = blocks("U", 3);
  network.V = blocks("V", 3);
  network.s = blocks("s", 2).reshaped<Eigen::RowMajor>();
  network.U_out = file.matrix("U_out", dtype);
  network.s_out = file.vector("s_out", dtype);
  network.V_out = file.matrix("V_out", dtype);
}

/// h -> h + V relu(U h + s) for points as rows; U and V transposed.
OnnxModel block(Dtype dtype, Index k) {
  OnnxModel body("block");
  const std::string h = body.input("h", dtype, {-1, k}), U = body.input("U_j", dtype, {k, k});
  const std::string s = body.input("s_j", dtype, {k}), V = body.input("V_j", dtype, {k, k});
  const std::string z = body.node("Add", {body.node("MatMul", {h, U}, {}, "Uh"), s}, {}, "z");
  const std::string move = body.node("MatMul", {body.node("Relu", {z}, {}, "relu"), V}, {}, "move");
  body.output(body.node("Add", {h, move}, {}, "h_next"), dtype, {-1, k});
  return body;
}

OnnxModel graph_of(const Memorizer& network) {
  const Dtype dtype = dtype_of(network);
  const Index k = network.hidden(), l = network.blocks(), p = network.U_out.rows(), r = network.outputs();
  OnnxModel model(kKind);
  const auto constant = [&](const char* name, const std::vector<Index>& shape, const Vector& numbers) {
    return constant_of(model, name, shape, numbers.data(), dtype);
  };
  const auto turned = [&](const char* name, const RowMatrix& A) {
    const RowMatrix transposed = A.transpose();
    return constant_of(model, name, {A.cols(), A.rows()}, transposed.data(), dtype);
  };
  const auto blocks = [&](const char* name, const RowMatrix& of) {
    RowMatrix transposed(of.rows(), k);
    for (Index j = 0; j < l; ++j) transposed.middleRows(j * k, k) = of.middleRows(j * k, k).transpose();
    return constant_of(model, name, {l, k, k}, transposed.data(), dtype);
  };
  std::string h =
      model.node("MatMul", {model.input("x", dtype, {-1, network.d()}), turned("A_0", network.A_0)});
  if (network.b_0.size() > 0) h = model.node("Add", {h, constant("b_0", {k}, network.b_0)});
  const std::string U = blocks("U", network.U);
  const std::string s = constant("s", {l, k}, network.s);
  const std::string V = blocks("V", network.V);
  h = model.scan(block(dtype, k), h, {U, s, V}, "h_l");
  const std::string z = model.node("Add", {model.node("MatMul", {h, turned("U_out", network.U_out)}),
                                           constant("s_out", {p}, network.s_out)});
  const std::string y =
      model.node("MatMul", {model.node("Relu", {z}), turned("V_out", network.V_out)}, {}, "y");
  model.output(y, dtype, {-1, r});
  if (network.task == Task::classification) add_largest(model, y);
  return model;
}

}  // namespace

void save_model(const std::filesystem::path& path, const Memorizer& network, const Metadata& extra) {
  check("save_model", network);
  const Index k = network.hidden(), l = network.blocks();
  ModelTensors tensors(dtype_of(network));
  tensors.add("A_0", network.A_0);
  tensors.add("b_0", network.b_0);
  tensors.add("U", {l, k, k}, {network.U.data()});
  tensors.add("V", {l, k, k}, {network.V.data()});
  tensors.add("s", {l, k}, {network.s.data()});
  tensors.add("U_out", network.U_out);
  tensors.add("s_out", network.s_out);
  tensors.add("V_out", network.V_out);
  tensors.write(path, metadata_of(network, extra));
}

Memorizer load_memorizer(const std::filesystem::path& path) {
  const ModelFile file(path, kKind);
  Memorizer network;
  network.precision = file.single() ? "float32" : "float64";
  network.task = file.task();
  network.class_names = file.class_names();
  network.encoding = file.encoding();
  read_weights(file, network);
  if (const std::string what = problem(network); !what.empty()) throw file.damaged(what);
  return network;
}

void export_onnx(const std::filesystem::path& path, const Memorizer& network, const Metadata& extra) {
  check("export_onnx", network);
  OnnxModel model = graph_of(network);
  model.metadata(metadata_of(network, extra));
  model.write(path);
}

}  // namespace zeroloss
