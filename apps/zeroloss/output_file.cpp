#include "output_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "zeroloss/base/error.hpp"

namespace zeroloss::app {
namespace {

namespace fs = std::filesystem;

/// Whether `file` lies in `folder`, at whatever depth. Both exist.
bool is_inside(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  const fs::path inner = fs::canonical(file, error), outer = fs::canonical(folder, error);
  if (error) return false;
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

/// What commands write into run folders. The rest of a folder is the user's: an exported model, predictions.
bool is_name_of_runs(const fs::path& name) {
  for (const char* ending : {".safetensors", ".json", ".db", ".html", ".svg", ".png", ".pdf"})
    if (name.extension() == ending) return true;
  for (const char* table : {"metrics.csv", "norms.csv", "forecast.csv"})
    if (name == table) return true;
  return false;
}

/// The run that has this file; "" if there is none.
std::string run_of(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  const fs::path folder = real.parent_path();
  const bool run = fs::exists(folder / "manifest.json", error) || folder.extension() == ".partial";
  return run && is_name_of_runs(real.filename()) ? folder.string() : "";
}

}  // namespace

std::string model_file(const std::string& model) {
  return fs::is_directory(model) ? (fs::path(model) / "model.safetensors").string() : model;
}

bool is_standard_output(const std::string& file) { return file == "-"; }

void check_output(const std::string& file, const std::vector<std::string>& inputs) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status))
    throw std::invalid_argument(fmt::format("{}: is a folder; expected the name of a file to write", file));
  if (!fs::is_regular_file(status)) return;  // nothing there that could be lost
  for (const std::string& input : inputs) {
    if (fs::equivalent(file, input, error))
      throw std::invalid_argument(fmt::format("{}: is {}, which is read; choose another file to write", file,
                                              file == input ? "the input" : "the same file as " + input));
    if (fs::is_directory(input, error) && is_inside(file, input))
      throw std::invalid_argument(
          fmt::format("{}: is a file of {}, which is read; choose another file to write", file, input));
  }
  if (const std::string run = run_of(file); !run.empty())
    throw std::invalid_argument(
        fmt::format("{}: is part of the run {}; choose another file to write", file, run));
}

void make_folders_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw ResourceError(fmt::format("{}: making its folder failed: {}", file, error.message()));
}

}  // namespace zeroloss::app
