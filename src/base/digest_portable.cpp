#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/hex.hpp"
#include "zeroloss/base/digest.hpp"

/// SHA-256 in plain C++ (FIPS 180-4, sections 4.1.2, 5 and 6.2), for builds without OpenSSL.
namespace zeroloss {
using namespace internal;
namespace {

using Word = std::uint32_t;

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<Word, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

struct Sha256::State {
  // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
  std::array<Word, 8> hash = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block{};
  std::uint64_t count = 0;  ///< bytes so far

  void compress() {
    std::array<Word, 64> w;
    for (std::size_t t = 0; t < 16; ++t)
      w[t] = Word{block[4 * t]} << 24 | Word{block[4 * t + 1]} << 16 | Word{block[4 * t + 2]} << 8 |
             Word{block[4 * t + 3]};
    for (std::size_t t = 16; t < 64; ++t)
      w[t] = (std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] +
             (std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
    auto [a, b, c, d, e, f, g, h] = hash;
    for (std::size_t t = 0; t < 64; ++t) {
      const Word first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                         kRound[t] + w[t];
      const Word second =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const std::array<Word, 8> sum = {a, b, c, d, e, f, g, h};
    for (std::size_t k = 0; k < 8; ++k) hash[k] += sum[k];
  }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  while (count > 0) {
    const std::size_t filled = state_->count % 64, part = std::min(count, 64 - filled);
    std::memcpy(state_->block.data() + filled, from, part);
    state_->count += part;
    from += part;
    count -= part;
    if (state_->count % 64 == 0) state_->compress();
  }
}

std::string Sha256::hex() {
  const std::uint64_t bits = 8 * state_->count;
  const unsigned char mark = 0x80, zero = 0;
  update(&mark, 1);
  while (state_->count % 64 != 56) update(&zero, 1);
  unsigned char last[32];
  for (int k = 0; k < 8; ++k) last[k] = static_cast<unsigned char>(bits >> (56 - 8 * k));
  update(last, 8);
  for (int k = 0; k < 32; ++k)
    last[k] = static_cast<unsigned char>(state_->hash[static_cast<std::size_t>(k / 4)] >> (24 - 8 * (k % 4)));
  return internal::hex(last, sizeof last);
}

}  // namespace zeroloss
