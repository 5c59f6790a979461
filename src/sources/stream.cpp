#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "data/stop_streams.hpp"
#include "sources/source_kind.hpp"
#include "sources/utf16.hpp"
#include "zeroloss/base/error.hpp"

/// What can be read only once: standard input, pipes and sockets that have a name.
namespace zeroloss::internal {
namespace {

bool is_standard_input(const std::string& text) { return text == "-" || text == "/dev/stdin"; }

/// Until there is something to read. Returns false where that cannot be told, as errno says.
bool wait_for(int file) {
  constexpr int kLook = 50;  // ms: a signal may come just before poll, or be handled by another thread
  const std::atomic<bool>* const asked = streams_stop();
  pollfd waits{file, POLLIN, 0};
  for (int ready = 0; ready <= 0;) {
    if (asked != nullptr && *asked) throw Interrupted();
    ready = poll(&waits, 1, asked != nullptr ? kLook : -1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready < 0 && asked == nullptr) throw Interrupted();
  }
  return true;
}

std::string read_once(const std::string& name, const std::string& path) {
  const auto check = [&](bool good) {
    if (!good) throw DataError(fmt::format("{}: reading failed: {}", name, std::strerror(errno)));
  };
  // A pipe that nobody writes to opens at once, and shows that it can be read when somebody does.
  const int file =
      is_standard_input(path) ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(file >= 0);
  const std::unique_ptr<const int, void (*)(const int*)> closed(&file, [](const int* f) { ::close(*f); });
  std::string content(1 << 16, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got != 0;) {
    if (size == content.size()) content.resize(2 * size);
    check(wait_for(file));
    got = ::read(file, content.data() + size, content.size() - size);
    check(got >= 0 || errno == EINTR || errno == EAGAIN);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  content.resize(size);
  return content;
}

}  // namespace

SourceKind stream() {
  return {
      SourceKind::Is::stream,
      "- (standard input)",
      "",
      [](const Asked& asked) {
        std::error_code ignored;
        const auto type = std::filesystem::status(asked.text, ignored).type();
        using Type = std::filesystem::file_type;
        return is_standard_input(asked.text) || type == Type::fifo || type == Type::socket ||
               type == Type::character;
      },
      [](const std::string& path, const ReadOptions& options) {
        const std::string name = is_standard_input(path) ? "standard input" : path;
        std::string content = read_once(name, path);
        if (content.find('\0') != std::string::npos && !content.starts_with("\x1f\x8b") && !is_utf16(content))
          throw DataError(name + ": holds binary data, but a pipe is read as csv; save it to a file");
        return open_csv(name, std::move(content), std::nullopt, options);
      },
      true};
}

}  // namespace zeroloss::internal
