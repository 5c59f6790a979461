#pragma once
#include <cstddef>
#include <string>

namespace zeroloss::test {

/// As zeroloss::sha256, by src/base/digest_portable.cpp; the bytes are given in pieces of this size.
std::string portable_sha256(const std::string& bytes, std::size_t piece);
std::string portable_sha256_file(const std::string& path);

}  // namespace zeroloss::test
