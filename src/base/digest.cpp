#include "zeroloss/base/digest.hpp"

#include <fstream>
#include <vector>

#include "zeroloss/base/error.hpp"

/// What does not depend on who computes SHA-256.
namespace zeroloss {

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}

std::string sha256_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path + ": cannot be opened for reading");
  Sha256 digest;
  std::vector<char> buffer(1 << 16);
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    digest.update(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw DataError(path + ": reading failed");
  return digest.hex();
}

}  // namespace zeroloss
