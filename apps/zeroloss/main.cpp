#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <sstream>
#include <string_view>

#include "command.hpp"
#include "zeroloss/core/blas.hpp"
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

// OpenBLAS chooses its kernels while it is loaded, from a table of processors; a newer one gets kernels
// several times too slow. It starts its threads then too, which spin for some 20 ms before they sleep; a
// sweep, whose trials are its threads, has no use for them. So the program starts again with the kernels that
// its vector instructions allow, and for a sweep without such threads.
void restart_with_better_blas(int argc, char** argv) {
  bool changed = false;
  const auto set = [&](const char* variable, const std::string& value) {
    if (!value.empty() && std::getenv(variable) == nullptr)
      changed |= setenv(variable, value.c_str(), 0) == 0;
  };
  const bool sweep = argc > 1 && std::string_view(argv[1]) == "sweep";
  set("OPENBLAS_CORETYPE", zeroloss::blas_info().better_kernel);
  set("OPENBLAS_NUM_THREADS", sweep ? "1" : "");
  if (changed) execv("/proc/self/exe", argv);
  // It returns only where that is not possible: slower, but right.
}

int report(const char* message, int code) {
  fmt::print(stderr, "zeroloss: {}\n", message);
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

// Parses the command line, runs the subcommand and turns what it throws into an exit code and a message.
int run(CLI::App& app, const Session& session, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return session.exit_code;
  } catch (const CLI::RequiredError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty())
      return report(fmt::format("'{}' is not a subcommand; see --help", app.remaining().front()).c_str(),
                    kBadUsage);
    app.exit(error);
    return kBadUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kBadUsage;
  } catch (const zeroloss::Interrupted&) {
    return report("interrupted", kInterrupted);
  } catch (const zeroloss::DataError& error) {
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

int main(int argc, char** argv) {
  restart_with_better_blas(argc, argv);
  Session session;
  session.arguments.assign(argv, argv + argc);
  session.cache = default_cache();
  std::signal(SIGPIPE, SIG_IGN);

  CLI::App app("zeroloss: neural networks that reach zero training loss, and the proof that they do",
               "zeroloss");
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
  add_certify(app, session);
  add_fit(app, session);
  add_sweep(app, session);
  add_linear(app, session);
  add_memorize(app, session);
  add_predict(app, session);
  add_export(app, session);
  add_report(app, session);
  add_data(app, session);
  add_info(app, session);
  app.parse_complete_callback([&] {
    if (!print_config) return;
    std::cout << config_text(app);
    throw CLI::Success();
  });

  const int code = run(app, session, argc, argv);
  std::cout.flush();
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || errno == EPIPE || code == kMissing)
    return code;  // who reads a pipe may stop when he has enough
  return report("writing the answer failed: is the disk full?", kMissing);
}
