#pragma once

#include <cstddef>
#include <string>

namespace check {

// SHA-256 (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256(const void* bytes, std::size_t size);

}  // namespace check
