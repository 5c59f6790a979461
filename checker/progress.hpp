#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace check {

// A line on the terminal for what takes more than two seconds; gone when it is done.
class Progress {
 public:
  Progress(std::string what, std::size_t steps) : what_(std::move(what)), steps_(steps) {}
  ~Progress() {
    if (shown_) {
      std::fputs("\r\033[K", stderr);
    }
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::size_t step) {
    static const bool terminal = isatty(2) != 0;
    const auto now = std::chrono::steady_clock::now();
    if (!terminal || now - last_ < std::chrono::milliseconds(shown_ ? 250 : 2000)) {
      return;
    }
    shown_ = true;
    last_ = now;
    const double part = steps_ == 0 ? 1 : static_cast<double>(step) / static_cast<double>(steps_);
    std::fprintf(stderr, "\r\033[K%s: %.0f %%", what_.c_str(), 100 * part);
  }

 private:
  std::string what_;
  std::size_t steps_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace check
