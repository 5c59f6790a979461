#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/broadcast.hpp"
#include "graph/product.hpp"

// ai.onnx.ml: what exporters of scikit-learn write before and behind networks. https://onnx.ai/onnx/operators
namespace zeroloss::internal::graph {
namespace {

const std::vector<double>& listed(const Call& call, const std::string& name) {
  static const std::vector<double> none;
  const auto* list = call.node.find<std::vector<double>>(name);
  return list == nullptr ? none : *list;
}

double one_of(const Call& call, const std::vector<double>& list, Index k, Index count, double otherwise) {
  if (list.empty()) return otherwise;
  if (list.size() == 1) return list.front();
  if (std::ssize(list) != count) call.refuse(fmt::format("it has {} numbers for {}", list.size(), count));
  return list[static_cast<std::size_t>(k)];
}

// In float32, whatever comes: in exact arithmetic the real function.
Value as_single(const Call& call, const Value& x) {
  if (!is_real(x.type) && !is_integer(x.type)) call.refuse("its input is no numbers");
  Value made = x;
  made.type = OnnxType::float32;
  if (is_integer(x.type) && (!x.varies || !(x.h.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <= 0x1p24)))
    call.refuse("it takes integers that float32 has not");
  const Rounding single = rounding_of(call.execution, OnnxType::float32);
  if (x.type == OnnxType::float64 && !single.exact()) {
    if (made.exact()) made.e.setZero(made.h.rows(), made.h.cols());
    for (Index i = 0; i < made.h.rows(); ++i)
      for (Index k = 0; k < made.h.cols(); ++k)
        made.e(i, k) = rounded(made.h(i, k), made.e(i, k), std::abs(made.h(i, k)), single).e;
    settle(made);
  }
  return made;
}

std::vector<Value> scaler(const Call& call) {
  const Value x = as_single(call, call.input(0));
  const std::vector<double>&offset = listed(call, "offset"), &scale = listed(call, "scale");
  Value made = blank(OnnxType::float32, x.shape, x.varies, x.h.rows());
  const Rounding r = call.rounding(made);
  const Index last = x.shape.empty() ? 1 : x.shape.back();
  for (Index i = 0; i < x.h.rows(); ++i)
    for (Index k = 0; k < x.h.cols(); ++k) {
      const Ball moved = subtract(x.at(i, k), {one_of(call, offset, k % last, last, 0), 0}, r);
      const Ball ball = multiply(moved, {one_of(call, scale, k % last, last, 1), 0}, r);
      made.h(i, k) = ball.h;
      made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
    }
  settle(made);
  return {std::move(made)};
}

// Points have no missing numbers, so that one that stands for those of NaN does nothing.
std::vector<Value> imputer(const Call& call) {
  const double replaced = call.node.number("replaced_value_float", 0);
  if (!std::isnan(replaced) || call.node.find<std::vector<double>>("imputed_value_floats") == nullptr)
    call.refuse("it replaces numbers that are there");
  return {as_single(call, call.input(0))};
}

// Divides a sample by its largest number (MAX), by the sum of sizes (L1) or by its length (L2).
std::vector<Value> normalizer(const Call& call) {
  const Value x = as_single(call, call.input(0));
  const auto* said = call.node.find<std::string>("norm");
  const std::string norm = said == nullptr ? "MAX" : *said;
  if (norm != "L1" && norm != "L2") call.refuse(fmt::format("its norm '{}' is not read", norm));
  Value made = blank(OnnxType::float32, x.shape, x.varies, x.h.rows());
  const Rounding r = call.rounding(made);
  const Index each = x.shape.empty() ? 1 : x.shape.back();
  for (Index i = 0; i < x.h.rows(); ++i)
    for (Index first = 0; first < x.h.cols(); first += each) {
      Sum sum;
      for (Index k = first; k < first + each; ++k) {
        const Ball one = x.at(i, k);
        sum += norm == "L1" ? Ball{std::abs(one.h), one.e} : multiply(one, one, r);
      }
      const Ball length = norm == "L1" ? sum.result(r) : root(sum.result(r), r);
      for (Index k = first; k < first + each; ++k) {
        const Ball ball = divide(x.at(i, k), length, r);
        made.h(i, k) = ball.h;
        made.e(i, k) = ball.h - ball.h == 0 ? ball.e : kInfinite;
      }
    }
  settle(made);
  return {std::move(made)};
}

// 1 at the category that a number is, where it is known exactly.
std::vector<Value> one_hot(const Call& call) {
  const Value& x = call.input(0);
  const auto* numbers = call.node.find<std::vector<std::int64_t>>("cats_int64s");
  if (numbers == nullptr) call.refuse("its categories are no integers");
  if (!x.varies || !x.exact()) call.refuse("it takes what is not known exactly");
  if ((x.h.array() != x.h.array().round()).any()) call.refuse("it takes numbers that are not whole");
  const bool zeros = call.node.integer("zeros", 1) != 0;
  Shape shape = x.shape;
  const auto count = std::ssize(*numbers);
  shape.push_back(count);
  Value made = blank(OnnxType::float32, shape, true, x.h.rows());
  for (Index i = 0; i < x.h.rows(); ++i)
    for (Index k = 0; k < x.h.cols(); ++k) {
      bool known = false;
      for (Index c = 0; c < count; ++c) {
        const bool it = x.h(i, k) == static_cast<double>((*numbers)[static_cast<std::size_t>(c)]);
        made.h(i, k * count + c) = it ? 1 : 0;
        known = known || it;
      }
      if (!known && !zeros) call.refuse(fmt::format("{} is none of its categories", x.h(i, k)));
    }
  settle(made);
  return {std::move(made)};
}

// coefficients x + intercepts, in float32.
Value linear(const Call& call, Index outputs, const std::string& biases) {
  const Value x = as_single(call, call.input(0));
  if (x.shape.size() != 2 || x.shape[0] != 1) call.refuse("its input is not one row of numbers");
  const std::vector<double>&coefficients = listed(call, "coefficients"), &intercepts = listed(call, biases);
  const Index d = x.shape[1];
  if (outputs < 1 || std::ssize(coefficients) != outputs * d ||
      (!intercepts.empty() && std::ssize(intercepts) != outputs))
    call.refuse(fmt::format("it has {} coefficients and {} intercepts for {} outputs of {} numbers",
                            coefficients.size(), intercepts.size(), outputs, d));
  if (!call.kept)
    call.kept = std::make_shared<Product>(
        RowMatrix(Eigen::Map<const RowMatrix>(coefficients.data(), outputs, d)), RowMatrix(),
        intercepts.empty() ? Vector() : Vector(Eigen::Map<const Vector>(intercepts.data(), outputs)),
        Vector());
  const auto& map = *static_cast<const Product*>(call.kept.get());
  Value made = blank(OnnxType::float32, {1, outputs}, x.varies, x.h.rows());
  made.terms = d;
  map.of_rows(x.h.data(), x.exact() ? nullptr : x.e.data(), x.exact() ? nullptr : x.eps.data(), x.h.rows(),
              call.rounding(made), made.h.data(), made.e.data());
  settle(made);
  return made;
}

std::vector<Value> linear_regressor(const Call& call) {
  const auto* said = call.node.find<std::string>("post_transform");
  if (said != nullptr && *said != "NONE")
    call.refuse(fmt::format("its post_transform '{}' is not read", *said));
  return {linear(call, static_cast<Index>(call.node.integer("targets", 1)), "intercepts")};
}

// The scores alone, before post_transform: outputs_of() says what that does to labels.
std::vector<Value> linear_classifier(const Call& call) {
  const Index d = call.input(0).shape.size() == 2 ? call.input(0).shape[1] : 1;
  const Index rows = std::ssize(listed(call, "coefficients")) / std::max<Index>(d, 1);
  if (rows < 2) call.refuse("it has one row of coefficients");
  Value scores = linear(call, rows, "intercepts");
  std::vector<Value> made(2);
  made[1] = std::move(scores);
  return made;
}

constexpr Operator kLearningRows[] = {{"Imputer", imputer},
                                      {"LinearClassifier", linear_classifier},
                                      {"LinearRegressor", linear_regressor},
                                      {"Normalizer", normalizer},
                                      {"OneHotEncoder", one_hot},
                                      {"Scaler", scaler}};

}  // namespace

const std::span<const Operator> kLearning = kLearningRows;

}  // namespace zeroloss::internal::graph
