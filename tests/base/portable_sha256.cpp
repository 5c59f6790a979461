/// The portable SHA-256 under another namespace, so that it can stand beside OpenSSL's in one program.
#define zeroloss zeroloss_portable
#include "base/digest.cpp"
#include "base/digest_portable.cpp"
#undef zeroloss

#include "base/portable_sha256.hpp"

namespace zeroloss::test {

std::string portable_sha256(const std::string& bytes, std::size_t piece) {
  zeroloss_portable::Sha256 digest;
  for (std::size_t i = 0; i < bytes.size(); i += piece)
    digest.update(bytes.data() + i, std::min(piece, bytes.size() - i));
  return digest.hex();
}

std::string portable_sha256_file(const std::string& path) { return zeroloss_portable::sha256_file(path); }

}  // namespace zeroloss::test
