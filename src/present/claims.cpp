#include "present/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::internal {
namespace {

constexpr const char* kFile = "claims.bin";

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

}  // namespace

std::string hexadecimal(double x) { return fmt::format("{:a}", x); }

std::string Claims::put(const std::string& name, const char* type, const std::vector<Index>& shape,
                        const void* numbers, std::size_t count) {
  const std::string_view bytes(static_cast<const char*>(numbers), count);
  Json array{{"file", kFile},
             {"offset", static_cast<Index>(bytes_.size())},
             {"dtype", type},
             {"shape", shape},
             {"sha256", sha256(bytes)}};
  if (const Json* known = arrays_.find(name)) {  // it is there once, for all claims that are about it
    array["offset"] = known->at("offset");
    if (array.dump() != known->dump()) throw std::logic_error("two arrays are called " + name);
    return name;
  }
  arrays_[name] = std::move(array);
  bytes_ += bytes;
  return name;
}

std::string Claims::matrix(const std::string& name, const RowMatrix& numbers) {
  return put(name, "float64", {numbers.rows(), numbers.cols()}, numbers.data(),
             sizeof(double) * static_cast<std::size_t>(numbers.size()));
}

namespace {

template <class T>
bool holds(const RowMatrix& X) {
  for (const double x : X.reshaped<Eigen::RowMajor>())
    if (!(x >= std::numeric_limits<T>::lowest() && x <= std::numeric_limits<T>::max()) ||
        static_cast<double>(static_cast<T>(x)) != x || (x == 0 && std::signbit(x)))
      return false;
  return true;
}

std::size_t bytes_each(const RowMatrix& X) { return holds<std::uint8_t>(X) ? 1 : holds<float>(X) ? 4 : 8; }

template <class T>
std::vector<T> as(const RowMatrix& X) {
  std::vector<T> all;
  all.reserve(static_cast<std::size_t>(X.size()));
  for (const double x : X.reshaped<Eigen::RowMajor>()) all.push_back(static_cast<T>(x));
  return all;
}

}  // namespace

std::string Claims::point_array(const std::string& name, const RowMatrix& X) {
  if (file_ &&
      (&X == of_file_ || (X.rows() == of_file_->rows() && X.cols() == of_file_->cols() && X == *of_file_))) {
    arrays_[name] = file_->array;
    in_file_ = name;
    return name;
  }
  const std::vector<Index> shape{X.rows(), X.cols()};
  const std::size_t each = bytes_each(X), bytes = each * static_cast<std::size_t>(X.size());
  if (each == 1) return put(name, "uint8", shape, as<std::uint8_t>(X).data(), bytes);
  if (each == 4) return put(name, "float32", shape, as<float>(X).data(), bytes);
  return matrix(name, X);
}

std::string Claims::vector(const std::string& name, const Vector& numbers) {
  return put(name, "float64", {numbers.size()}, numbers.data(),
             sizeof(double) * static_cast<std::size_t>(numbers.size()));
}

std::string Claims::integers(const std::string& name, const std::vector<Index>& numbers, Index rows) {
  static_assert(sizeof(Index) == sizeof(std::int64_t));
  const Index count = std::ssize(numbers);
  return put(name, "int64", rows > 0 ? std::vector<Index>{rows, count / rows} : std::vector<Index>{count},
             numbers.data(), sizeof(Index) * numbers.size());
}

std::string Claims::pairs(const std::string& name, const std::vector<std::pair<Index, Index>>& numbers) {
  std::vector<Index> all;
  for (const auto& [first, second] : numbers) all.insert(all.end(), {first, second});
  return put(name, "int64", {std::ssize(numbers), 2}, all.data(), sizeof(Index) * all.size());
}

std::string Claims::points(const std::string& name, const std::string& array, Json steps,
                           const std::vector<Index>* rows) {
  Json one{{"array", array}};
  if (!in_file_.empty() && array == in_file_ && !file_->rows.empty()) {
    std::vector<Index> of_file;
    if (rows != nullptr)
      for (const Index row : *rows) of_file.push_back(file_->rows[static_cast<std::size_t>(row)]);
    one["rows"] = integers(name + "_rows", rows != nullptr ? of_file : file_->rows);
  } else if (rows != nullptr) {
    one["rows"] = integers(name + "_rows", *rows);
  }
  if (!steps.is_null()) one["steps"] = std::move(steps);
  points_[name] = std::move(one);
  return name;
}

Json& Claims::add(const std::string& kind, const std::string& text) {
  claims_.push_back(Json{{"kind", kind}, {"text", text}});
  return claims_.back();
}

Json subtracted(Claims& claims, const std::string& name, const Center& center) {
  RowMatrix both(2, center.high.size());
  both.row(0) = center.high.transpose();
  both.row(1).setZero();
  if (center.low.size() > 0) both.row(1) = center.low.transpose();
  return Json{{"subtract", claims.matrix(name, both)}};
}

Json steps_to_points(Claims& claims, const Standardization& how, const Center& center) {
  Json steps = Json::array();
  if (how.scale.size() > 0) steps.push_back(Json{{"scale", claims.vector("points_scale", how.scale)}});
  if (how.bias != 0) steps.push_back(Json{{"append", hexadecimal(how.bias)}});
  const bool same = center.high.size() == how.origin.high.size() && center.high == how.origin.high &&
                    center.low == how.origin.low;
  if (!how.origin.empty()) steps.push_back(subtracted(claims, "points_origin", how.origin));
  if (!center.empty() && !same) steps.push_back(subtracted(claims, "points_center", center));
  steps.push_back("normalize");
  return steps;
}

