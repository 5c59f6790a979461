#pragma once
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "zeroloss/base/error.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/storage/tensors.hpp"

/// What model files of every kind have in common: metadata that says what they are, and careful reading.
namespace zeroloss::internal {

/// kind, format_version = 1, precision, task, class_names (a JSON list), then `own`. What `extra` says under
/// one of these keys is left out. Text becomes UTF-8, see utf8() in core/text.
Metadata model_metadata(const std::string& kind, const std::string& precision, Task task,
                        const std::vector<std::string>& class_names, const Metadata& own,
                        const Metadata& extra);

/// What is wrong with the names of a model's classes, at least `least` of them for classification, else none;
/// empty if nothing is.
std::string names_problem(Task task, const std::vector<std::string>& names, std::size_t least);

/// A model's numbers as the tensors of its file, in the order of the file.
class ModelTensors {
 public:
  /// Doubles are written from where they lie, and have to outlive this; float32 gets them rounded.
  explicit ModelTensors(Dtype dtype = Dtype::f64) : dtype_(dtype) {}
  ModelTensors(const ModelTensors&) = delete;
  ModelTensors& operator=(const ModelTensors&) = delete;

  /// Numbers in row order, in one piece or more of one size.
  void add(std::string name, std::vector<Index> shape, const std::vector<const double*>& pieces, Dtype dtype);
  void add(std::string name, std::vector<Index> shape, const std::vector<const double*>& pieces) {
    add(std::move(name), std::move(shape), pieces, dtype_);
  }
  /// Nothing where there are no numbers.
  void add(std::string name, const RowMatrix& A);
  void add(std::string name, const Vector& a);

  /// Throws as write_tensors.
  void write(const std::filesystem::path& path, const Metadata& metadata) const;

 private:
  Dtype dtype_;
  std::vector<TensorView> views_;
  std::deque<std::vector<float>> rounded_;
};

/// The parts of one file, each checked when it is asked for. All throw DataError with the file's name.
class ModelFile {
 public:
  ModelFile(const std::filesystem::path& path, const char* kind);

  DataError damaged(const std::string& what) const;
  bool says(const char* key) const { return file_.metadata.contains(key); }
  std::string text(const char* key) const;
  /// The place of a metadata's value among those known.
  std::size_t choice(const char* key, const std::vector<std::string>& known) const;
  bool single() const;  ///< precision: float32, not float64
  Dtype dtype() const { return single() ? Dtype::f32 : Dtype::f64; }
  Task task() const;
  std::vector<std::string> class_names() const;
  Encoding encoding() const;  ///< metadata columns; empty without

  bool has(const char* tensor) const { return file_.find(tensor) != nullptr; }
  /// One with this many sizes, all >= 1.
  const Tensor& tensor(const char* name, Dtype dtype, std::size_t sizes) const;
  /// Its numbers as doubles, a row for each place but the last size's.
  RowMatrix matrix(const char* name, Dtype dtype, std::size_t sizes = 2) const;
  Vector vector(const char* name, Dtype dtype, std::size_t sizes = 1) const;
  Vector optional_vector(const char* name, Dtype dtype) const;  ///< empty where there is none

 private:
  std::string name_;
  TensorFile file_;
};

}  // namespace zeroloss::internal
