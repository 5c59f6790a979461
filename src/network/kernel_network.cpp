#include "zeroloss/network/kernel_network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "data/onnx_parts.hpp"
#include "linalg/rounding.hpp"
#include "network/preparation.hpp"
#include "network/prepare.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/gram.hpp"
#include "zeroloss/kernel/predictor_bound.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr const char* kKernelKind = "kernel";

/// What is wrong with a network; empty if nothing is.
std::string kernel_problem(const KernelNetwork& network) {
  const std::vector<std::string> known = activation_names();
  if (std::ranges::find(known, network.activation) == known.end())
    return fmt::format("unknown activation '{}'; expected {}", excerpt(network.activation),
                       fmt::join(known, ", "));
  if (!(network.ridge >= 0) || !std::isfinite(network.ridge)) return "a ridge that is negative or not finite";
  if (network.points.size() == 0) return "a network without points";
  if (!network.points.allFinite() || !network.coefficients.allFinite() || !network.offset.allFinite())
    return "numbers that are not finite";
  if (network.coefficients.rows() != network.n() || network.offset.size() != network.outputs() ||
      network.outputs() < 1)
    return "points, coefficients and offset of sizes that do not fit";
  const Matrix& error = network.solution_error;
  if (error.size() > 0 && (error.rows() != network.outputs() || error.cols() != network.outputs() ||
                           !(error.array() >= 0).all() || error != error.transpose()))
    return "bounds of the solution's error that are none";
  constexpr double kOff = 1e-12;  // rounding leaves rows within 1e-15
  if (!((network.points.rowwise().norm().array() - 1).abs() <= kOff).all())
    return "points that are not of unit length";
  if (std::string what = preparation_problem(preparation_of(network)); !what.empty()) return what;
  const auto& names = network.class_names;
  if (std::string what = names_problem(network.task, names, 2); !what.empty()) return what;
  const Index expected =
      network.task == Task::classification && names.size() > 2 ? std::ssize(names) : Index{1};
  if (network.task != Task::none && network.outputs() != expected)
    return fmt::format("{} outputs; expected {} for the task", network.outputs(), expected);
  return {};
}

void check_kernel(const char* who, const KernelNetwork& network) {
  if (const std::string what = kernel_problem(network); !what.empty())
    throw std::invalid_argument(fmt::format("{}: {}", who, what));
}

/// Of all numbers that solution_error is about, and of itself: a bound of other numbers says nothing.
std::string bounded_digest(const KernelNetwork& network) {
  Sha256 digest;
  const auto add = [&](const auto& numbers) {
    digest.update(numbers.data(), static_cast<std::size_t>(numbers.size()) * sizeof(double));
  };
  const std::string kernel = fmt::format("{} {}", network.activation, network.ridge);
  digest.update(kernel.data(), kernel.size());
  add(network.points);
  add(network.coefficients);
  add(network.offset);
  add(network.solution_error);
  return digest.hex();
}

Metadata kernel_metadata(const KernelNetwork& network, const Metadata& extra) {
  Metadata own = preparation_metadata(preparation_of(network));
  own["activation"] = network.activation;
  own["ridge"] = fmt::format("{}", network.ridge);
  if (network.solution_error.size() > 0) own["bounded"] = bounded_digest(network);
  return model_metadata(kKernelKind, "float64", network.task, network.class_names, own, extra);
}

// ---- ONNX ----

/// Formulas of one graph, in float64.
class Formulas {
 public:
  explicit Formulas(OnnxModel& model) : model_(model) {}

  using Value = std::string;
  Value number(double value) { return model_.scalar(value, Dtype::f64); }
  Value times(const Value& a, const Value& b) { return model_.node("Mul", {a, b}); }
  Value plus(const Value& a, const Value& b) { return model_.node("Add", {a, b}); }
  Value minus(const Value& a, const Value& b) { return model_.node("Sub", {a, b}); }
  Value over(const Value& a, const Value& b) { return model_.node("Div", {a, b}); }
  Value root(const Value& a) { return model_.node("Sqrt", {a}); }
  Value choice(const Value& condition, const Value& yes, const Value& no) {
    return model_.node("Where", {condition, yes, no});
  }
  Value clamped(const Value& a, double from, double to) {
    return model_.node("Clip", {a, number(from), number(to)});
  }

