#include "model_options.hpp"

#include <fstream>
#include <iterator>

#include "field_options.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::app {
namespace {

// Of a file, or JSON as it stands.
std::string text_of(const std::string& path) {
  if (path.starts_with('[') || path.starts_with('{')) return path;
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty()) throw DataError(path + ": cannot be read, or is empty");
  return text;
}

}  // namespace

void add_model_options(const Command& command, ModelArguments& options) {
  const Command group = command.group("Model");
  add_fields(command, options.graph);
  group.option("--activation", options.layout.activation,
               "Of a state_dict: what is between its layers, one or one for each with "
               "commas [none: the file says it]");
  group.option("--layout", options.layout_text,
               "Of a state_dict: JSON, or a file of it, that says its layers; the names in "
               "their order, [\"input\", \"output\"], or all of it, {\"layers\": [{\"W\": "
               "\"input\", \"activation\": \"relu\"}], \"output\": \"output\"} "
               "[numbered names in the order of their numbers]");
}

StateLayout layout_of(const ModelArguments& options) {
  StateLayout layout = options.layout;
  if (!options.layout_text.empty()) layout.description = text_of(options.layout_text);
  return layout;
}

}  // namespace zeroloss::app
