#include <openssl/evp.h>

#include "base/hex.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() {
    if (context == nullptr || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1)
      throw BackendError("OpenSSL cannot compute SHA-256: EVP_DigestInit_ex failed");
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* bytes, std::size_t count) { EVP_DigestUpdate(state_->context, bytes, count); }

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(state_->context, digest, &length);
  return internal::hex(digest, length);
}

}  // namespace zeroloss
