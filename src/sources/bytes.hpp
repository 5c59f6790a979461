#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where readers get bytes from, compressed or not.
namespace zeroloss::internal {

/// One pass over a stream of bytes.
class ByteReader {
 public:
  /// Fewer than `count` only at the end.
  using Read = std::function<std::size_t(void* to, std::size_t count)>;
  /// Goes on by so many bytes without reading them, where that can be done; false if not.
  using Jump = std::function<bool(std::uint64_t count)>;
  explicit ByteReader(Read read, Jump jump = {}) : read_(std::move(read)), jump_(std::move(jump)) {}

  std::size_t read(void* to, std::size_t count);  ///< returns how many there were
  std::uint64_t skip(std::uint64_t count);        ///< returns how many there were, or were jumped over
  bool line(std::string& text);  ///< the next line with its end (\n, \r\n or \r); false at the end

 private:
  bool fill();

  Read read_;
  Jump jump_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  std::size_t begin_ = 0, end_ = 0;
};

/// A stream that can be read from its start as often as needed.
struct Bytes {
  std::string name;  ///< for messages
  std::function<ByteReader()> open;
  std::optional<std::uint64_t> known_size;  ///< absent where only reading to the end tells (gzip, zip)

  std::uint64_t size() const;  ///< reads to the end if need be, so that a damaged archive is found here
};

/// A file, gunzipped if its content is gzip. DataError if it is missing, is a folder or cannot be read;
/// reading throws DataError when the gzip data is cut short or damaged.
Bytes file_bytes(const std::string& path);

/// What is in memory, gunzipped if it is gzip.
Bytes memory_bytes(const std::string& name, std::string content);

/// gzip data in memory, which must outlive the result. zlib gets at most so many bytes at once: it counts in
/// 32 bits.
Bytes gzip_bytes(const std::string& name, std::string_view gzip,
                 unsigned most = std::numeric_limits<unsigned>::max());

/// SHA-256 (hex) of the bytes of these files, one after the other.
std::string digest_of(const std::vector<std::string>& paths);

}  // namespace zeroloss::internal
