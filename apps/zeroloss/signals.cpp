#include "signals.hpp"

#include <csignal>

namespace zeroloss::app {
namespace {

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> asked{false};
volatile std::sig_atomic_t asked_by = SIGINT;

// A second Ctrl-C ends the process. Other signals may come twice without anybody meaning it: from `timeout`,
// which tells the process and its group, or from a terminal's shell and then from the system.
void on_stop(int signal) {
  if (!asked.exchange(true, std::memory_order_relaxed)) asked_by = signal;
  if (signal == SIGINT) std::signal(SIGINT, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_asked() {
  for (const int stop : kStops)
    if (std::signal(stop, on_stop) == SIG_IGN) std::signal(stop, SIG_IGN);
  return asked;
}

int stopped_code() { return 128 + asked_by; }

void failed_writes_are_errors() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace zeroloss::app
