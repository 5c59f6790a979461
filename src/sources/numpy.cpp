#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <string_view>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "sources/records.hpp"
#include "sources/source_kind.hpp"
#include "sources/zip_archive.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/sources/arrays.hpp"

/// npy files and npz archives: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
namespace zeroloss {
using namespace internal;
namespace {

struct Array {
  Block block;      ///< n x d; d is the product of all sizes but the first
  char kind = 'f';  ///< NumPy's letter: f i u b, U and S for text
  std::vector<std::int64_t> shape;
  bool columns = false;  ///< Fortran order, as the header says

  std::string shape_text() const {
    return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
  }
};

/// Where the value of `key` begins in the header, a dictionary as Python writes it: {'descr': '<f8', ..}.
std::optional<std::string_view> text_of(std::string_view header, const std::string& key) {
  for (const char quote : {'\'', '"'}) {
    const std::size_t at = header.find(quote + key + quote);
    if (at == std::string_view::npos) continue;
    std::size_t i = at + key.size() + 2;
    const auto skip_space = [&] {
      while (i < header.size() && is_blank(header[i])) ++i;
    };
    skip_space();
    if (i == header.size() || header[i++] != ':') return {};
    skip_space();
    return header.substr(i);
  }
  return {};
}

/// What stands between the quotes that `text` begins with.
std::optional<std::string> unquoted(std::string_view text) {
  if (text.empty() || (text[0] != '\'' && text[0] != '"')) return {};
  const std::size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) return {};
  return std::string(text.substr(1, end - 1));
}

/// The numbers in the parentheses that `text` begins with: "(3, 4)", "(3L,)", "()"; as they are written.
std::optional<std::vector<std::string>> sizes_in(std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return {};
  std::vector<std::string> sizes;
  bool inside = false;  // of a number
  for (const char c : text.substr(1, end - 1)) {
    if (!is_digit(c) && c != 'L' && c != ',' && !is_blank(c)) return {};
    if (is_digit(c) && !inside) sizes.emplace_back();
    inside = is_digit(c);
    if (inside) sizes.back() += c;
  }
  return sizes;
}

/// The type as NumPy writes it: byte order, letter, size.
void set_type(Array& array, const std::string& descr) {
  const std::string& name = array.block.bytes.name;
  const bool understood = descr.size() >= 2 && descr.size() <= 11 &&
                          std::string_view("<>|=").find(descr[0]) != std::string::npos &&
                          is_letter(descr[1]) && std::all_of(descr.begin() + 2, descr.end(), is_digit);
  const char kind = understood ? descr[1] : '?';
  const int size = understood && descr.size() > 2 ? leading_integer(descr.substr(2)) : 0;
  const bool real = kind == 'f' && (size == 4 || size == 8);
  const bool integer = (kind == 'i' || kind == 'u') && (size == 1 || size == 2 || size == 4 || size == 8);
  const bool truth = kind == 'b' && size == 1;
  const bool text = (kind == 'U' || kind == 'S') && size < (1 << 20);
  if (!real && !integer && !truth && !text)
    throw DataError(fmt::format("{}: element type '{}'; expected f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1{}", name,
                                excerpt(descr),
                                kind == 'O' ? " (save text with dtype=str, not object)" : ""));
  array.kind = kind;
  const bool big_endian = understood && descr[0] == '>';
  if (text) {  // characters are the numbers: 4 bytes each for U, 1 for S
    array.block.d = size_product({array.block.d, size}, name);
    array.block.element = {Element::Kind::unsigned_integer, kind == 'U' ? 4 : 1, big_endian};
    return;
  }
  using Kind = Element::Kind;
  array.block.element = {real          ? Kind::real
                         : kind == 'i' ? Kind::signed_integer
                                       : Kind::unsigned_integer,
                         size, big_endian};
}

Array read_header(const Bytes& bytes) {
  constexpr std::size_t kLongestHeader = 10'000;  // NumPy's own limit
  const auto damaged = [&](const std::string& what) {
    return DataError(fmt::format("{}: {}", bytes.name, what));
  };
  ByteReader reader = bytes.open();
  unsigned char start[8] = {};
  const std::size_t got = reader.read(start, sizeof start);
  if (std::memcmp(start, "\x93NUMPY", std::min<std::size_t>(got, 6)) != 0 || got == 0)
    throw damaged("not an npy file: expected it to begin with \\x93NUMPY");
  if (got < sizeof start) throw damaged(fmt::format("truncated: found {} bytes, expected a header", got));
  if (start[6] < 1 || start[6] > 3)
    throw damaged(fmt::format("npy version {}; expected 1, 2 or 3", start[6]));
  unsigned char length_bytes[4] = {};
  const std::size_t width = start[6] == 1 ? 2 : 4;
  std::size_t length = 0;
  const bool complete = reader.read(length_bytes, width) == width;
  for (std::size_t i = width; i-- > 0;) length = length << 8 | length_bytes[i];
  if (length > kLongestHeader)
    throw damaged(fmt::format("header of {} bytes; expected at most {}", length, kLongestHeader));
  std::string header(length, '\0');
  if (!complete || reader.read(header.data(), length) != length)
    throw damaged("truncated: it ends inside the header");

  const auto descr = text_of(header, "descr"), order = text_of(header, "fortran_order"),
             shape = text_of(header, "shape");
  const auto type = descr ? unquoted(*descr) : std::nullopt;
  if (!type) throw damaged("structured element type; expected numbers, as in array.astype(float)");
  const bool columns = order && order->starts_with("True");
  const auto sizes = shape ? sizes_in(*shape) : std::nullopt;
  if (!sizes || !order || !(columns || order->starts_with("False")))
    throw damaged("damaged header: expected 'fortran_order' and 'shape'");
  Array array;
  for (const std::string& size : *sizes) {
    if (size.size() > 18)
      throw damaged(fmt::format("impossible size {} in its header; the file is damaged", size));
    array.shape.push_back(parsed_integer<std::int64_t>(size).value());
  }
  array.columns = columns;
  array.block.bytes = bytes;
  array.block.header = 8 + width + length;
  array.block.n = array.shape.empty() ? 1 : array.shape[0];
  array.block.d =
      array.shape.empty() ? 1 : size_product({array.shape.begin() + 1, array.shape.end()}, bytes.name);
  // Of one row or one column both orders are the same.
  array.block.column_order = columns && array.block.n > 1 && array.block.d > 1;
  set_type(array, *type);
  return array;
}

/// Throws DataError where the numbers of a row are not in the order of its columns: Fortran order with two
/// indices or more in a row.
void check_order(const Array& array) {
  const auto indices =
      std::ranges::count_if(array.shape | std::views::drop(1), [](std::int64_t size) { return size > 1; });
  if (array.columns && indices > 1)
    throw DataError(fmt::format("{}: Fortran order with shape {}; save it with numpy.ascontiguousarray",
                                array.block.bytes.name, array.shape_text()));
}

/// Throws DataError where there is nothing: rows without numbers take no bytes, however many there are.
void check_not_empty(const Array& array) {
  if (array.block.n < 1 || array.block.d < 1)
    throw DataError(fmt::format("{}: {} records of {} numbers; expected at least one of each",
                                array.block.bytes.name, array.block.n, array.block.d));
}

/// Not every one of its integers is a double.
bool is_wide(const Array& array) {
  return (array.kind == 'i' || array.kind == 'u') && array.block.element.size == 8;
}

/// Points from an array of two or more dimensions.
Source points_of(const Array& array) {
  const std::string& name = array.block.bytes.name;
  if (array.shape.size() < 2)
    throw DataError(
        fmt::format("{}: X must be 2-d, one point a row; found shape {}", name, array.shape_text()));
  if (array.kind == 'U' || array.kind == 'S') throw DataError(name + ": X holds text; expected numbers");
  check_order(array);
  check_not_empty(array);
  array.block.check_size();
  Source source;
  source.n = array.block.n;
  source.d = array.block.d;
  source.points = [block = array.block](const std::vector<Index>& records) {
    return read_rows({block}, records);
  };
  source.wide_points = is_wide(array);
  source.picture = picture_of_sizes({array.shape.begin() + 1, array.shape.end()});
  return source;
}

/// The texts of an array of text, each `d` characters long at most.
std::vector<std::string> texts_of(const Array& array) {
  const std::vector<double> codes = read_all(array.block);
  const Index width = array.block.d;
  std::vector<std::string> texts(static_cast<std::size_t>(array.block.n));
  for (std::size_t at = 0; at < codes.size(); ++at) {
    std::string& text = texts[at / static_cast<std::size_t>(width)];
    if (const auto code = static_cast<std::uint32_t>(codes[at]); code != 0) {
      if (array.kind == 'U')
        append_utf8(text, code);
      else
        text += static_cast<char>(code);
    }
  }
  return texts;
}

/// Integers of 64 bits with all their digits, from their halves.
std::vector<std::string> digits_of(const Array& array) {
  Block halves = array.block;
  halves.element = {Element::Kind::unsigned_integer, 4, array.block.element.big_endian};
  halves.d *= 2;
  const std::vector<double> words = read_all(halves);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::size_t high = array.block.element.big_endian ? i : i + 1;
    const std::uint64_t bits =
        static_cast<std::uint64_t>(words[high]) << 32 | static_cast<std::uint64_t>(words[2 * i + 1 - high]);
    texts.push_back(array.kind == 'i' ? fmt::format("{}", static_cast<std::int64_t>(bits))
                                      : fmt::format("{}", bits));
  }
  return texts;
}

