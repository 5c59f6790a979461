#pragma once
#include <sys/types.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace zeroloss::test {

/// What a program left behind. `exit_code` is 128 + the signal's number if a signal ended it.
struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

struct RunOptions {
  std::vector<std::string> environment{};  ///< "NAME=value", added to ours
  std::string folder{};                    ///< where it runs; empty = here
  std::string out_file{};                  ///< stdout goes there and is not captured
  bool terminal = false;                   ///< stderr is a terminal of 80 columns
  /// Asked every few ms with what was written so far; one `signal` once true.
  std::function<bool(const Outcome&)> interrupt_when{};
  int signal = SIGINT;
};

/// Runs a program found in PATH or by its path, with nothing on stdin, to its end.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const RunOptions& options = {});

/// A program that runs beside the test, with our stdout and stderr, until it ends or this is destroyed.
class Process {
 public:
  /// Of the options, `environment` and `folder` count.
  Process(const std::string& program, const std::vector<std::string>& arguments,
          const RunOptions& options = {});
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Ends it as a power cut would; false if it had ended before.
  bool kill();

 private:
  pid_t process_ = -1;
};

}  // namespace zeroloss::test
