#include "sources/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss::internal {
namespace {

template <class Word>
Word load(const unsigned char* from, bool big_endian) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    const std::size_t place = big_endian ? sizeof(Word) - 1 - i : i;
    word = static_cast<Word>(word | static_cast<Word>(static_cast<Word>(from[i]) << (8 * place)));
  }
  return word;
}

template <class Word, class As>
void decode_as(const Element& element, const unsigned char* from, Index count, double* to) {
  for (Index i = 0; i < count; ++i)
    to[i] = static_cast<double>(
        std::bit_cast<As>(load<Word>(from + i * Index{sizeof(Word)}, element.big_endian)));
}

void read_exactly(ByteReader& reader, const std::string& name, std::vector<unsigned char>& to) {
  if (reader.read(to.data(), to.size()) != to.size())
    throw DataError(name + ": truncated: it became shorter while read");
}

void skip_exactly(ByteReader& reader, const std::string& name, std::uint64_t count) {
  if (reader.skip(count) != count) throw DataError(name + ": truncated: it became shorter while read");
}

/// The wanted records of one block: [first, last) of `order` index `records`; record numbers count from
/// `offset`.
struct Wanted {
  const std::vector<Index>& records;
  const Index* first;
  const Index* last;
  Index offset;
};

void read_records(const Block& block, const Wanted& wanted, RowMatrix& X) {
  ByteReader reader = block.bytes.open();
  skip_exactly(reader, block.bytes.name, block.header);
  std::vector<unsigned char> record(static_cast<std::size_t>(block.prefix + block.d * block.element.size));
  Index next = 0;
  for (const Index* place = wanted.first; place != wanted.last; ++place) {
    const Index number = wanted.records[static_cast<std::size_t>(*place)] - wanted.offset;
    skip_exactly(reader, block.bytes.name, static_cast<std::uint64_t>(number - next) * record.size());
    read_exactly(reader, block.bytes.name, record);
    block.element.decode(record.data() + block.prefix, block.d, X.row(*place).data());
    next = number + 1;
  }
}

void read_columns(const Block& block, const Wanted& wanted, RowMatrix& X) {
  ByteReader reader = block.bytes.open();
  skip_exactly(reader, block.bytes.name, block.header);
  std::vector<unsigned char> column(static_cast<std::size_t>(block.n * block.element.size));
  for (Index j = 0; j < block.d; ++j) {
    read_exactly(reader, block.bytes.name, column);
    for (const Index* place = wanted.first; place != wanted.last; ++place) {
      const Index number = wanted.records[static_cast<std::size_t>(*place)] - wanted.offset;
      block.element.decode(column.data() + number * block.element.size, 1, &X(*place, j));
    }
  }
}

}  // namespace

void Element::decode(const unsigned char* from, Index count, double* to) const {
  const auto as_integer = [&]<class Word>(Word) {
    if (kind == Kind::unsigned_integer) return decode_as<Word, Word>(*this, from, count, to);
    decode_as<Word, std::make_signed_t<Word>>(*this, from, count, to);
  };
  if (kind == Kind::real) {
    if (size == 4) return decode_as<std::uint32_t, float>(*this, from, count, to);
    return decode_as<std::uint64_t, double>(*this, from, count, to);
  }
  switch (size) {
    case 1:
      return as_integer(std::uint8_t{});
    case 2:
      return as_integer(std::uint16_t{});
    case 4:
      return as_integer(std::uint32_t{});
    default:
      return as_integer(std::uint64_t{});
  }
}

void Block::check_size() const {
  const auto records = static_cast<std::uint64_t>(
      size_product({n, size_product({d, element.size}, bytes.name) + prefix}, bytes.name));
  const std::uint64_t found = bytes.size(), expected = header + records;
  if (found == expected) return;
  throw DataError(
      fmt::format("{}: {}: found {} bytes, expected {} ({} records of {} numbers); copy or download it again",
                  bytes.name, found < expected ? "truncated" : "too long", found, expected, n, d));
}

RowMatrix read_rows(const std::vector<Block>& blocks, const std::vector<Index>& records) {
  RowMatrix X(static_cast<Index>(records.size()), blocks.front().d);
  std::vector<Index> order(records.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&](Index place) { return records[static_cast<std::size_t>(place)]; });
  const Index* first = order.data();
  const Index* const end = order.data() + order.size();
  Index offset = 0;
  for (const Block& block : blocks) {
    const Index* last = std::find_if(first, end, [&](Index place) {
      return records[static_cast<std::size_t>(place)] >= offset + block.n;
    });
    if (first != last)
      (block.column_order ? read_columns : read_records)(block, {records, first, last, offset}, X);
    first = last;
    offset += block.n;
  }
  return X;
}

std::vector<double> read_all(const Block& block) {
  constexpr double kOfText = 48;  // what a record takes that becomes text
  const auto n = static_cast<double>(block.n), d = static_cast<double>(block.d);
  require_memory(16 * n * d + (8 + kOfText) * n, block.bytes.name, "read a part of it");
  std::vector<Index> all(static_cast<std::size_t>(block.n));
  std::iota(all.begin(), all.end(), Index{0});
  const RowMatrix X = read_rows({block}, all);
  return {X.data(), X.data() + X.size()};
}

Index size_product(const std::vector<std::int64_t>& sizes, const std::string& name) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(product, size, &product) || product > (std::int64_t{1} << 60))
      throw DataError(fmt::format("{}: impossible sizes {} in its header; the file is damaged", name,
                                  fmt::join(sizes, " x ")));
  return product;
}

}  // namespace zeroloss::internal
