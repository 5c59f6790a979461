#include "progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "command.hpp"
#include "zeroloss/base/text.hpp"

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
void draw_line(std::string line) {
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(1, terminal_width() - 1))));
  line = printable(line);
  const std::string drawn = "\r\033[K" + line;
  std::fwrite(drawn.data(), 1, drawn.size(), stderr);
  std::fflush(stderr);
}

std::string line_of(const ProgressReport& report) {
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
  return line;
}

using Clock = std::chrono::steady_clock;

// The line, and a thread that draws it where the work is silent.
class ProgressLine {
 public:
  ProgressLine() : thread_([this] { tick(); }) {}

  ~ProgressLine() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void begin(const ProgressReport& report) {
    const std::scoped_lock lock(mutex_);
    stage_ = report.stage;
    began_ = Clock::now();
    reported_ = false;
  }

  void report(const ProgressReport& report) {
    const std::scoped_lock lock(mutex_);
    reported_ = true;
    if (report.finished) stage_.clear();
    draw_line(report.finished ? "" : line_of(report));
  }

 private:
  void tick() {
    constexpr auto kPause = std::chrono::milliseconds(500);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the other thread's
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kPause, [this] { return over_; })) {
      const double lasted = std::chrono::duration<double>(Clock::now() - began_).count();
      if (!stage_.empty() && !reported_ && lasted > 0.8)
        draw_line(fmt::format("{}  {}", stage_, duration(lasted)));
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::string stage_;  // empty between stages
  Clock::time_point began_{};
  bool reported_ = false, over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

Progress progress_on_terminal(const std::atomic<bool>& cancelled) {
  constexpr double kInterval = 0.1;
  const auto line = std::make_shared<ProgressLine>();
  return Progress([line](const ProgressReport& report) { line->report(report); }, &cancelled, kInterval,
                  [line](const ProgressReport& report) { line->begin(report); });
}

}  // namespace zeroloss::app
