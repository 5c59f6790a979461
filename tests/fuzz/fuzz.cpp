// The program that libFuzzer drives: fuzz_readers --reader=NAME [-runs=N ..] CORPUS. See run.py.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>

#include "fuzz/readers.hpp"

namespace {

const zeroloss::test::FuzzedReader* reader = nullptr;
std::filesystem::path folder;

}  // namespace

extern "C" int LLVMFuzzerInitialize(const int* count, char*** arguments) {
  constexpr const char* kFlag = "--reader=";
  for (int i = 1; i < *count; ++i)
    if (std::strncmp((*arguments)[i], kFlag, std::strlen(kFlag)) == 0)
      reader = &zeroloss::test::fuzzed_reader((*arguments)[i] + std::strlen(kFlag));
  if (reader == nullptr) {
    for (const auto& one : zeroloss::test::fuzzed_readers()) std::cout << one.name << '\n';
    std::exit(2);
  }
  // In memory where there is such a folder: no disk is worn out.
  const std::filesystem::path memory = "/dev/shm";
  std::string name =
      ((exists(memory) ? memory : std::filesystem::temp_directory_path()) / "fuzz-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::exit(2);
  folder = name;
  std::atexit([] { std::filesystem::remove_all(folder); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  zeroloss::test::read_fuzzed(*reader, {reinterpret_cast<const char*>(bytes), count}, folder);
  return 0;
}
