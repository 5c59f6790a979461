#pragma once
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
  Task task() const;
  std::vector<std::string> class_names() const;
  Encoding encoding() const;  ///< metadata columns; empty without

  bool has(const char* tensor) const { return file_.find(tensor) != nullptr; }
  /// One with this many sizes, all >= 1.
  const Tensor& tensor(const char* name, Dtype dtype, std::size_t sizes) const;

 private:
  std::string name_;
  TensorFile file_;
};

}  // namespace zeroloss::internal
