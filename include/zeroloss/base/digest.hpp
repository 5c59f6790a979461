#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace zeroloss {

/// SHA-256 of a stream of bytes (FIPS 180-4), by OpenSSL where there is one.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* bytes, std::size_t count);
  std::string hex();  ///< 64 lower-case hexadecimal digits of all bytes so far; ends the stream

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256(std::string_view bytes);        ///< of one string
std::string sha256_file(const std::string& path);  ///< of a file; DataError if it cannot be read

}  // namespace zeroloss
