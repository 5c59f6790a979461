#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace check {

enum class Type { float64, float32, int64, uint8 };
// What claims.json and numpy call it, and how many bytes a number has: in the order of the types.
struct TypeNames {
  const char *name, *descr;
  std::size_t bytes;
};
constexpr TypeNames kTypes[] = {
    {"float64", "<f8", 8}, {"float32", "<f4", 4}, {"int64", "<i8", 8}, {"uint8", "|u1", 1}};
constexpr const TypeNames& named(Type type) { return kTypes[static_cast<std::size_t>(type)]; }

// An array of one or two sizes, in the order of C.
struct Array {
  std::string name;
  Type type = Type::float64;
  std::vector<std::size_t> shape;
  std::vector<char> bytes;
  bool infinite = false;  // a number is

  std::size_t rows() const { return shape[0]; }
  std::size_t columns() const { return shape.size() == 2 ? shape[1] : 1; }
  std::size_t size() const { return rows() * columns(); }
  bool integers() const { return type == Type::int64 || type == Type::uint8; }

  double real(std::size_t i) const;  // exactly, of all types but int64
  std::vector<double> reals() const;
  std::int64_t integer(std::size_t i) const;  // of int64 and uint8
};

// What claims.json says of a file.
struct ArrayFile {
  std::string name, file, sha256;
  Type type = Type::float64;
  std::vector<std::size_t> shape;
  std::uint64_t offset = 0;
  bool external = false;
};

// Reads it below the folder. Throws Unreadable, or False where its bytes have another sum or a number is
// none.
Array read_array(const std::filesystem::path& folder, const ArrayFile& file);

}  // namespace check
