#pragma once
#include <string>
#include <vector>

namespace zeroloss::app {

/// What is read where a model is a .safetensors file or a run folder.
std::string model_file(const std::string& model);

/// "-": the answer goes to standard output.
bool is_standard_output(const std::string& file);

/// Before any work: throws std::invalid_argument if writing `file` would replace one of the `inputs` (under
/// whatever name), a file inside an input that is a folder, or a part of a run; or if it is a folder itself.
/// Inputs that are no paths are names of data.
void check_output(const std::string& file, const std::vector<std::string>& inputs);

/// Makes the folders of `file` that are not there, as run folders do. Throws ResourceError.
void make_folders_of(const std::string& file);

}  // namespace zeroloss::app
