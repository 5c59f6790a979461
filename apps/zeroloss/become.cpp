#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "address_space.hpp"
#include "command.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::app {

void become(const std::string& program, std::vector<std::string> arguments, const std::string& where) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  throw BackendError(path + ": cannot be started: " + std::strerror(errno) + "; " + where +
                     " (the Python package does not)");
}

// A program of its own: LibTorch takes half a second to load, which nobody should wait for who does not use
// it.
void become_torch(std::vector<std::string> arguments) {
  const Room room = room_for_torch();
  if (room == Room::none) throw ResourceError(no_room_for_torch());
  if (room == Room::one)
    for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) setenv(threads, "1", 1);
  become("zeroloss-torch", std::move(arguments), "a build of the C++ project has it");
}

}  // namespace zeroloss::app
