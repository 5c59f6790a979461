#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

/// How long work tells what it is doing, and how it is told to stop.
namespace zeroloss {

/// One report: a stage, how far it is, and what that says about the time left.
struct ProgressReport {
  std::string stage;     ///< "kernel", "Cholesky factorisation", ...
  double done = 0;       ///< in units of the stage, 0..total
  double total = 0;      ///< 0 if not known
  double elapsed_s = 0;  ///< since the stage began
  double rate = 0;       ///< done per second
  double left_s = -1;    ///< estimated seconds left in the stage; -1 if not known
  bool finished = false;
  std::string note{};  ///< what the numbers of the work are now: "loss 0.31", ...; may be empty
};

/// Passed by reference through every long function. A default one is silent and never cancels. The sink is
/// called from the thread that does the work, at most every `interval_s` seconds and at the end of each
/// stage; `begun`, if there is one, where a stage begins. The flag may be set from a signal handler or
/// another thread.
class Progress {
 public:
  using Sink = std::function<void(const ProgressReport&)>;
  Progress() = default;
  explicit Progress(Sink sink, const std::atomic<bool>* cancel = nullptr, double interval_s = 0.1,
                    Sink begun = {});

  void stage(std::string name, double total = 0);  ///< ends the stage before, begins a new one
  void advance(double amount);                     ///< adds to `done`; throws Interrupted once cancelled
  void note(std::string text) { note_ = std::move(text); }  ///< of reports from now on, in this stage
  void finish();                                            ///< ends the last stage
  bool cancelled() const { return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed); }
  void check() const;  ///< throws Interrupted once cancelled
  /// Cancelled with this one, but reports nothing: for work inside a stage.
  Progress silent() const { return Progress({}, cancel_); }

 private:
  using Clock = std::chrono::steady_clock;
  void report(bool finished);

  Sink sink_, begun_;
  const std::atomic<bool>* cancel_ = nullptr;
  double interval_s_ = 0.1;
  std::string stage_, note_;
  double done_ = 0, total_ = 0;
  Clock::time_point began_{}, reported_{};
};

}  // namespace zeroloss
