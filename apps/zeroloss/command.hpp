#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "command_text.hpp"
#include "options.hpp"
#include "zeroloss/base/advice.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/graph/engine.hpp"
#include "zeroloss/kernel/engine.hpp"
#include "zeroloss/network/descents.hpp"
#include "zeroloss/network/tangent_steps.hpp"
#include "zeroloss/processes/process_group.hpp"

/// What the subcommands share: one short file each, that parses options, calls one library function and
/// prints.
namespace zeroloss::app {

/// Exit codes of the command. One that was asked to stop ends with stopped_code() instead.
enum Exit { kDone = 0, kRequirementFailed = 1, kBadUsage = 2, kMissing = 3 };

/// The process as a subcommand sees it. Only the programs read the environment.
struct Session {
  /// Where a program does heavy work about kernels: `device` is that of --device, "" where none is named,
  /// `block` that of --block.
  using Engines = std::unique_ptr<Engine> (*)(Session&, const std::string& device, Index block);
  /// Where it trains many networks at once; null: in this process, and those beside it.
  using Descents = std::unique_ptr<DescentEngine> (*)(Session&, const std::string& device);
  /// Where it takes steps that solve with n x n matrices; null: in this process.
  using Tangents = std::unique_ptr<TangentEngine> (*)(Session&, const std::string& device);
  /// Where it evaluates graphs at many samples; null: in this process.
  using Graphs = std::shared_ptr<const GraphEngine> (*)(Session&, const std::string& device);

  std::vector<std::string> arguments;  ///< the command line, for the manifest
  std::string cache;                   ///< default of --cache: XDG_CACHE_HOME/zeroloss
  bool quiet = false;                  ///< --quiet: no progress
  int threads = 0;                     ///< --threads; 0 = all
  Group group{};                       ///< the processes that work together; this one leads
  Engines engine = nullptr;            ///< of Program
  Descents descents = nullptr;         ///< of Program
  Tangents tangents = nullptr;         ///< of Program
  Graphs graphs = nullptr;             ///< of Program
  int exit_code = kDone;
  std::function<CommandText()> text{};  ///< what the program's commands say of themselves
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  /// Since the program began: what an answer says it took, from the reading of the data on.
  double seconds() const;
  Progress progress()
      const;  ///< a bar on stderr if that is a terminal and not quiet; stops as stop_asked() says
};

/// Says each of --require that does not hold; then the exit code is kRequirementFailed.
void require(const std::vector<std::string>& properties, Session& session,
             const std::function<bool(const std::string& property)>& holds);

/// Says that the run was interrupted and which command goes on with it (`again`: empty if none can), or how
/// one could have been. The exit code is stopped_code().
void tell_interrupted(const std::string& again, const char* otherwise, Session& session);

/// A row of a program's register: the name of a command, and what describes it and says what it runs.
struct Entry {
  const char* name;
  void (*add)(Command&, Session&);
};

// Of every program.
void add_completion(Command& command, Session& session);
void add_man(Command& command, Session& session);

struct Program {
  std::string name, description;
  std::vector<Entry> commands;  ///< in the order of --help
  bool threads = true;          ///< --threads is for all of them
  Session::Engines engine = nullptr;
  Session::Descents descents = nullptr;
  Session::Tangents tangents = nullptr;
  Session::Graphs graphs = nullptr;
  std::size_t words = 1;  ///< of the arguments, that name the program
};

/// A program beside this one takes over, with these arguments, the first of which names it; `where` says who
/// has it. Returns only to throw BackendError.
[[noreturn]] void become(const std::string& program, std::vector<std::string> arguments,
                         const std::string& where);

/// The program beside this one that loads LibTorch takes over, with these arguments (the first is this
/// program's name); returns only to throw BackendError.
[[noreturn]] void become_torch(std::vector<std::string> arguments);

/// Runs `arguments`, the program's own name first: prints the answer, and returns the exit code. `cache` is
/// the default of --cache. Signals (signals.hpp) are its own from here on. The others of the group serve().
int run(const Program& program, const std::vector<std::string>& arguments, const std::string& cache,
        const Group& group = {});

/// The same for the program zeroloss.
int run(const std::vector<std::string>& arguments, const std::string& cache, const Group& group = {});

/// XDG_CACHE_HOME/zeroloss, as the environment says.
std::string default_cache();

/// How many processes mpirun or srun says that it started; 0 where there was neither.
int launched_processes();

/// To standard output, and to standard error: texts that may quote data, in which nothing speaks to a
/// terminal.
void answer(const std::string& text);
void write_answer(const std::string& text);  ///< as it is, for other programs
bool reader_gone();  ///< whoever reads standard output has closed it: he may, when he has enough
void tell(const std::string& text);

/// What a message of the library advises, as one types it here: `max_steps=9` becomes --max-steps 9.
std::string in_flags(const std::string& message);

/// The command that is a call which a message advises: `fetch(mnist)` is zeroloss data get mnist. A call that
/// it does not know stays as it is: errors are put into words by it.
std::string command_of(const Advice& call);

}  // namespace zeroloss::app