  /// sum_r c_r x^r.
  Value polynomial(const Value& x, const std::vector<double>& c) {
    Value value = number(c.back());
    for (std::size_t r = c.size() - 1; r-- > 0;) {
      value = times(value, x);
      if (c[r] != 0) value = plus(value, number(c[r]));
    }
    return value;
  }

  /// asin x, |x| <= 1: x + x R(x^2) below 1/2, pi/2 - 2 asin sqrt((1 - x)/2) above it; R is the rational
  /// approximation of fdlibm's e_asin.c (Sun Microsystems, 1993), off by at most 2^-58.75.
  Value arc_sine(const Value& x) {
    static const std::vector<double> p{0.0,
                                       1.66666666666666657415e-01,
                                       -3.25565818622400915405e-01,
                                       2.01212532134862925881e-01,
                                       -4.00555345006794114027e-02,
                                       7.91534994289814532176e-04,
                                       3.47933107596021167570e-05};
    static const std::vector<double> q{1.0, -2.40339491173441421878e+00, 2.02094576023350569471e+00,
                                       -6.88283971605453293030e-01, 7.70381505559019352791e-02};
    const Value one = number(1), size = model_.node("Abs", {x});
    const Value small = model_.node("Less", {size, number(0.5)});
    const Value t = choice(small, times(x, x), times(minus(one, size), number(0.5)));
    const Value s = choice(small, size, root(t));
    const Value near_zero = plus(s, times(s, over(polynomial(t, p), polynomial(t, q))));
    const Value far = minus(number(std::numbers::pi / 2), plus(near_zero, near_zero));
    return times(model_.node("Sign", {x}), choice(small, near_zero, far));
  }

  /// h(rho), the dual of phi', as Dual::operator() computes it.
  Value dual(const Dual& h, const Value& rho) {
    constexpr double pi = std::numbers::pi;
    switch (h.form) {
      case DualForm::leak_derivative:  // leak + share acos(-rho)/(2 pi), acos(-rho) = pi/2 + asin(rho)
        return plus(times(arc_sine(rho), number(h.share() / (2 * pi))), number(h.leak + h.share() / 4));
      case DualForm::erf_derivative:
        return over(number(4 / pi), root(minus(number(9), times(number(4), times(rho, rho)))));
      case DualForm::polynomial:
        return polynomial(rho, h.coefficients);
      case DualForm::leak:
      case DualForm::erf:
        break;
    }
    throw std::logic_error("a tangent kernel is made of the dual of phi'");
  }

 private:
  OnnxModel& model_;
};

OnnxModel kernel_graph(const KernelNetwork& network) {
  OnnxModel model(kKernelKind);
  const Index n = network.n(), d = network.d(), c = network.outputs();
  const auto constant = [&](const char* name, const std::vector<Index>& shape, const RowMatrix& numbers) {
    return constant_of(model, name, shape, numbers.data(), Dtype::f64);
  };
  const std::string x = prepared(model, model.input("x", Dtype::f64, {-1, network.features()}),
                                 preparation_of(network), Dtype::f64);
  Formulas formulas(model);
  const std::string inner = model.node("MatMul", {x, constant("points", {d, n}, network.points.transpose())});
  const std::string rho = formulas.clamped(inner, -1, 1);
  const std::string k = formulas.times(rho, formulas.dual(sigma(activation(network.activation)).dual, rho));
  const std::string sums =
      model.node("MatMul", {k, constant("coefficients", {n, c}, network.coefficients)}, {}, "sums");
  const std::string y = model.node("Add", {sums, constant("offset", {c}, network.offset)}, {}, "y");
  model.output(y, Dtype::f64, {-1, c});
  if (network.task == Task::classification) add_class(model, y, c, Dtype::f64);
  return model;
}