/// The number of the class of each row, where all rows have one 1 among zeros.
std::optional<std::vector<double>> one_hot(const Array& array) {
  if (array.shape.size() != 2 || array.shape[1] < 2 || array.kind == 'U' || array.kind == 'S') return {};
  check_order(array);
  array.block.check_size();
  const std::vector<double> all = read_all(array.block);
  std::vector<double> classes;
  for (auto row = all.begin(); row != all.end(); row += array.block.d) {
    const auto end = row + array.block.d, one = std::ranges::find(row, end, 1.0);
    if (one == end || std::count(row, end, 0.0) != array.block.d - 1) return {};
    classes.push_back(static_cast<double>(one - row));
  }
  return classes;
}

void set_targets(Source& source, const std::string& called, const Array& array, const std::string& task) {
  const std::string& name = array.block.bytes.name;
  const bool column = array.shape.size() == 2 && array.shape[1] == 1;
  const auto classes = column ? std::nullopt : one_hot(array);
  if (array.shape.size() != 1 && !column && !classes)
    throw DataError(
        fmt::format("{}: {} must be 1-d, or one-hot; found shape {}", name, called, array.shape_text()));
  if (array.block.n != source.n)
    throw DataError(
        fmt::format("{}: {} has {} values, but there are {} points", name, called, array.block.n, source.n));
  array.block.check_size();
  source.target_name = fmt::format("array '{}'", called);
  if (classes) {
    source.numbers = *classes;
    source.task = Task::classification;
    source.remarks.push_back(fmt::format("one-hot: a row of '{}' is the number of its 1, 0 to {}",
                                         excerpt(called), array.block.d - 1));
    return;
  }
  if (array.kind == 'U' || array.kind == 'S') {
    source.texts = texts_of(array);
    return;
  }
  source.numbers = read_all(array.block);
  source.wide_numbers = is_wide(array);
  // Integers beyond 2^53 are names: as doubles some of them are the same.
  if (task == "regression" || (array.kind != 'i' && array.kind != 'u') ||
      std::ranges::none_of(source.numbers, [](double y) { return std::abs(y) >= 0x1p53; }))
    return;
  source.numbers.clear();
  source.texts = digits_of(array);
}

