#include "support/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace zeroloss::test {
namespace {

struct Ends {
  int read = -1, write = -1;
};

Ends make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  return {ends[0], ends[1]};
}

Ends make_terminal() {
  Ends ends;
  winsize size{};
  size.ws_col = 80;
  size.ws_row = 24;
  if (openpty(&ends.read, &ends.write, nullptr, nullptr, &size) != 0)
    throw std::runtime_error("no terminal can be opened; is /dev/pts mounted?");
  fcntl(ends.read, F_SETFD, FD_CLOEXEC);
  fcntl(ends.write, F_SETFD, FD_CLOEXEC);
  return ends;
}

[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const RunOptions& options, int out, int err) {
  const int in = open("/dev/null", O_RDONLY);
  if (!options.out_file.empty()) out = open(options.out_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const int stop : {SIGINT, SIGHUP}) std::signal(stop, SIG_DFL);  // a shell's & and nohup ignore them
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
  for (const auto& setting : options.environment) putenv(const_cast<char*>(setting.c_str()));
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(program.c_str(), argv.data());
  _exit(127);
}

// Appends what can be read; false at the end, which a terminal reports as an error.
bool drain(int descriptor, std::string& text) {
  char buffer[4096];
  const ssize_t count = read(descriptor, buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const RunOptions& options) {
  const Ends out = make_pipe(), err = options.terminal ? make_terminal() : make_pipe();
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("fork failed");
  if (process == 0) become(program, arguments, options, out.write, err.write);
  close(out.write);
  close(err.write);

  Outcome outcome;
  bool interrupted = false;
  for (pollfd ends[] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}}; ends[0].fd >= 0 || ends[1].fd >= 0;) {
    poll(ends, 2, 5);
    if (ends[0].revents != 0 && !drain(out.read, outcome.out)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !drain(err.read, outcome.err)) ends[1].fd = -1;
    if (!interrupted && options.interrupt_when && options.interrupt_when(outcome)) {
      interrupted = true;
      kill(process, options.signal);
    }
  }
  close(out.read);
  close(err.read);
  int status = 0;
  waitpid(process, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Process::Process(const std::string& program, const std::vector<std::string>& arguments,
                 const RunOptions& options)
    : process_(fork()) {
  if (process_ < 0) throw std::runtime_error("fork failed");
  if (process_ == 0) become(program, arguments, options, STDOUT_FILENO, STDERR_FILENO);
}

bool Process::kill() {
  if (process_ < 0) return false;
  ::kill(process_, SIGKILL);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFSIGNALED(status);
}

}  // namespace zeroloss::test
