#include "zeroloss/base/progress.hpp"

#include <algorithm>
#include <utility>

#include "zeroloss/base/error.hpp"

namespace zeroloss {

Progress::Progress(Sink sink, const std::atomic<bool>* cancel, double interval_s, Sink begun)
    : sink_(std::move(sink)), begun_(std::move(begun)), cancel_(cancel), interval_s_(interval_s) {}

void Progress::stage(std::string name, double total) {
  finish();
  check();
  stage_ = std::move(name);
  note_.clear();
  done_ = 0;
  total_ = total;
  began_ = reported_ = Clock::now();
  if (begun_) begun_({.stage = stage_, .total = total_});
}

void Progress::advance(double amount) {
  check();
  done_ += amount;
  if (!sink_ || stage_.empty()) return;
  const auto now = Clock::now();
  if (std::chrono::duration<double>(now - reported_).count() < interval_s_) return;
  reported_ = now;
  report(false);
}

void Progress::finish() {
  if (sink_ && !stage_.empty()) report(true);
  stage_.clear();
}

void Progress::check() const {
  if (cancelled()) throw Interrupted();
}

void Progress::report(bool finished) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - began_).count();
  const double rate = elapsed > 0 ? done_ / elapsed : 0;
  const double left = total_ > 0 && rate > 0 ? std::max(0.0, total_ - done_) / rate : -1;
  sink_({stage_, done_, total_, elapsed, rate, finished ? 0 : left, finished, note_});
}

}  // namespace zeroloss