using NamedArrays = std::vector<std::pair<std::string, Array>>;

NamedArrays arrays_of(const std::string& path) {
  NamedArrays arrays;
  for (ZipEntry& entry : entries_of(path)) {
    if (!entry.name.ends_with(".npy")) continue;
    entry.name.resize(entry.name.size() - 4);
    entry.bytes.name = fmt::format("{}: array '{}'", path, excerpt(entry.name));
    arrays.emplace_back(entry.name, read_header(entry.bytes));
  }
  return arrays;
}

// "X (100, 5), y (100,)", for messages.
std::string listed(const NamedArrays& arrays) {
  std::vector<std::string> found;
  for (const auto& [name, array] : arrays) found.push_back(fmt::format("{} {}", name, array.shape_text()));
  return found.empty() ? "no arrays" : fmt::format("{}", fmt::join(found, ", "));
}

/// Rows of one number for each of the array's further indices.
RowMatrix numbers_of(const Array& array) {
  const std::string& name = array.block.bytes.name;
  if (array.kind == 'U' || array.kind == 'S')
    throw DataError(fmt::format("{}: holds text; expected numbers", name));
  check_order(array);
  array.block.check_size();
  check_not_empty(array);
  const auto n = static_cast<double>(array.block.n), d = static_cast<double>(array.block.d);
  require_memory(16 * n * d + 16 * n, name, "take fewer rows");
  std::vector<Index> all(static_cast<std::size_t>(array.block.n));
  std::iota(all.begin(), all.end(), Index{0});
  RowMatrix values = read_rows({array.block}, all);
  for (Index i = 0; i < values.rows(); ++i)
    for (Index j = 0; j < values.cols(); ++j)
      if (!std::isfinite(values(i, j)))
        throw DataError(fmt::format("{}: row {}, column {} (from 0) is {}; expected a finite number", name, i,
                                    j, values(i, j)));
  return values;
}