/// Sums of kernels, and the outputs that they are with the offset, whose addition is rounded.
BoundedValues values_with_offset(const KernelNetwork& network, const RowMatrix& X, const Progress& progress) {
  Progress silent = progress.silent();
  BoundedValues v =
      bounded_values(X, network.points, sigma(activation(network.activation)), network.coefficients, silent);
  v.values.rowwise() += network.offset.transpose();
  v.error = (v.error.array() + 2 * u * v.values.array().abs()) * (1 + 4 * u);
  return v;
}

/// Points as the neurons see them.
RowMatrix seen_points(const KernelNetwork& network, const Eigen::Ref<const RowMatrix>& X) {
  if (X.cols() != network.features())
    throw DataError(fmt::format("predict: points have {} features; the network was trained on {}", X.cols(),
                                network.features()));
  Dataset points;
  points.X = X;
  points.name = "predict";
  prepare(points, network.center, network.standardization, KernelNetwork::normalize);
  return std::move(points.X);
}

}  // namespace

Matrix outputs(const KernelNetwork& network, const RowMatrix& X, const Progress& progress) {
  return values_with_offset(network, X, progress).values;
}

Matrix predict(const KernelNetwork& network, const Eigen::Ref<const RowMatrix>& X, const Progress& progress) {
  return outputs(network, seen_points(network, X), progress);
}

BoundedOutputs bounded_outputs(const KernelNetwork& network, const RowMatrix& X, const Progress& progress) {
  BoundedValues v = values_with_offset(network, X, progress);
  const Index c = network.outputs();
  const Matrix error = network.solution_error.size() > 0
                           ? network.solution_error
                           : Matrix::Constant(c, c, std::numeric_limits<double>::infinity());
  BoundedOutputs bounded;
  if (network.task == Task::classification) bounded.decided = decided_classes(v, error);
  bounded.outputs = std::move(v.values);
  bounded.error = (v.error.rowwise() + error.diagonal().transpose()) * (1 + 4 * u);
  return bounded;
}

BoundedOutputs bounded_predict(const KernelNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                               const Progress& progress) {
  return bounded_outputs(network, seen_points(network, X), progress);
}

void save_model(const std::filesystem::path& path, const KernelNetwork& network, const Metadata& extra) {
  check_kernel("save_model", network);
  const RowMatrix coefficients = network.coefficients;
  ModelTensors tensors;
  tensors.add("points", network.points);
  tensors.add("coefficients", coefficients);
  tensors.add("offset", network.offset);
  const RowMatrix error = network.solution_error;
  if (error.size() > 0) tensors.add("solution_error", error);
  add_preparation(tensors, preparation_of(network));
  tensors.write(path, kernel_metadata(network, extra));
}

KernelNetwork load_kernel_network(const std::filesystem::path& path) {
  const ModelFile parts(path, kKernelKind);
  KernelNetwork network;
  network.activation = parts.text("activation");
  network.ridge = parsed_number(parts.text("ridge")).value_or(std::nan(""));
  network.task = parts.task();
  network.class_names = parts.class_names();
  network.points = parts.matrix("points", Dtype::f64);
  network.coefficients = parts.matrix("coefficients", Dtype::f64);
  network.offset = parts.vector("offset", Dtype::f64);
  if (parts.has("solution_error")) network.solution_error = parts.matrix("solution_error", Dtype::f64);
  bool normalize = true;
  read_preparation(parts, network.center, normalize, network.standardization, network.encoding);
  if (!normalize) throw parts.damaged("points that are not divided by their lengths");
  if (const std::string what = kernel_problem(network); !what.empty()) throw parts.damaged(what);
  if (network.solution_error.size() > 0 && parts.text("bounded") != bounded_digest(network))
    throw parts.damaged("bounds (solution_error) that are of other numbers than these");
  return network;
}

void export_onnx(const std::filesystem::path& path, const KernelNetwork& network, const Metadata& extra) {
  check_kernel("export_onnx", network);
  OnnxModel model = kernel_graph(network);
  model.metadata(kernel_metadata(network, extra));
  model.write(path);
}

}  // namespace zeroloss
