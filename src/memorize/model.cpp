#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "data/model_file.hpp"
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

template <class T>
void write(const std::filesystem::path& path, const Memorizer& network, const Metadata& metadata) {
  const Index k = network.hidden(), l = network.blocks(), p = network.U_out.rows();
  std::vector<Eigen::Vector<T, Eigen::Dynamic>> numbers;
  numbers.reserve(8);
  std::vector<TensorView> tensors;
  const auto add = [&](const char* name, std::vector<Index> shape, const auto& from) {
    numbers.push_back(from.template reshaped<Eigen::RowMajor>().template cast<T>());
    tensors.push_back(view_of(name, std::move(shape), numbers.back().data()));
  };
  add("A_0", {k, network.d()}, network.A_0);
  if (network.b_0.size() > 0) add("b_0", {k}, network.b_0);
  add("U", {l, k, k}, network.U);
  add("V", {l, k, k}, network.V);
  add("s", {l, k}, network.s);
  add("U_out", {p, k}, network.U_out);
  add("s_out", {p}, network.s_out);
  add("V_out", {network.outputs(), p}, network.V_out);
  write_tensors(path, tensors, metadata);
}

/// A tensor as a matrix whose columns are its last axis.
template <class T>
RowMatrix rows_of(const ModelFile& file, const char* name, std::size_t sizes) {
  const Tensor& tensor = file.tensor(name, dtype_of<T>(), sizes);
  const Index columns = tensor.shape.back();
  return Eigen::Map<const Rows<T>>(tensor.data<T>(), tensor.size() / columns, columns)
      .template cast<double>();
}

template <class T>
void read(const ModelFile& file, Memorizer& network) {
  const auto vector = [&](const char* name, std::size_t sizes) {
    return Vector(rows_of<T>(file, name, sizes).template reshaped<Eigen::RowMajor>());
  };
  network.A_0 = rows_of<T>(file, "A_0", 2);
  const Index k = network.hidden();
  const auto blocks = [&](const char* name, std::size_t sizes) {
    const std::vector<Index>& shape = file.tensor(name, dtype_of<T>(), sizes).shape;
    if (std::any_of(shape.begin() + 1, shape.end(), [k](Index size) { return size != k; }))
      throw file.damaged(fmt::format("tensor '{}' has shape [{}]; expected [l, {}{}]", name,
                                     fmt::join(shape, ", "), k, sizes == 3 ? fmt::format(", {}", k) : ""));
    return rows_of<T>(file, name, sizes);
  };
  if (file.has("b_0")) network.b_0 = vector("b_0", 1);
  network.U = blocks("U", 3);
  network.V = blocks("V", 3);
  network.s = blocks("s", 2).template reshaped<Eigen::RowMajor>();
  network.U_out = rows_of<T>(file, "U_out", 2);
  network.s_out = vector("s_out", 1);
  network.V_out = rows_of<T>(file, "V_out", 2);
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

template <class T>
OnnxModel graph_of(const Memorizer& network) {
  constexpr Dtype dtype = dtype_of<T>();
  const Index k = network.hidden(), l = network.blocks(), p = network.U_out.rows(), r = network.outputs();
  OnnxModel model(kKind);
  const auto constant = [&](const char* name, const std::vector<Index>& shape, const auto& from) {
    const Eigen::Vector<T, Eigen::Dynamic> numbers =
        from.template reshaped<Eigen::RowMajor>().template cast<T>();
    return model.constant(view_of(name, shape, numbers.data()));
  };
  const auto blocks_transposed = [&](const RowMatrix& blocks) {
    RowMatrix transposed(blocks.rows(), k);
    for (Index j = 0; j < l; ++j) transposed.middleRows(j * k, k) = blocks.middleRows(j * k, k).transpose();
    return transposed;
  };
  std::string h = model.node("MatMul", {model.input("x", dtype, {-1, network.d()}),
                                        constant("A_0", {network.d(), k}, network.A_0.transpose())});
  if (network.b_0.size() > 0) h = model.node("Add", {h, constant("b_0", {k}, network.b_0)});
  const std::string U = constant("U", {l, k, k}, blocks_transposed(network.U));
  const std::string s = constant("s", {l, k}, network.s);
  const std::string V = constant("V", {l, k, k}, blocks_transposed(network.V));
  h = model.scan(block(dtype, k), h, {U, s, V}, "h_l");
  const std::string z =
      model.node("Add", {model.node("MatMul", {h, constant("U_out", {k, p}, network.U_out.transpose())}),
                         constant("s_out", {p}, network.s_out)});
  const std::string y = model.node(
      "MatMul", {model.node("Relu", {z}), constant("V_out", {p, r}, network.V_out.transpose())}, {}, "y");
  model.output(y, dtype, {-1, r});
  if (network.task == Task::classification) {
    model.node("ArgMax", {y}, {{"axis", 1}, {"keepdims", 0}}, "label");
    model.output("label", Dtype::i64, {-1});
  }
  return model;
}

}  // namespace

void save_model(const std::filesystem::path& path, const Memorizer& network, const Metadata& extra) {
  check("save_model", network);
  network.precision == "float32" ? write<float>(path, network, metadata_of(network, extra))
                                 : write<double>(path, network, metadata_of(network, extra));
}

Memorizer load_memorizer(const std::filesystem::path& path) {
  const ModelFile file(path, kKind);
  Memorizer network;
  network.precision = file.single() ? "float32" : "float64";
  network.task = file.task();
  network.class_names = file.class_names();
  network.encoding = file.encoding();
  file.single() ? read<float>(file, network) : read<double>(file, network);
  if (const std::string what = problem(network); !what.empty()) throw file.damaged(what);
  return network;
}

void export_onnx(const std::filesystem::path& path, const Memorizer& network, const Metadata& extra) {
  check("export_onnx", network);
  OnnxModel model = network.precision == "float32" ? graph_of<float>(network) : graph_of<double>(network);
  model.metadata(metadata_of(network, extra));
  model.write(path);
}

}  // namespace zeroloss
