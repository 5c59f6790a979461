#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>

#include "command.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss::app {
namespace {

int report(const std::string& message, int code) {
  fmt::print(stderr, "zeroloss: {}\n", in_flags(message));
  return code;
}

// Who reads a pipe may stop when he has enough.
bool reader_gone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// Runs the subcommand and turns what it throws into an exit code and a message.
int parse(const Parser& parser, const Session& session) {
  try {
    return parser.parse(session.arguments) ? session.exit_code : kBadUsage;
  } catch (const Interrupted&) {
    return report("interrupted", kInterrupted);
  } catch (const DataError& error) {
    return report(error.what(), kBadUsage);
  } catch (const std::invalid_argument& error) {
    return report(error.what(), kBadUsage);
  } catch (const std::bad_alloc&) {
    return report("out of memory; try fewer points (--n)", kMissing);
  } catch (const std::exception& error) {  // ResourceError, BackendError, a system call that failed
    return report(error.what(), kMissing);
  }
}

}  // namespace

int run(const Program& program, const std::vector<std::string>& arguments, const std::string& cache) {
  Session session;
  session.arguments = arguments;
  session.cache = cache;
  std::signal(SIGPIPE, SIG_IGN);

  const Parser parser(program.description, program.name);
  const Command root = parser.root();
  root.flag("--quiet", session.quiet, "Show no progress [off]");
  for (const Entry& entry : program.commands) {
    Command command = root.subcommand(entry.name);
    entry.add(command, session);
  }

  const int code = parse(parser, session);
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || code == kMissing || reader_gone()) return code;
  return report("writing the answer failed: is the disk full?", kMissing);
}

}  // namespace zeroloss::app
