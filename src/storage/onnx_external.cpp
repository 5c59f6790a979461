#include "storage/onnx_external.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

// The bits of one number of a type of onnx.proto, of newer versions too; nothing for one that is not known.
std::optional<int> bits_of(int type) {
  static const std::map<int, int> bits{
      {1, 32},  {2, 8},   {3, 8},   {4, 16},  {5, 16},  {6, 32},   {7, 64},  {9, 8},    // float .. bool
      {10, 16}, {11, 64}, {12, 32}, {13, 64}, {14, 64}, {15, 128}, {16, 16},            // float16 .. bfloat16
      {17, 8},  {18, 8},  {19, 8},  {20, 8},  {21, 4},  {22, 4},   {23, 4},  {24, 8}};  // of 8 bits and 4
  const auto found = bits.find(type);
  return found == bits.end() ? std::nullopt : std::optional(found->second);
}

[[noreturn]] void refuse_external(const fs::path& model, const std::string& name, const std::string& file,
                                  const std::string& why) {
  throw DataError(fmt::format("{}: the numbers of '{}' are in another file, '{}': {}", model.string(),
                              excerpt(name), excerpt(file), why));
}

// Both as they are behind all symbolic links.
bool is_within(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

}  // namespace

double onnx_count(const onnx::TensorProto& tensor) {
  double count = 1;
  for (const std::int64_t size : tensor.dims())
    count *= size < 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(size);
  return count;
}

OnnxBytes find_external(const fs::path& model, const std::string& name, const onnx::TensorProto& tensor) {
  std::map<std::string, std::string> entries;
  std::string twice;
  for (const auto& entry : tensor.external_data())
    if (!entries.try_emplace(entry.key(), entry.value()).second) twice = entry.key();
  const std::string& location = entries["location"];
  const auto refuse = [&](const std::string& why) { refuse_external(model, name, location, why); };
  if (!twice.empty()) refuse(fmt::format("its '{}' is given twice", excerpt(twice)));
  const fs::path relative = location;
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() ||
      std::ranges::find(relative, "..") != relative.end())
    refuse("it has to be a path below the model's folder, without '..'");

  OnnxBytes bytes;
  std::error_code problem;
  fs::path folder = fs::absolute(model, problem).parent_path();
  if (!problem) folder = fs::weakly_canonical(folder, problem);
  if (!problem) bytes.file = fs::weakly_canonical(folder / relative, problem);
  if (problem) refuse(problem.message());
  if (!is_within(bytes.file, folder)) refuse("a symbolic link leads out of the model's folder");
  const fs::file_status status = fs::status(bytes.file, problem);
  if (!exists(status)) refuse(status.type() == fs::file_type::not_found ? "no such file" : problem.message());
  if (!is_regular_file(status)) refuse("it is no regular file");
  const auto size = static_cast<std::int64_t>(fs::file_size(bytes.file, problem));
  if (problem) refuse(problem.message());

  const auto number = [&](const char* key, std::int64_t otherwise) {
    const auto found = entries.find(key);
    if (found == entries.end()) return otherwise;
    const auto value = parsed_integer<std::int64_t>(found->second);
    if (!value || *value < 0) refuse(fmt::format("{}='{}' is no number >= 0", key, excerpt(found->second)));
    return *value;
  };
  bytes.offset = number("offset", 0);
  if (bytes.offset > size) refuse(fmt::format("offset={}, and the file has {} bytes", bytes.offset, size));
  const auto bits = bits_of(tensor.data_type());
  const double expected = bits ? std::ceil(onnx_count(tensor) * *bits / 8) : 0;
  if (!(0 <= expected && expected <= static_cast<double>(size)))
    refuse(fmt::format("shape and type say {} bytes, and the file has {}", expected, size));
  bytes.length = number("length", bits ? static_cast<std::int64_t>(expected) : size - bytes.offset);
  if (bits && static_cast<double>(bytes.length) != expected)
    refuse(fmt::format("length={}, and shape and type say {} bytes", bytes.length, expected));
  if (bytes.length > size - bytes.offset)
    refuse(fmt::format("{} bytes from {} on, and the file has {}", bytes.length, bytes.offset, size));
  return bytes;
}

std::string read_external(const fs::path& model, const std::string& name, const OnnxBytes& bytes) {
  std::string content(static_cast<std::size_t>(bytes.length), '\0');
  std::ifstream file(bytes.file, std::ios::binary);
  file.seekg(bytes.offset);
  file.read(content.data(), bytes.length);
  if (!file || file.gcount() != bytes.length)
    refuse_external(model, name, bytes.file.string(), "it cannot be read");
  return content;
}

}  // namespace zeroloss::internal
