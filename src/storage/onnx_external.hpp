#pragma once
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>

/// Tensors of ONNX whose bytes are in other files. https://onnx.ai/onnx/repo-docs/ExternalData.html
namespace zeroloss::internal {

/// How many numbers the sizes of a tensor make; NaN where one is negative.
double onnx_count(const onnx::TensorProto& tensor);

/// Where the bytes of a tensor are, in a file that is there and long enough.
struct OnnxBytes {
  std::filesystem::path file;
  std::int64_t offset = 0, length = 0;
};

/// Of a tensor that says that its bytes are in another file. Throws DataError naming both files and the
/// tensor where that is no regular file, or not below the folder of the model (symbolic links are followed),
/// and where offset and length are no place in it or not what shape and type say.
OnnxBytes find_external(const std::filesystem::path& model, const std::string& name,
                        const onnx::TensorProto& tensor);

/// The bytes themselves; throws DataError where they cannot be read.
std::string read_external(const std::filesystem::path& model, const std::string& name,
                          const OnnxBytes& bytes);

}  // namespace zeroloss::internal
