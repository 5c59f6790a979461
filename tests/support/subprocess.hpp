#pragma once
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
  std::function<bool(const Outcome&)>
      interrupt_when{};  ///< asked every few ms with what was written so far; one SIGINT once true
};

/// Runs a program found in PATH or by its path, with nothing on stdin, to its end.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const RunOptions& options = {});

/// Runs the zeroloss command.
inline Outcome zeroloss(const std::vector<std::string>& arguments, const RunOptions& options = {}) {
  return run_program(ZEROLOSS_COMMAND, arguments, options);
}

}  // namespace zeroloss::test
