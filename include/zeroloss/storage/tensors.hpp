#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// Named arrays in one file, in the safetensors layout: 8 bytes of header length (little endian), a JSON
/// header, the numbers. https://github.com/huggingface/safetensors
namespace zeroloss {

enum class Dtype { f64, f32, i64, u8 };  ///< F64, F32, I64 and U8 of the file

std::string dtype_name(Dtype dtype);  ///< "F64"
Index dtype_bytes(Dtype dtype);       ///< of one number

/// The Dtype whose numbers are T.
template <class T>
constexpr Dtype dtype_of() {
  if (std::is_same_v<T, double>) return Dtype::f64;
  if (std::is_same_v<T, float>) return Dtype::f32;
  if (std::is_same_v<T, std::int64_t>) return Dtype::i64;
  static_assert(std::is_floating_point_v<T> || std::is_same_v<T, std::int64_t> ||
                std::is_same_v<T, std::uint8_t>);
  return Dtype::u8;
}

/// Numbers of somebody else, in row order. They lie in one piece, or in several of equal length that follow
/// one another (c matrices that are one c x m x d tensor).
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f64;
  std::vector<Index> shape;  ///< empty = a single number
  std::vector<const void*> pieces;
};

/// The view of an array of T's.
template <class T>
TensorView view_of(std::string name, std::vector<Index> shape, const T* data) {
  return {std::move(name), dtype_of<T>(), std::move(shape), {data}};
}

/// A tensor with its numbers, in row order.
struct Tensor {
  std::string name;
  Dtype dtype = Dtype::f64;
  std::vector<Index> shape;
  Eigen::Matrix<std::uint8_t, Eigen::Dynamic, 1> bytes;  ///< aligned as Eigen aligns: to 64 bytes

  Index size() const { return bytes.size() / dtype_bytes(dtype); }
  /// The numbers as T's; T has to be the type of `dtype`.
  template <class T>
  const T* data() const {
    eigen_assert(dtype == dtype_of<T>());
    return reinterpret_cast<const T*>(bytes.data());
  }
};

using Metadata = std::map<std::string, std::string>;

struct TensorFile {
  std::vector<Tensor> tensors;  ///< in the order of their numbers in the file
  Metadata metadata;

  const Tensor* find(const std::string& name) const;  ///< null if there is none
};

/// Writes a file atomically, as write_file does, without a copy of the numbers. They are stored in the order
/// given, but larger types first, so that every tensor is aligned in a file that is mapped into memory.
/// Throws std::invalid_argument: two tensors of one name, one called "__metadata__", a negative size, pieces
/// that do not divide a tensor, text that is not UTF-8; ResourceError if writing fails.
void write_tensors(const std::filesystem::path& path, const std::vector<TensorView>& tensors,
                   const Metadata& metadata = {});

/// Reads a file that nobody vouches for: memory is allocated for what the file is long enough to hold, and
/// offsets have to cover it without a gap or an overlap, as the format demands. Throws DataError with the
/// file and what is wrong with it, also for the types of numbers that are none of Dtype.
TensorFile read_tensors(const std::filesystem::path& path);

/// The metadata only; the whole header is checked as read_tensors does. Cost: the header.
Metadata read_metadata(const std::filesystem::path& path);

}  // namespace zeroloss
