#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>

#include "command.hpp"
#include "signals.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::app {
namespace {

int report(const std::string& message, int code) {
  tell(fmt::format("zeroloss: {}\n", in_flags(message)));
  return code;
}

constexpr int kSignals = 128;  // exit codes from here on are of stopped processes

// Runs the subcommand and turns what it throws into an exit code and a message.
int parse(const Parser& parser, const Session& session, std::size_t words) {
  try {
    const auto own = session.arguments.begin() + static_cast<std::ptrdiff_t>(words - 1);
    return parser.parse({own, session.arguments.end()}) ? session.exit_code : kBadUsage;
  } catch (const Interrupted&) {
    // Whoever launched several processes ends them all when one fails, which has said why.
    if (session.group.size() > 1 && stopped_code() == kSignals + SIGTERM) return stopped_code();
    // A run that was resumed is as it was.
    const bool again = std::ranges::find(session.arguments, "--resume") != session.arguments.end();
    return report(again ? "interrupted; go on with: " + shell_command(session.arguments) : "interrupted",
                  stopped_code());
  } catch (const DataError& error) {
    return report(error.what(), kBadUsage);
  } catch (const std::invalid_argument& error) {
    return report(parser.as_typed(error.what()), kBadUsage);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(fmt::format("{}: {}", error.path1().string(), error.code().message()), kBadUsage);
  } catch (const std::bad_alloc&) {
    return report("out of memory; try fewer points (--n)", kMissing);
  } catch (const std::exception& error) {  // ResourceError, BackendError, a system call that failed
    return report(error.what(), kMissing);
  }
}

}  // namespace

int run(const Program& program, const std::vector<std::string>& arguments, const std::string& cache,
        const Group& group) {
  Session session;
  session.group = group;
  session.engine = program.engine;
  session.descents = program.descents;
  session.tangents = program.tangents;
  session.graphs = program.graphs;
  session.arguments = arguments;
  session.cache = cache;
  failed_writes_are_errors();

  const Parser parser(program.description, program.name);
  session.text = [&parser] { return parser.text(); };
  const Command root = parser.root();
  root.flag("--quiet", session.quiet, "Show no progress [off]");
  if (program.threads)
    root.option("--threads", session.threads,
                "Threads of the processor, >= 1; 0 = all, small work takes one");
  for (const Entry& entry : program.commands) {
    Command command = root.subcommand(entry.name);
    entry.add(command, session);
  }

  const int code = parse(parser, session, program.words);
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  // Who was asked to stop has said so, maybe to a terminal that is no more.
  if (written || code == kMissing || code >= kSignals || reader_gone()) return code;
  return report("writing the answer failed: is the disk full?", kMissing);
}

}  // namespace zeroloss::app
