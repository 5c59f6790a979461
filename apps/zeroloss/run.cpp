#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <sstream>

#include "command.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::app {
namespace {

int report(const std::string& message, int code) {
  fmt::print(stderr, "zeroloss: {}\n", in_flags(message));
  return code;
}

// The options of the chosen subcommand as TOML, defaults included; those without a value are left out.
std::string config_text(const CLI::App& app) {
  std::string chosen;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    chosen += at->get_name() + ".";
  }
  std::istringstream lines(app.config_to_str(true, false));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(chosen, 0) == 0 && !line.ends_with("=\"\"")) text += line + "\n";
  return text;
}

// Who reads a pipe may stop when he has enough.
bool reader_gone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// Parses the command line, runs the subcommand and turns what it throws into an exit code and a message.
int parse(CLI::App& app, const Session& session) {
  std::vector<const char*> argv;
  for (const std::string& argument : session.arguments) argv.push_back(argument.c_str());
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
    return session.exit_code;
  } catch (const CLI::RequiredError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty())
      return report(fmt::format("'{}' is not a subcommand; see --help", app.remaining().front()), kBadUsage);
    app.exit(error);
    return kBadUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kBadUsage;
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

  CLI::App app(program.description, program.name);
  app.set_version_flag("--version", "zeroloss " ZEROLOSS_VERSION, "Print the version and exit");
  app.set_config("--config", "", "Read options from a TOML file, as --print-config prints it [none]")
      ->check(CLI::ExistingFile);
  app.allow_config_extras(CLI::config_extras_mode::error);
  bool print_config = false;
  app.add_flag("--print-config", print_config, "Print the options in use as TOML and exit [off]")
      ->configurable(false);
  app.add_flag("--quiet", session.quiet, "Show no progress [off]");
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("zeroloss: {}; see --help\n", error.what());
  });
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(34);
  const Command root(app);
  for (const Entry& entry : program.commands) {
    Command command = root.subcommand(entry.name);
    entry.add(command, session);
  }
  app.parse_complete_callback([&] {
    if (!print_config) return;
    std::cout << config_text(app);
    throw CLI::Success();
  });

  const int code = parse(app, session);
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || code == kMissing || reader_gone()) return code;
  return report("writing the answer failed: is the disk full?", kMissing);
}

}  // namespace zeroloss::app
