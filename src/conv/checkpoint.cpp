#include "conv/checkpoint.hpp"

#include <fmt/format.h>

#include <array>

#include "core/field_json.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss::internal {
namespace {

constexpr const char* kKind = "conv_checkpoint";

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const ConvCheckpoint& c, const Metadata& identity) {
  const Totals& t = c.totals;
  Metadata metadata{
      {"kind", kKind},
      {"state", Json{{"step", c.step},
                     {"seconds", stored(c.seconds)},
                     {"totals", {t.loss, t.wrong, t.images, t.gradient_norm, t.steps, t.train_s}},
                     {"history", stored(c.history)}}
                    .dump()}};
  for (const auto& [key, value] : identity) metadata.emplace("run." + key, value);
  std::vector<TensorView> tensors;
  tensors.reserve(c.numbers.size());
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
    c.step = state.at("step").as<Index>();
    c.seconds = state.at("seconds").as<double>();
    const auto sums = state.at("totals").list<double>();
    if (sums.size() != 6) throw JsonError("totals are six numbers");
    c.totals = {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
    restore(state.at("history"), c.history);
  } catch (const JsonError& error) {
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
