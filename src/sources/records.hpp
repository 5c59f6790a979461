#pragma once
#include <cstdint>
#include <vector>

#include "sources/bytes.hpp"
#include "zeroloss/base/matrix.hpp"

/// Numbers in binary files: records of one fixed size.
namespace zeroloss::internal {

/// How one number is stored.
struct Element {
  enum class Kind { unsigned_integer, signed_integer, real } kind = Kind::unsigned_integer;
  int size = 1;  ///< bytes: 1, 2, 4 or 8; real: 4 or 8
  bool big_endian = false;

  /// Integers beyond 2^53 are rounded to the nearest double.
  void decode(const unsigned char* from, Index count, double* to) const;
};

/// `header` bytes, then n records, each `prefix` bytes and d numbers. In column order the numbers of a column
/// follow each other instead, and there is no prefix.
struct Block {
  Bytes bytes;
  std::uint64_t header = 0;
  Index n = 0, d = 0;
  Index prefix = 0;
  Element element{};
  bool column_order = false;

  /// Throws DataError unless the bytes are exactly as many as the sizes say. Nothing is allocated before.
  void check_size() const;
};

/// The points of these records, counted over all blocks, in the order of `records`.
RowMatrix read_rows(const std::vector<Block>& blocks, const std::vector<Index>& records);

/// All numbers of a block, record by record.
std::vector<double> read_all(const Block& block);

/// a * b * ... of sizes in a file; DataError naming the file if negative or beyond 2^63.
Index size_product(const std::vector<std::int64_t>& sizes, const std::string& name);

}  // namespace zeroloss::internal
