#include "base/flush.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace zeroloss::internal {
namespace fs = std::filesystem;

void flush_folder(const fs::path& folder) {
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

void create_folders(const fs::path& folder) {
  std::error_code ignored;
  fs::path there = folder;
  while (!there.empty() && !fs::exists(there, ignored)) there = there.parent_path();
  fs::create_directories(folder);
  for (fs::path made = folder; made != there; made = made.parent_path()) flush_folder(made.parent_path());
}

}  // namespace zeroloss::internal
