#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <unistd.h>

#include <fmt/format.h>

#include "command.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/version.hpp"

namespace {

using namespace zeroloss::app;

// The only place that reads the environment.
std::string default_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/zeroloss";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/zeroloss";
}

int report(const char* message, int code) {
  fmt::print(stderr, "zeroloss: {}\n", message);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Session session;
  session.arguments.assign(argv, argv + argc);
  session.cache = default_cache();
  session.colour = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  std::signal(SIGPIPE, SIG_IGN);

  CLI::App app("zeroloss: neural networks that reach zero training loss, and the proof that they do", "zeroloss");
  app.set_version_flag("--version", "zeroloss " ZEROLOSS_VERSION, "Print the version and exit");
  app.set_config("--config", "", "Read options from a TOML file, as --print-config prints it")->check(CLI::ExistingFile);
  bool print_config = false;
  app.add_flag("--print-config", print_config, "Print the options in use as TOML and exit")->configurable(false);
  app.add_flag("--quiet", session.quiet, "Show no progress");
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(34);
  add_certify(app, session);
  add_data(app, session);
  add_info(app, session);
  app.parse_complete_callback([&] {
    if (!print_config) return;
    std::cout << app.config_to_str(true, false);
    throw CLI::Success();
  });

  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) return report("writing the answer failed: is the disk full?", kMissing);
    return session.exit_code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kBadUsage;
  } catch (const zeroloss::Interrupted&) {
    return report("interrupted; nothing was written", kInterrupted);
  } catch (const zeroloss::DataError& error) {
    return report(error.what(), kBadUsage);
  } catch (const std::invalid_argument& error) {
    return report(error.what(), kBadUsage);
  } catch (const zeroloss::ResourceError& error) {
    return report(error.what(), kMissing);
  } catch (const zeroloss::BackendError& error) {
    return report(error.what(), kMissing);
  } catch (const std::bad_alloc&) {
    return report("out of memory; try fewer points (--n)", kMissing);
  }
}
