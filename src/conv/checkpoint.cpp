#include "conv/checkpoint.hpp"

#include <fmt/format.h>

#include <array>

#include "base/field_json.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

constexpr const char* kKind = "conv_checkpoint";

// Of all that a run goes on with: a bit that changes on the disk changes the run.
std::string digest_of(const std::string& state, const decltype(ConvCheckpoint::numbers)& numbers) {
  Sha256 digest;
  const auto text = [&](const std::string& part) { digest.update(part.c_str(), part.size() + 1); };
  text(state);
  for (const auto& [name, values] : numbers) {
    text(fmt::format("{} {}", name, values.size()));
    digest.update(values.data(), values.size() * sizeof(float));
  }
  return digest.hex();
}

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
  metadata.emplace("digest", digest_of(metadata.at("state"), c.numbers));
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
  if (digest_of(text("state"), c.numbers) != text("digest"))
    throw DataError(fmt::format("{}: damaged checkpoint: its digest is another one; remove it to begin anew",
                                path.string()));
  return c;
}

}  // namespace zeroloss::internal