Json activation_claim(const std::string& name, double leak) {
  if (name == "leaky_relu") return Json{{"leak", hexadecimal(leak)}};
  return name;
}
Json activation_claim(const std::string& name) {
  return activation_claim(name, activation(name).leak.value_or(0));
}

DeepNetwork layers_of(const std::string& activation_name, const TwoLayer& two) {
  DeepNetwork one;
  one.layers = {Layer{.activation = activation_name, .W = two.W}};
  if (activation_name == "leaky_relu") one.layers.front().leak = activation(activation_name).leak.value_or(0);
  one.V = two.v.transpose();
  return one;
}

double nearly(double x, Rounding rounding) {
  constexpr double kRoom = 1e-9;
  return parsed_number(decimal(rounding == Rounding::up ? x * (1 + kRoom) : x * (1 - kRoom), 9, rounding))
      .value();
}

std::string Claims::network(const std::string& name, Json nodes) {
  networks_[name] = Json{{"nodes", std::move(nodes)}};
  return name;
}

Json Claims::affine(const std::string& name, const std::string& part, const RowMatrix& W, const Vector& b,
                    bool trained) {
  Json node{{"op", "affine"}, {"weight", matrix(name + "_" + part, W)}};
  Json moves = Json::array({"weight"});
  if (b.size() > 0) {
    node["bias"] = vector(name + "_" + part + "_bias", b);
    moves.push_back("bias");
  }
  if (trained) node["trained"] = std::move(moves);
  return node;
}

std::string Claims::network(const std::string& name, const DeepNetwork& network,
                            const std::vector<bool>& moving, double less) {
  Json nodes = Json::array();
  Index count = 0;
  const auto put = [&](Json node) {
    nodes.push_back(std::move(node));
    return count++;
  };
  const auto op = [](const char* what, const char* key, Json value) {
    return Json{{"op", what}, {key, std::move(value)}};
  };
  if (network.shift.size() > 0) {
    Json step = subtracted(*this, name + "_shift", {network.shift, network.shift_low});
    put(op("subtract", "by", step.at("subtract")));
  }
  if (network.factor.size() > 0) put(op("multiply", "by", vector(name + "_factor", network.factor)));
  if (network.constant != 0) put(op("append", "value", hexadecimal(network.constant)));
  if (network.unit) put(Json{{"op", "normalize"}});
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const Index before = count - 1;  // -1: the point
    const std::string number = fmt::format("{}", l + 1);
    put(affine(name, "W" + number, layer.W, layer.b, moving[l]));
    put(op("activation", "activation", activation_claim(layer.activation, layer.leak)));
    if (layer.U.size() > 0)
      put(affine(name, "U" + number, layer.U, layer.bU, moving[l]));
    else if (layer.bU.size() > 0)
      put(op("subtract", "by", vector(name + "_bU" + number, Vector(-layer.bU))));
    if (layer.scale != 1) put(op("scale", "by", hexadecimal(layer.scale)));
    if (layer.residual) put(op("add", "node", before));
  }
  put(affine(name, "V", network.V, network.c, moving.back()));
  if (less != 0) put(op("subtract", "by", vector(name + "_threshold", Vector::Constant(1, less))));
  return this->network(name, std::move(nodes));
}

bool Claims::copies(const RowMatrix& X) const {
  return folder_.copies_points() ||
         static_cast<double>(bytes_each(X)) * static_cast<double>(X.size()) <= kMost;
}

bool Claims::keeps(const Dataset& data) {
  if (copies(data.X)) return true;
  if (!file_) file_ = point_file(data);
  of_file_ = &data.X;
  return file_.has_value();
}

bool Claims::leaves_out(const Dataset& data) {
  if (data.stored)
    return leaves_out(
        std::max(8.0 * static_cast<double>(data.n()) * static_cast<double>(data.d()), kMost + 1), "points");
  if (keeps(data)) return false;
  leaves_out(static_cast<double>(bytes_each(data.X)) * static_cast<double>(data.X.size()), "points");
  note_ += ", unless all are asked for";
  return true;
}

bool Claims::leaves_out(double bytes, const std::string& what) {
  if (bytes <= kMost) return false;
  note_ = fmt::format("there are no claims about the {}: they take {:.0f} MB, and up to {:.0f} MB are copied",
                      what, bytes / 1e6, kMost / 1e6);
  return true;
}

void Claims::write() {
  if (claims_.empty()) {
    if (!note_.empty())
      folder_.write("claims.json",
                    Json{{"format", 1}, {"zeroloss", ZEROLOSS_VERSION}, {"note", note_}}.dump(1) + "\n");
    return;
  }
  Json all{{"format", 1},       {"zeroloss", ZEROLOSS_VERSION}, {"arrays", arrays_},
           {"points", points_}, {"networks", networks_},        {"claims", claims_}};
  if (!note_.empty()) all["note"] = note_;
  folder_.write(kFile, bytes_);
  folder_.write("claims.json", all.dump(1) + "\n");
}

}  // namespace zeroloss::internal
