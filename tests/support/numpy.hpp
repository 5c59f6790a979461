#pragma once
#include <zip.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// NumPy's files, written by hand.
namespace zeroloss::test {

/// The bytes of an npy file of doubles with this shape, as in "(3, 2)".
inline std::string npy(const RowMatrix& values, const std::string& shape) {
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(reinterpret_cast<const char*>(values.data()),
                     static_cast<std::size_t>(values.size()) * sizeof(double));
}

inline std::string npy(const RowMatrix& values) {
  return npy(values, "(" + std::to_string(values.rows()) + ", " + std::to_string(values.cols()) + ")");
}

/// Writes an npz archive of named npy files.
inline void write_npz(const std::string& path,
                      const std::vector<std::pair<std::string, std::string>>& arrays) {
  int status = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &status);
  for (const auto& [name, bytes] : arrays)
    zip_file_add(zip, (name + ".npy").c_str(), zip_source_buffer(zip, bytes.data(), bytes.size(), 0), 0);
  if (zip_close(zip) != 0) throw std::runtime_error("zip_close failed for " + path);
}

}  // namespace zeroloss::test
