#include "data/model_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/json.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

constexpr const char* kVersion = "1";

}  // namespace

Metadata model_metadata(const std::string& kind, const std::string& precision, Task task,
                        const std::vector<std::string>& class_names, const Metadata& own,
                        const Metadata& extra) {
  Json names = Json::array();
  for (const std::string& name : class_names) names.push_back(utf8(name));
  Metadata metadata{{"kind", kind},
                    {"format_version", kVersion},
                    {"precision", precision},
                    {"task", name(task)},
                    {"class_names", names.dump()}};
  metadata.insert(own.begin(), own.end());
  for (const auto& [key, value] : extra) metadata.try_emplace(utf8(key), utf8(value));
  return metadata;
}

std::string names_problem(Task task, const std::vector<std::string>& names, std::size_t least) {
  if (task == Task::classification ? names.size() < least : !names.empty())
    return fmt::format("{} class names for the task {}", names.size(), name(task));
  std::set<std::string> distinct;
  for (const std::string& name : names)
    if (!distinct.insert(utf8(name)).second) return fmt::format("two classes called '{}'", excerpt(name));
  return {};
}

void ModelTensors::add(std::string name, std::vector<Index> shape, const std::vector<const double*>& pieces,
                       Dtype dtype) {
  TensorView view{std::move(name), dtype, std::move(shape), {pieces.begin(), pieces.end()}};
  if (dtype == Dtype::f32) {
    Index count = 1;
    for (const Index size : view.shape) count *= size;
    count /= std::ssize(pieces);
    std::vector<float>& numbers = rounded_.emplace_back();
    numbers.reserve(static_cast<std::size_t>(count * std::ssize(pieces)));
    for (const double* piece : pieces)
      std::transform(piece, piece + count, std::back_inserter(numbers),
                     [](double number) { return static_cast<float>(number); });
    view.pieces = {numbers.data()};
  }
  views_.push_back(std::move(view));
}

void ModelTensors::add(std::string name, const RowMatrix& A) {
  if (A.size() > 0) add(std::move(name), {A.rows(), A.cols()}, {A.data()});
}

void ModelTensors::add(std::string name, const Vector& a) {
  if (a.size() > 0) add(std::move(name), {a.size()}, {a.data()});
}

void ModelTensors::write(const std::filesystem::path& path, const Metadata& metadata) const {
  write_tensors(path, views_, metadata);
}

ModelFile::ModelFile(const std::filesystem::path& path, const char* kind)
    : name_(path.string()), file_(read_tensors(path)) {
  choice("kind", {kind});
  choice("format_version", {kVersion});
}

DataError ModelFile::damaged(const std::string& what) const {
  return DataError(fmt::format("{}: {}", name_, what));
}

std::string ModelFile::text(const char* key) const {
  const auto found = file_.metadata.find(key);
  if (found == file_.metadata.end())
    throw damaged(fmt::format("not a model of zeroloss: no '{}' in its metadata", key));
  return found->second;
}

std::size_t ModelFile::choice(const char* key, const std::vector<std::string>& known) const {
  const std::string value = text(key);
  const auto found = std::ranges::find(known, value);
  if (found == known.end())
    throw damaged(fmt::format("{} '{}'; expected {}", key, excerpt(value), fmt::join(known, ", ")));
  return static_cast<std::size_t>(found - known.begin());
}

bool ModelFile::single() const { return choice("precision", {"float64", "float32"}) == 1; }

Task ModelFile::task() const {
  return static_cast<Task>(
      choice("task", {name(Task::none), name(Task::regression), name(Task::classification)}));
}

std::vector<std::string> ModelFile::class_names() const {
  try {
    return Json::parse(text("class_names")).list<std::string>();
  } catch (const JsonError&) {
    throw damaged("class_names is not a JSON list of texts");
  }
}

Encoding ModelFile::encoding() const {
  if (!says("columns")) return {};
  try {
    return read_encoding(text("columns"));
  } catch (const DataError& error) {
    throw damaged(error.what());
  }
}

const Tensor& ModelFile::tensor(const char* name, Dtype dtype, std::size_t sizes) const {
  const Tensor* found = file_.find(name);
  if (found == nullptr) throw damaged(fmt::format("no tensor '{}'", name));
  if (found->dtype != dtype || found->shape.size() != sizes || found->size() == 0)
    throw damaged(fmt::format("tensor '{}' is {} of shape [{}]; expected {} with {} sizes >= 1", name,
                              dtype_name(found->dtype), fmt::join(found->shape, ", "), dtype_name(dtype),
                              sizes));
  return *found;
}

RowMatrix ModelFile::matrix(const char* name, Dtype dtype, std::size_t sizes) const {
  const Tensor& found = tensor(name, dtype, sizes);
  const Index columns = found.shape.back(), rows = found.size() / columns;
  if (dtype == Dtype::f32)
    return Eigen::Map<const Rows<float>>(found.data<float>(), rows, columns).cast<double>();
  return Eigen::Map<const RowMatrix>(found.data<double>(), rows, columns);
}

Vector ModelFile::vector(const char* name, Dtype dtype, std::size_t sizes) const {
  return matrix(name, dtype, sizes).reshaped<Eigen::RowMajor>();
}

Vector ModelFile::optional_vector(const char* name, Dtype dtype) const {
  return has(name) ? vector(name, dtype) : Vector();
}

}  // namespace zeroloss::internal
