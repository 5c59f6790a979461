#include <fmt/format.h>

#include <optional>

#include "graph/product.hpp"

// Linear maps, most of them with constant weights: Gemm and MatMul.
namespace zeroloss::internal::graph {
namespace {

RowMatrix matrix_of(const RowMatrix& numbers, Index rows, Index cols, bool transpose) {
  if (numbers.size() == 0) return {};
  const Eigen::Map<const RowMatrix> A(numbers.data(), rows, cols);
  return transpose ? RowMatrix(A.transpose()) : RowMatrix(A);
}

// Constant weights as a product, W^T or W of what is stored, times alpha; b times beta.
const Product& weights_of(const Call& call, const Value& W, bool transpose, double alpha, const Value* b,
                          double beta, Index outputs) {
  if (call.kept) return *static_cast<const Product*>(call.kept.get());
  RowMatrix weights = matrix_of(W.h, W.shape[0], W.shape[1], transpose);
  RowMatrix error = matrix_of(W.e, W.shape[0], W.shape[1], transpose);
  const Rounding r = call.rounding(W);
  const auto scaled = [&](auto& h, auto& e, double factor) {
    if (factor == 1) return;
    if (e.size() == 0) e.setZero(h.rows(), h.cols());
    for (Index k = 0; k < h.size(); ++k) {
      const Ball ball = multiply({h.data()[k], e.data()[k]}, {factor, 0}, r);
      h.data()[k] = ball.h, e.data()[k] = ball.e;
    }
  };
  scaled(weights, error, alpha);
  Vector bias, bias_error;
  if (b != nullptr) {
    const Index size = b->size();
    if (b->shape.size() > 2 || (size != outputs && size != 1) ||
        (!b->shape.empty() && b->shape.back() != size))
      call.refuse("what it adds is not one number for each output");
    bias = size == 1 ? Vector(Vector::Constant(outputs, b->h(0, 0))) : Vector(b->h.row(0).transpose());
    if (!b->exact())
      bias_error =
          size == 1 ? Vector(Vector::Constant(outputs, b->e(0, 0))) : Vector(b->e.row(0).transpose());
    scaled(bias, bias_error, beta);
  }
  auto& norms = call.memory.norms;
  const auto norm = norms.find(&call.node);
  auto made =
      std::make_shared<Product>(std::move(weights), std::move(error), std::move(bias), std::move(bias_error),
                                norm == norms.end() ? std::optional<double>() : norm->second);
  norms[&call.node] = made->spectral();
  call.kept = made;
  return *made;
}

// A linear map of the last axis.
Value last_axis(const Call& call, const Value& x, const Product& map) {
  Shape shape = x.shape;
  shape.back() = map.outputs();
  Value made = blank(x.type, shape, x.varies, x.h.rows());
  made.terms = map.inputs();
  const Index places = x.size() / map.inputs(), rows = x.h.rows() * places;
  const Rounding r = call.rounding(made);
  Vector lengths;
  if (!x.exact()) {
    lengths.resize(rows);
    for (Index i = 0; i < rows; ++i) lengths(i) = x.eps(i / places);
  }
  map.of_rows(x.h.data(), x.exact() ? nullptr : x.e.data(), x.exact() ? nullptr : lengths.data(), rows, r,
              made.h.data(), made.e.data());
  Vector known(x.h.rows());
  for (Index i = 0; i < known.size(); ++i)
    known(i) = u * length_above(made.h.row(i).data(), made.size()) +
               map.length_of_error(length_above(x.h.row(i).data(), x.size()), x.exact() ? 0 : x.eps(i), 1,
                                   static_cast<double>(places), r);
  settle(made, known);
  return made;
}

void require_one_type(const Call& call) {
  for (std::size_t k = 1; k < call.inputs.size(); ++k)
    if (call.has(k) && call.numbers(k).type != call.numbers(0).type)
      call.refuse(
          fmt::format("it mixes {} and {}", name_of(call.input(0).type), name_of(call.input(k).type)));
}

Value turned(const Value& x) {
  const Index rows = x.shape[0], cols = x.shape[1];
  std::vector<Index> from;
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) from.push_back(i * cols + j);
  return moved(x, {cols, rows}, from);
}

std::vector<Value> gemm(const Call& call) {
  const Value &x = call.numbers(0), &B = call.numbers(1);
  require_one_type(call);
  if (x.shape.size() != 2 || B.shape.size() != 2) call.refuse("its inputs are no matrices");
  if (B.varies) call.refuse("its second input is no constant");
  const Value A = call.node.integer("transA", 0) == 0 ? x : turned(x);
  const bool transpose = call.node.integer("transB", 0) == 0;  // W is what is stored in transposed order
  const Index k = transpose ? B.shape[0] : B.shape[1], m = transpose ? B.shape[1] : B.shape[0];
  if (A.shape[1] != k) call.refuse(fmt::format("it multiplies {} numbers by weights for {}", A.shape[1], k));
  const Value* C = call.has(2) ? &call.numbers(2) : nullptr;
  if (C != nullptr && C->varies) call.refuse("its third input is no constant");
  return {last_axis(
      call, A,
      weights_of(call, B, transpose, call.node.number("alpha", 1), C, call.node.number("beta", 1), m))};
}

// W x with constant W (m x k) on the left of [.., k, p].
Value left(const Call& call, const Value& W, const Value& x) {
  const Product& map = weights_of(call, W, false, 1, nullptr, 1, W.shape[0]);
  const bool vector = x.shape.size() == 1;
  const Index k = vector ? x.shape[0] : x.shape[x.shape.size() - 2], p = vector ? 1 : x.shape.back();
  if (k != map.inputs()) call.refuse(fmt::format("it multiplies weights for {} by {}", map.inputs(), k));
  Shape shape = x.shape;
  shape[vector ? 0 : shape.size() - 2] = map.outputs();
  Value made = blank(x.type, shape, x.varies, x.h.rows());
  made.terms = map.inputs();
  const Rounding r = call.rounding(made);
  const Index matrices = x.size() / (k * p), from = k * p, to = map.outputs() * p;
  Vector known(x.h.rows());
  for (Index i = 0; i < x.h.rows(); ++i) {
    const double off = x.exact() ? 0 : x.eps(i);
    for (Index s = 0; s < matrices; ++s)
      map.of_columns(x.h.data() + (i * matrices + s) * from,
                     x.exact() ? nullptr : x.e.data() + (i * matrices + s) * from, off, p, r,
                     made.h.data() + (i * matrices + s) * to, made.e.data() + (i * matrices + s) * to);
    known(i) = u * length_above(made.h.row(i).data(), made.size()) +
               map.length_of_error(length_above(x.h.row(i).data(), x.size()), off, 1,
                                   static_cast<double>(matrices * p), r);
  }
  settle(made, known);
  return made;
}

std::vector<Value> matmul(const Call& call) {
  const Value &A = call.numbers(0), &B = call.numbers(1);
  require_one_type(call);
  if (A.shape.empty() || B.shape.empty()) call.refuse("its inputs are no matrices");
  const Value& weights = B.varies ? A : B;
  if (weights.varies || weights.shape.size() != 2) return {product_of_two(call, A, B)};
  if (B.varies) return {left(call, A, B)};
  if (A.shape.back() != B.shape[0])
    call.refuse(fmt::format("it multiplies {} numbers by weights for {}", A.shape.back(), B.shape[0]));
  return {last_axis(call, A, weights_of(call, B, true, 1, nullptr, 1, B.shape[1]))};
}

constexpr Operator kAffineRows[] = {{"Gemm", gemm}, {"MatMul", matmul}};

}  // namespace

const std::span<const Operator> kAffine = kAffineRows;

}  // namespace zeroloss::internal::graph
