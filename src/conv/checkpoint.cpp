#include "conv/checkpoint.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "zeroloss/core/error.hpp"

namespace zeroloss::internal {
namespace {

using Json = nlohmann::json;

constexpr const char* kKind = "conv_checkpoint";

Json to_json(const ConvRecord& r) {
  return {{"step", r.step},
          {"epoch", r.epoch},
          {"learning_rate", r.learning_rate},
          {"train_loss", r.train_loss},
          {"train_error", r.train_error},
          {"test_error", r.test_error ? Json(*r.test_error) : Json()},
          {"images_per_s", r.images_per_s},
          {"weight_norm", r.weight_norm},
          {"gradient_norm", r.gradient_norm},
          {"block_norms", r.block_norms}};
}

ConvRecord record_of(const Json& json) {
  ConvRecord r;
  json.at("step").get_to(r.step);
  json.at("epoch").get_to(r.epoch);
  json.at("learning_rate").get_to(r.learning_rate);
  json.at("train_loss").get_to(r.train_loss);
  json.at("train_error").get_to(r.train_error);
  if (const Json& error = json.at("test_error"); !error.is_null()) r.test_error = error.get<double>();
  json.at("images_per_s").get_to(r.images_per_s);
  json.at("weight_norm").get_to(r.weight_norm);
  json.at("gradient_norm").get_to(r.gradient_norm);
  json.at("block_norms").get_to(r.block_norms);
  return r;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const ConvCheckpoint& c, const Metadata& identity) {
  Json history = Json::array();
  for (const ConvRecord& record : c.history) history.push_back(to_json(record));
  const Totals& t = c.totals;
  Metadata metadata{
      {"kind", kKind},
      {"state", Json{{"step", c.step},
                     {"seconds", c.seconds},
                     {"totals", {t.loss, t.wrong, t.images, t.gradient_norm, t.steps, t.train_s}},
                     {"history", history}}
                    .dump()}};
  for (const auto& [key, value] : identity) metadata.emplace("run." + key, value);
  std::vector<TensorView> tensors;
  for (const auto& [name, numbers] : c.numbers)
    tensors.push_back(view_of(name, {std::ssize(numbers)}, numbers.data()));
  write_tensors(path, tensors, metadata);
}

ConvCheckpoint read_checkpoint(const std::filesystem::path& path, const Metadata& identity) {
  const TensorFile file = read_tensors(path);
  const auto text = [&](const std::string& key) {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
      throw DataError(
          fmt::format("{}: not a checkpoint of conv: no '{}' in its metadata", path.string(), key));
    return found->second;
  };
  if (text("kind") != kKind) throw DataError(fmt::format("{}: not a checkpoint of conv", path.string()));
  for (const auto& [key, value] : identity)
    if (const std::string found = text("run." + key); found != value)
      throw DataError(
          fmt::format("{}: is of another run: its {} is {}, not {}", path.string(), key, found, value));
  ConvCheckpoint c;
  try {
    const Json state = Json::parse(text("state"));
    state.at("step").get_to(c.step);
    state.at("seconds").get_to(c.seconds);
    const auto sums = state.at("totals").get<std::array<double, 6>>();
    c.totals = {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
    for (const Json& record : state.at("history")) c.history.push_back(record_of(record));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: damaged: {}", path.string(), error.what()));
  }
  for (const Tensor& tensor : file.tensors) {
    if (tensor.dtype != Dtype::f32)
      throw DataError(fmt::format("{}: tensor '{}' is not F32", path.string(), tensor.name));
    c.numbers.emplace_back(tensor.name,
                           std::vector<float>(tensor.data<float>(), tensor.data<float>() + tensor.size()));
  }
  return c;
}

}  // namespace zeroloss::internal
