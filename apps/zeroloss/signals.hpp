#pragma once
#include <atomic>

/// What the system may tell the process, and what becomes of it.
namespace zeroloss::app {

/// True once a signal has asked for a stop: Ctrl-C (SIGINT), SIGTERM, or a terminal that is closed (SIGHUP).
/// Work stops at the next safe point; a second Ctrl-C ends the process. A signal that whoever started us has
/// ignored (nohup) stays ignored.
const std::atomic<bool>& stop_asked();

/// The exit code of a process that has stopped because it was asked to: 128 + the signal, as shells have it.
int stopped_code();

/// Writing to a pipe that nobody reads, or a file beyond its limit, is then an error of that write.
void failed_writes_are_errors();

}  // namespace zeroloss::app
