#include <cstdlib>
#include <cstring>
#include <string_view>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "conv_options.hpp"
#include "torch_programs.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss::app {
namespace {

/// A number of the environment; `otherwise` if it is not there.
int variable(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const auto value = parsed_integer<int>(text);
  if (!value)
    throw std::invalid_argument(std::string("environment variable ") + name + " is no number: " + text);
  return *value;
}

}  // namespace

ConvProcess process_of_environment() {
  ConvProcess process;
  process.world = variable("WORLD_SIZE", 1);
  process.rank = variable("RANK", 0);
  process.local_rank = variable("LOCAL_RANK", process.rank);
  process.local_world = variable("LOCAL_WORLD_SIZE", 1);
  process.port = variable("MASTER_PORT", process.port);
  if (const char* address = std::getenv("MASTER_ADDR")) process.address = address;
  if (const char* store = std::getenv("TORCHELASTIC_USE_AGENT_STORE"))
    process.store_runs = std::strcmp(store, "True") == 0;
  return process;
}

}  // namespace zeroloss::app

namespace {

using namespace zeroloss;
using namespace zeroloss::app;

const Program kConv{"zeroloss conv",
                    "zeroloss conv: all-convolutional residual networks without normalisation",
                    {{"train", add_conv_train},
                     {"eval", add_conv_evaluate},
                     {"predict", add_conv_predict},
                     {"completion", add_completion},
                     {"man", add_man}},
                    /*threads=*/false,
                    nullptr,
                    nullptr,
                    nullptr,
                    nullptr,
                    /*words=*/2};

/// What a step of training frees the next one needs: glibc would give it back to the system and fault it in
/// again, page by page, which takes a twentieth of the time.
void keep_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most there is
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);  // what threads other than the first keep in any case
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  const bool conv = argc > 1 && std::string_view(argv[1]) == "conv";
  const std::vector<std::string> arguments(argv, argv + argc);
  return conv ? run(kConv, arguments, default_cache()) : run_without_conv(arguments);
}
