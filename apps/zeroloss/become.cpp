#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "address_space.hpp"
#include "command.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::app {

// The folder of the program that this code is part of, or of the extension of Python. Of a program dladdr has
// only the word that it was called by.
static std::filesystem::path own_folder() {
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) != 0 && std::string_view(info.dli_fname).ends_with(".so"))
    return std::filesystem::canonical(info.dli_fname).parent_path();
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

void become(const std::string& program, std::vector<std::string> arguments, const std::string& where) {
  const std::string path = own_folder() / program;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  throw BackendError(path + ": cannot be started: " + std::strerror(errno) + "; " + where);
}

// A program of its own: LibTorch takes half a second to load, which nobody should wait for who does not use
// it.
void become_torch(std::vector<std::string> arguments) {
  const Room room = room_for_torch();
  if (room == Room::none) throw ResourceError(no_room_for_torch());
  if (room == Room::one)
    for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) setenv(threads, "1", 1);
  become("zeroloss-torch", std::move(arguments),
         "a build of the C++ project has it (the Python package does not)");
}

}  // namespace zeroloss::app
