#include "arrays.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "sha256.hpp"
#include "verdict.hpp"

namespace check {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little);

// A file below the folder, whatever its name tries; an external one anywhere, but a regular one.
fs::path located(const fs::path& folder, const ArrayFile& file) {
  const fs::path path = file.file;
  const std::string quoted = "array " + file.name + ": " + file.file;
  if (file.external) {
    const fs::path whole = path.is_absolute() ? path : folder / path;
    if (!fs::is_regular_file(whole)) {
      throw Unreadable(quoted + " is not a file");
    }
    return whole;
  }
  if (path.empty() || path.is_absolute()) {
    throw Unreadable(quoted + " is not below the folder");
  }
  fs::path whole = folder;
  for (const fs::path& part : path) {
    if (part == ".." || part == "." || part.empty()) {
      throw Unreadable(quoted + " is not below the folder");
    }
    whole /= part;
    if (fs::is_symlink(fs::symlink_status(whole))) {
      throw Unreadable(quoted + " is a symbolic link");
    }
  }
  if (!fs::is_regular_file(whole)) {
    throw Unreadable(quoted + " is not a file");
  }
  return whole;
}

// Of numpy's header: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, blanks left out.
std::string expected_header(const ArrayFile& file) {
  std::string shape;
  for (const std::size_t size : file.shape) {
    shape += std::to_string(size) + ",";
  }
  if (file.shape.size() == 2) {
    shape.pop_back();
  }
  return std::string("{'descr':'") + named(file.type).descr + "','fortran_order':False,'shape':(" + shape +
         "),}";
}

// Reads the header and leaves the stream behind it.
void expect_npy(std::ifstream& in, const ArrayFile& file) {
  const std::string says = "array " + file.name + ": " + file.file + " ";
  char start[12] = {};
  in.read(start, 10);
  if (!in || std::memcmp(start, "\x93NUMPY", 6) != 0) {
    throw Unreadable(says + "has no header of numpy");
  }
  const auto byte = [&](int i) { return static_cast<std::size_t>(static_cast<unsigned char>(start[i])); };
  std::size_t length = byte(8) | byte(9) << 8;
  if (start[6] == 2) {
    in.read(start + 10, 2);
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (!in || (start[6] != 1 && start[6] != 2) || length > 65536) {
    throw Unreadable(says + "has a header of numpy that is not known");
  }
  std::string header(length, ' ');
  in.read(header.data(), static_cast<std::streamsize>(length));
  std::string packed;
  for (const char c : header) {
    if (c != ' ' && c != '\n') {
      packed += c;
    }
  }
  if (!in || packed != expected_header(file)) {
    throw Unreadable(says + "is not of the type and the shape that claims.json says");
  }
}

}  // namespace

double Array::real(std::size_t i) const {
  if (type == Type::float64) {
    double x;
    std::memcpy(&x, bytes.data() + 8 * i, 8);
    return x;
  }
  if (type == Type::float32) {
    float x;
    std::memcpy(&x, bytes.data() + 4 * i, 4);
    return x;
  }
  return static_cast<double>(integer(i));
}

std::vector<double> Array::reals() const {
  std::vector<double> all(size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = real(i);
  }
  return all;
}

std::int64_t Array::integer(std::size_t i) const {
  if (type == Type::uint8) {
    return static_cast<unsigned char>(bytes[i]);
  }
  std::int64_t x;
  std::memcpy(&x, bytes.data() + 8 * i, 8);
  return x;
}

Array read_array(const fs::path& folder, const ArrayFile& file) {
  const std::string says = "array " + file.name + ": " + file.file + " ";
  const fs::path path = located(folder, file);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  std::uint64_t count = 1;  // sizes are at least 1, and at most kMost each: their product may not wrap around
  for (const std::size_t size : file.shape) {
    if (size > kMost / count) {
      throw Unreadable(says + "is said to be larger than anything");
    }
    count *= size;
  }
  const std::uint64_t wanted = count * named(file.type).bytes;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw Unreadable(says + "cannot be read");
  }
  if (path.extension() == ".npy") {
    expect_npy(in, file);
  } else {
    in.seekg(static_cast<std::streamoff>(file.offset));
  }
  const auto from = static_cast<std::uint64_t>(in.tellg());
  const std::uint64_t there = fs::file_size(path);
  if (!in || there < from || there - from < wanted) {
    throw Unreadable(says + "is shorter than its shape");
  }
  Array array{file.name, file.type, file.shape, std::vector<char>(wanted)};
  in.read(array.bytes.data(), static_cast<std::streamsize>(wanted));
  if (!in) {
    throw Unreadable(says + "cannot be read");
  }
  if (sha256(array.bytes.data(), array.bytes.size()) != file.sha256) {
    throw False(file.file + " has changed: its bytes have another SHA-256");
  }
  if (!array.integers()) {
    for (std::size_t i = 0; i < array.size(); ++i) {
      const double x = array.real(i);
      array.infinite = array.infinite || std::isinf(x);
      if (std::isnan(x)) {
        throw False(file.file + " has what is not a number");
      }
    }
  }
  return array;
}

}  // namespace check
