#include "present/point_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss::internal {
namespace {

struct Type {
  const char *descr, *name;
  std::size_t bytes;
};
constexpr std::array kTypes{Type{"<f8", "float64", 8}, Type{"<f4", "float32", 4}, Type{"|u1", "uint8", 1}};

double number_at(const char* row, std::size_t bytes, Index k) {
  const char* at = row + bytes * static_cast<std::size_t>(k);
  if (bytes == 1) return static_cast<unsigned char>(*at);
  if (bytes == 4) {
    float x = 0;
    std::memcpy(&x, at, 4);
    return x;
  }
  double x = 0;
  std::memcpy(&x, at, 8);
  return x;
}

// What numpy writes, without blanks: {'descr':'<f8','fortran_order':False,'shape':(3,4),}
std::string header_of(std::ifstream& in) {
  std::array<char, 12> start{};
  in.read(start.data(), 10);
  if (!in || std::memcmp(start.data(), "\x93NUMPY", 6) != 0) return "";
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(start[i]));
  };
  std::size_t length = byte(8) | byte(9) << 8;
  if (start[6] == 2) {
    in.read(start.data() + 10, 2);
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (!in || (start[6] != 1 && start[6] != 2) || length > 65536) return "";
  std::string header(length, ' '), packed;
  in.read(header.data(), static_cast<std::streamsize>(length));
  for (const char c : header)
    if (c != ' ' && c != '\n') packed += c;
  return in ? packed : "";
}

}  // namespace

std::optional<PointFile> point_file(const Dataset& data) {
  std::error_code none;
  const std::filesystem::path path = std::filesystem::absolute(data.name, none);
  if (none || path.extension() != ".npy" || std::ssize(data.records) != data.X.rows()) return {};
  std::ifstream in(path, std::ios::binary);
  const std::string header = in ? header_of(in) : "";
  for (const Type& type : kTypes) {
    const std::string begins = std::string("{'descr':'") + type.descr + "','fortran_order':False,'shape':(";
    const std::string ends = "," + fmt::to_string(data.X.cols()) + "),}";
    if (!header.starts_with(begins) || !header.ends_with(ends) ||
        header.size() <= begins.size() + ends.size())
      continue;
    const auto n = parsed_integer<Index>(
        std::string_view(header).substr(begins.size(), header.size() - begins.size() - ends.size()));
    if (!n || *n < 1) continue;
    // In one pass: the digest, and whether the numbers are those of the points.
    std::vector<Index> point_of(static_cast<std::size_t>(*n), -1);
    for (std::size_t i = 0; i < data.records.size(); ++i) {
      const Index record = data.records[i];
      if (record < 0 || record >= *n || point_of[static_cast<std::size_t>(record)] >= 0) return {};
      point_of[static_cast<std::size_t>(record)] = static_cast<Index>(i);
    }
    Sha256 digest;
    std::vector<char> row(type.bytes * static_cast<std::size_t>(data.X.cols()));
    for (const Index i : point_of) {
      in.read(row.data(), static_cast<std::streamsize>(row.size()));
      if (!in) return {};
      digest.update(row.data(), row.size());
      for (Index k = 0; i >= 0 && k < data.X.cols(); ++k)
        if (number_at(row.data(), type.bytes, k) != data.X(i, k)) return {};
    }
    PointFile file{Json{{"file", path.string()},
                        {"external", true},
                        {"dtype", type.name},
                        {"shape", std::vector<Index>{*n, data.X.cols()}},
                        {"sha256", digest.hex()}},
                   {}};
    std::vector<Index> all(static_cast<std::size_t>(*n));
    std::iota(all.begin(), all.end(), Index{0});
    if (data.records != all) file.rows = data.records;
    return file;
  }
  return {};
}

}  // namespace zeroloss::internal