RowMatrix matrix_of(const Array& array) {
  if (array.shape.empty() || array.shape.size() > 2)
    throw DataError(
        fmt::format("{}: expected a matrix; found shape {}", array.block.bytes.name, array.shape_text()));
  return numbers_of(array);
}

/// The array of this name of an npz archive, or that of an npy file.
Array array_called(const std::string& path, const std::string& name) {
  if (name.empty()) return read_header(file_bytes(path));
  const NamedArrays arrays = arrays_of(path);
  const auto found = std::ranges::find_if(arrays, [&](const auto& entry) { return entry.first == name; });
  if (found == arrays.end())
    throw DataError(fmt::format("{}: no array '{}'; found {}", path, excerpt(name), excerpt(listed(arrays))));
  return found->second;
}

/// What arrays of points and those of their targets are called.
constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
    {"X", "y"},           {"x", "y"},           {"X_train", "y_train"}, {"x_train", "y_train"},
    {"data", "target"},   {"data", "labels"},   {"data", "label"},      {"X_test", "y_test"},
    {"x_test", "y_test"}, {"images", "labels"}, {"images", "label"},    {"images", "y"},
    {"images", "target"}};

struct NamedPair {
  const NamedArrays::value_type* points = nullptr;
  const NamedArrays::value_type* targets = nullptr;
};

