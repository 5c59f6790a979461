#include "command.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "signals.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/data/stop_streams.hpp"

namespace zeroloss::app {
namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// In place of the one before; to a terminal, or to nobody.
void draw_line(const std::string& line) {
  const std::string drawn = "\r\033[K" + line;
  std::fwrite(drawn.data(), 1, drawn.size(), stderr);
  std::fflush(stderr);
}

void draw(const ProgressReport& report) {
  if (report.finished) {
    draw_line("");
    return;
  }
  std::string line = report.stage;
  if (report.total > 0) {
    const int width = report.note.empty() ? 24 : 8;  // 80 columns have place for both
    const double fraction = std::clamp(report.done / report.total, 0.0, 1.0);
    const int filled = static_cast<int>(fraction * width);
    line += fmt::format("  [{}{}] {:3.0f} %", std::string(static_cast<std::size_t>(filled), '#'),
                        std::string(static_cast<std::size_t>(width - filled), ' '), 100 * fraction);
    constexpr double kNames = 1e6;  // more a second are operations of the processor, which nobody counts
    if (report.rate < kNames && report.note.empty()) line += fmt::format("  {:.3g}/s", report.rate);
    if (report.left_s >= 0) line += "  " + duration(report.left_s) + " left";
  } else {
    line += fmt::format("  {:.0f}  {}", report.done, duration(report.elapsed_s));
  }
  if (!report.note.empty()) line += "  " + in_flags(report.note);
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(1, terminal_width() - 1))));
  draw_line(printable(line));
}

}  // namespace

// Whether it could be written is found out at the end.
void write_answer(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void answer(const std::string& text) { write_answer(printable(text)); }

bool reader_gone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// Where it cannot be written there is nobody to tell, and what was done stays what it is.
void tell(const std::string& text) {
  const std::string shown = printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
  std::fflush(stderr);
}

void take_threads(const Session& session) {
  if (session.threads < 0)
    throw std::invalid_argument(fmt::format("--threads must be >= 0; got {}", session.threads));
  if (session.threads > 0) set_thread_count(session.threads);
}

double Session::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

Progress Session::progress() const {
  const std::atomic<bool>& cancelled = stop_asked();
  stop_streams(&cancelled);
  if (quiet || isatty(STDERR_FILENO) == 0) return Progress({}, &cancelled);
  return Progress(draw, &cancelled);
}

void require(const std::vector<std::string>& properties, Session& session,
             const std::function<bool(const std::string& property)>& holds) {
  std::fflush(stdout);
  for (const std::string& property : properties)
    if (!holds(property)) {
      tell(fmt::format("zeroloss: required property does not hold: {}\n", property));
      session.exit_code = kRequirementFailed;
    }
}

void tell_interrupted(const std::string& again, const char* otherwise, Session& session) {
  std::fflush(stdout);
  if (again.empty())
    tell(fmt::format("zeroloss: interrupted; {}\n", otherwise));
  else
    tell(fmt::format("zeroloss: interrupted; go on with: {}\n", again));
  session.exit_code = stopped_code();
}

std::string command_of(const Advice& call) {
  static const std::map<std::string, std::string> commands{{"conv", "conv --help"},
                                                           {"evaluate", "conv eval"},
                                                           {"fetch", "data get "},
                                                           {"predict", "conv predict"}};
  const auto found = commands.find(call.name);
  return found == commands.end() ? fmt::format("`{}({})`", call.name, call.value)
                                 : "zeroloss " + found->second + call.value;
}

std::string in_flags(const std::string& message) {
  return advised(message, [](const Advice& advice) {
    if (advice.call) return command_of(advice);
    std::string flag = advice.name == "path" || advice.name == "store" ? "out" : advice.name;
    std::ranges::replace(flag, '_', '-');
    return "--" + flag + (advice.value.empty() ? "" : " " + shell_word(advice.value));
  });
}

}  // namespace zeroloss::app
