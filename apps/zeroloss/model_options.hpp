#pragma once
#include <string>

#include "command.hpp"
#include "zeroloss/deep/read.hpp"

/// What a file of another program does not say of its network.
namespace zeroloss::app {

struct ModelArguments {
  StateLayout layout;
  std::string layout_text;  ///< JSON, or a file of it
  GraphOptions graph;
};

void add_model_options(const Command& command, ModelArguments& options);

/// With the file's text. Throws DataError for a file that cannot be read.
StateLayout layout_of(const ModelArguments& options);

}  // namespace zeroloss::app
