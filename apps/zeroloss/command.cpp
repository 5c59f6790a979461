#include "command.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "progress_line.hpp"
#include "signals.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/data/stop_streams.hpp"

namespace zeroloss::app {

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
  return progress_on_terminal(cancelled);
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