/// The arrays that are meant; `target` names one, or is empty.
NamedPair pair_of(const std::string& path, const NamedArrays& arrays, const std::string& target) {
  const auto called = [&](std::string_view name) {
    const auto found = std::ranges::find(arrays, name, &NamedArrays::value_type::first);
    return found == arrays.end() ? nullptr : &*found;
  };
  NamedPair pair;
  if (!target.empty()) pair.targets = called(target);
  if (!target.empty() && pair.targets == nullptr)
    throw DataError(
        fmt::format("{}: no array '{}'; found {}", path, excerpt(target), excerpt(listed(arrays))));
  for (const auto& [points, targets] : kPairs)
    if (pair.points == nullptr && (target.empty() ? called(targets) != nullptr : targets == target)) {
      pair.points = called(points);
      if (pair.points != nullptr) pair.targets = called(targets);
    }
  if (pair.points == nullptr && target.starts_with("y_")) pair.points = called("X" + target.substr(1));
  if (pair.points == nullptr) pair.points = called("X");
  if (pair.points != nullptr) return pair;
  const auto is_table = [&](const auto& entry) {
    return entry.second.shape.size() >= 2 && &entry != pair.targets && entry.first != "y";
  };
  if (std::ranges::count_if(arrays, is_table) != 1)
    throw DataError(fmt::format("{}: no array 'X' and not exactly one of two dimensions or more; found {}",
                                path, listed(arrays)));
  pair.points = &*std::ranges::find_if(arrays, is_table);
  return pair;
}

Source read_npz(const std::string& path, const ReadOptions& options) {
  const NamedArrays arrays = arrays_of(path);
  const bool labelled = options.target != "none";
  const auto [points, targets] = pair_of(path, arrays, labelled ? options.target : "");
  Source source = points_of(points->second);
  if (targets != nullptr && labelled) set_targets(source, targets->first, targets->second, options.task);
  std::vector<std::string> left_out;
  for (const auto& entry : arrays)
    if (&entry != points && (&entry != targets || !labelled)) left_out.push_back(entry.first);
  if (!left_out.empty())
    source.remarks.push_back(
        fmt::format("left out: {} {}", left_out.size() == 1 ? "array" : "arrays", excerpt(left_out)));
  return source;
}

}  // namespace

namespace internal {

SourceKind npy() {
  return {
      SourceKind::Is::file, "npy", "",
      [](const Asked& asked) {
        return asked.start == nullptr ? asked.ends_in(".npy") : asked.start->starts_with("\x93NUMPY");
      },
      [](const std::string& path, const ReadOptions&) { return points_of(read_header(file_bytes(path))); }};
}

SourceKind npz() {
  return {SourceKind::Is::file,
          "npz",
          "",
          [](const Asked& asked) {
            return asked.start == nullptr ? asked.ends_in(".npz") : asked.start->starts_with("PK\x03\x04");
          },
          read_npz,
          true};
}

}  // namespace internal

RowMatrix read_matrix(const std::string& path, const std::string& name) {
  return matrix_of(array_called(path, name));
}

namespace {

std::string first_four(const Bytes& bytes) {
  std::string start(4, '\0');
  start.resize(bytes.open().read(start.data(), start.size()));
  return start;
}

}  // namespace

bool is_numpy(const std::string& path) {
  const std::string start = first_four(file_bytes(path));
  return start == "PK\x03\x04" || start == "\x93NUM";
}

std::vector<ArrayShape> arrays_in(const std::string& path) {
  const Bytes bytes = file_bytes(path);
  const bool archive = first_four(bytes) == "PK\x03\x04";
  std::vector<ArrayShape> found;
  for (const auto& [name, array] : archive ? arrays_of(path) : NamedArrays{{"", read_header(bytes)}})
    found.push_back({name, {array.shape.begin(), array.shape.end()}});
  return found;
}

RowMatrix read_array(const std::string& path, const std::string& name) {
  const Array array = array_called(path, name);
  if (array.shape.empty())
    throw DataError(fmt::format("{}: expected an array; found a single number", array.block.bytes.name));
  return numbers_of(array);
}

std::string npy_bytes(const RowMatrix& X) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::size_t kAligned = 64;  // of the numbers, as NumPy has them
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", X.rows(), X.cols());
  header.append(kAligned - (10 + header.size() + 1) % kAligned, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(X.data()), static_cast<std::size_t>(X.size()) * sizeof(double));
  return bytes;
}

}  // namespace zeroloss
