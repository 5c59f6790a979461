#include "fuzz/readers.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/json.hpp"
#include "sweep/store.hpp"
#include "train/checkpoint.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/deep/read.hpp"
#include "zeroloss/images/images.hpp"
#include "zeroloss/linear/linear_resnet.hpp"
#include "zeroloss/models/models.hpp"
#include "zeroloss/sources/arrays.hpp"
#include "zeroloss/sources/readers.hpp"
#include "zeroloss/storage/onnx.hpp"
#include "zeroloss/storage/tensors.hpp"
#include "zeroloss/tables/table.hpp"
#include "zeroloss/train/start.hpp"

namespace zeroloss::test {
namespace {

using Path = std::filesystem::path;

std::string content(const Path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void dataset(const Path& path) { read_dataset(path.string()); }

void table(const Path& path) {
  ReadOptions options;
  options.target = "-1";
  options.features = "all";
  read_dataset(path.string(), options);
}

void array(const Path& path) {
  for (const ArrayShape& found : arrays_in(path.string())) read_array(path.string(), found.name);
}

void store(const Path& path) { internal::Store(path, {}).rows(); }

void checkpoint(const Path& path) { internal::Checkpoint(path, 1, {}).load(); }

void model(const Path& path) { open_model(path); }

void layers(const Path& path) { read_network(path, {.activation = "relu"}); }

void json(const Path& path) {
  try {
    internal::Json::parse(content(path)).dump();
  } catch (const internal::JsonError&) {
  }
}

// Whoever asks for the words of options asks for them to be right.
bool refusal(const std::exception& error) {
  return dynamic_cast<const DataError*>(&error) != nullptr ||
         dynamic_cast<const ResourceError*>(&error) != nullptr ||
         dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
}

// Words of libraries that no user should have to read.
constexpr const char* kForeign[] = {
    "json.exception", "basic_string", "vector::",         "std::", "stoi", "stod", "map::at", "_M_",
    "bad_alloc",      "protobuf",     "cannot create std"};

void check_words(const std::string& words, std::string_view bytes) {
  if (words.empty()) throw std::logic_error("a message without words");
  if (printable(words) != words) throw std::logic_error("a terminal would obey: " + printable(words));
  for (const char* foreign : kForeign)
    if (words.find(foreign) != std::string::npos && bytes.find(foreign) == std::string_view::npos)
      throw std::logic_error("words of a library: " + words);
}

}  // namespace

const std::vector<FuzzedReader>& fuzzed_readers() {
  static const std::vector<FuzzedReader> readers{
      {"cifar", "data_batch_1.bin", dataset},
      {"cifar-images", "data_batch_1.bin", [](const Path& path) { read_images(path.string()); }},
      {"csv", "points.csv", dataset},
      {"csv-all", "points.csv", table},
      {"gzip", "points.csv.gz", dataset},
      {"idx", "train-images-idx3-ubyte", dataset},
      {"jpeg", "image.jpg", [](const Path& path) { decode_image(path.string()); }},
      {"json", "result.json", json},
      {"json-columns", "columns.json", [](const Path& path) { read_encoding(content(path)); }},
      {"json-result", "result.json", [](const Path& path) { finished_run(path.parent_path()); }},
      {"npy", "points.npy", dataset},
      {"npy-array", "points.npy", array},
      {"npz", "points.npz", dataset},
      {"npz-array", "points.npz", array},
      {"npz-linear", "problem.npz", [](const Path& path) { read_linear_problem(path.string()); }},
      {"npz-start", "start.npz", [](const Path& path) { read_start(path); }},
      {"onnx", "model.onnx", [](const Path& path) { read_network(path); }},
      {"png", "image.png", [](const Path& path) { decode_image(path.string()); }},
      {"safetensors", "model.safetensors", [](const Path& path) { read_tensors(path); }},
      {"safetensors-checkpoint", "checkpoint.safetensors", checkpoint},
      {"safetensors-layers", "model.safetensors", layers},
      {"safetensors-model", "model.safetensors", model},
      {"safetensors-start", "start.safetensors", [](const Path& path) { read_start(path); }},
      {"store", "trials.db", store},
  };
  return readers;
}

const FuzzedReader& fuzzed_reader(const std::string& name) {
  const auto found = std::ranges::find(fuzzed_readers(), name, &FuzzedReader::name);
  if (found == fuzzed_readers().end()) throw std::out_of_range("no such reader: " + name);
  return *found;
}

void read_fuzzed(const FuzzedReader& reader, std::string_view bytes, const Path& folder) {
  const Path path = folder / reader.file;
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  try {
    reader.read(path);
  } catch (const std::exception& error) {
    if (!refusal(error)) throw;
    check_words(error.what(), bytes);
  }
}

}  // namespace zeroloss::test
