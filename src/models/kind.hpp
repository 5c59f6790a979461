#pragma once
#include <string>

#include "zeroloss/models/models.hpp"

namespace zeroloss::internal {

/// A kind of saved model. Each stands in a file of its own, as a function in the list of models.cpp.
struct ModelKind {
  const char* name;  ///< `kind` in the file's metadata
  Model (*open)(const std::string& path, const Metadata& metadata);
};

/// ", label [batch] int64" of a classifier.
std::string label_of(Task task);

}  // namespace zeroloss::internal
