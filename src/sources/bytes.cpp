#include "sources/bytes.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {

bool ByteReader::fill() {
  begin_ = 0;
  end_ = read_(buffer_.data(), buffer_.size());
  return end_ > 0;
}

std::size_t ByteReader::read(void* to, std::size_t count) {
  std::size_t done = 0;
  while (done < count && (begin_ < end_ || fill())) {
    const std::size_t part = std::min(count - done, end_ - begin_);
    std::memcpy(static_cast<char*>(to) + done, buffer_.data() + begin_, part);
    begin_ += part;
    done += part;
  }
  return done;
}

std::uint64_t ByteReader::skip(std::uint64_t count) {
  std::uint64_t done = 0;
  while (done < count) {
    if (begin_ == end_ && jump_ && count - done > buffer_.size() && jump_(count - done)) return count;
    if (begin_ == end_ && !fill()) break;
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(count - done, end_ - begin_));
    begin_ += part;
    done += part;
  }
  return done;
}

bool ByteReader::line(std::string& text) {
  text.clear();
  while (begin_ < end_ || fill()) {
    const char* first = buffer_.data() + begin_;
    const char* last = buffer_.data() + end_;
    if (!text.empty() && text.back() == '\r') {
      if (*first == '\n') {
        text += '\n';
        ++begin_;
      }
      return true;
    }
    const char* stop = std::find_if(first, last, [](char c) { return c == '\n' || c == '\r'; });
    if (stop != last) ++stop;
    text.append(first, stop);
    begin_ += static_cast<std::size_t>(stop - first);
    if (text.back() == '\n') return true;
  }
  return !text.empty();
}

std::uint64_t Bytes::size() const {
  return known_size ? *known_size : open().skip(std::numeric_limits<std::uint64_t>::max());
}

namespace {

/// `plain`: of a known size, and not compressed.
ByteReader open_file(const std::string& path, bool plain) {
  const std::shared_ptr<gzFile_s> file(gzopen(path.c_str(), "rb"), [](gzFile f) {
    if (f != nullptr) gzclose(f);
  });
  if (!file) throw DataError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  gzbuffer(file.get(), 1 << 17);
  const auto jump = [file](std::uint64_t count) {
    return gzseek(file.get(), static_cast<z_off_t>(count), SEEK_CUR) >= 0;
  };
  const auto read = [path, file](void* to, std::size_t count) {
    const int got = gzread(file.get(), to, static_cast<unsigned>(count));
    int status = Z_OK;
    const char* message = gzerror(file.get(), &status);
    if (status == Z_BUF_ERROR)
      throw DataError(
          fmt::format("{}: truncated gzip file: it ends after {} bytes of content, before its end mark; "
                      "copy or download it again",
                      path, gztell(file.get())));
    if (status == Z_ERRNO) throw DataError(fmt::format("{}: reading failed: {}", path, std::strerror(errno)));
    if (got < 0 || status != Z_OK) throw DataError(fmt::format("{}: damaged gzip file: {}", path, message));
    return static_cast<std::size_t>(got);
  };
  return plain ? ByteReader(read, jump) : ByteReader(read);
}

}  // namespace

Bytes file_bytes(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) throw DataError(path + ": no such file");
  if (fs::is_directory(status)) throw DataError(path + ": is a folder; expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  char magic[2] = {};
  in.read(magic, 2);
  const bool plain = std::memcmp(magic, "\x1f\x8b", 2) != 0 && fs::is_regular_file(status);
  Bytes bytes{path, [path, plain] { return open_file(path, plain); }, std::nullopt};
  if (plain) bytes.known_size = fs::file_size(path);
  return bytes;
}

Bytes gzip_bytes(const std::string& name, std::string_view gzip, unsigned most) {
  const auto open = [name, gzip, most] {
    const std::shared_ptr<z_stream> stream(new z_stream{}, [](z_stream* z) {
      inflateEnd(z);
      delete z;
    });
    stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));  // zlib's input is not const
    if (inflateInit2(stream.get(), 16 + MAX_WBITS) != Z_OK)
      throw ResourceError("zlib: inflateInit2 failed: no memory");
    const auto* const end = reinterpret_cast<const Bytef*>(gzip.data()) + gzip.size();
    return ByteReader([name, stream, end, most](void* to, std::size_t count) {
      stream->next_out = static_cast<Bytef*>(to);
      stream->avail_out = static_cast<uInt>(count);
      int status = Z_OK;
      std::ptrdiff_t left = 0;
      do {
        left = end - stream->next_in;
        stream->avail_in = static_cast<uInt>(std::min<std::ptrdiff_t>(left, most));
        status = inflate(stream.get(), Z_NO_FLUSH);
        left = end - stream->next_in;
        // Several archives, one after the other, are one; what else follows is ignored, as by gzip.
        if (status == Z_STREAM_END && left >= 2 && stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b)
          status = inflateReset(stream.get());
      } while (status == Z_OK && stream->avail_out > 0 && left > 0);
      const std::size_t got = count - stream->avail_out;
      if (status == Z_STREAM_END || got > 0) return got;
      if (left == 0)
        throw DataError(fmt::format("{}: truncated gzip data: it ends before its end mark", name));
      throw DataError(fmt::format("{}: damaged gzip data: zlib status {}", name, status));
    });
  };
  return {name, open, std::nullopt};
}

Bytes memory_bytes(const std::string& name, std::string content) {
  const auto kept = std::make_shared<const std::string>(std::move(content));
  if (kept->starts_with("\x1f\x8b"))
    return {name, [kept, open = gzip_bytes(name, *kept).open] { return open(); }, std::nullopt};
  const auto open = [kept] {
    return ByteReader([kept, at = std::size_t{0}](void* to, std::size_t count) mutable {
      const std::size_t part = std::min(count, kept->size() - at);
      std::memcpy(to, kept->data() + at, part);
      at += part;
      return part;
    });
  };
  return {name, open, kept->size()};
}

std::string digest_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return sha256_file(paths.front());
  Sha256 digest;
  std::vector<char> buffer(1 << 16);
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
      digest.update(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (in.bad() || !in.eof()) throw DataError(path + ": reading failed");
  }
  return digest.hex();
}

}  // namespace zeroloss::internal
