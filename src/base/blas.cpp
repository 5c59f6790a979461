#include "zeroloss/base/blas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <hwy/targets.h>

#include <bit>
#include <mutex>

namespace zeroloss {
namespace {

// OpenBLAS answers questions that the BLAS interface has no words for. Other libraries do not have these
// symbols.
template <class Function>
Function* symbol(const char* name) {
  const std::string full = std::string(ZEROLOSS_BLAS_PREFIX) + name;
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, full.c_str()));
}

// Bits of the vectors that a kernel of OpenBLAS was written for; 0 if unknown.
int vector_bits(const std::string& kernel) {
  for (const char* name : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    if (kernel == name) return 512;
  for (const char* name :
       {"Haswell", "Zen", "Excavator", "Sandybridge", "Bulldozer", "Piledriver", "Steamroller"})
    if (kernel == name) return 256;
  for (const char* name : {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Barcelona",
                           "Bobcat", "Athlon", "Opteron", "Opteron_SSE3", "Northwood", "Katmai", "Generic"})
    if (kernel == name) return 128;
  return 0;
}

int processor_vector_bits() {
  const auto targets = hwy::SupportedTargets();
  if (targets & (HWY_AVX3 | HWY_AVX3_DL)) return 512;
  return targets & HWY_AVX2 ? 256 : 128;
}

// OpenBLAS has one thread count for the process: the first SerialBlas saves it, the last one restores it, on
// whichever threads they live.
std::mutex serial_mutex;
int serial_alive = 0;
int threads_before = 0;  // 0: not changed

}  // namespace

BlasInfo blas_info() {
  BlasInfo info{"unknown", "unknown", "unknown", "", ""};
  auto* config = symbol<char*()>("openblas_get_config");
  if (config == nullptr) return info;
  info.library = config();
  if (auto* kernel = symbol<char*()>("openblas_get_corename")) info.kernel = kernel();
  if (auto* threading = symbol<int()>("openblas_get_parallel")) {
    constexpr const char* kNames[] = {"serial", "pthreads", "OpenMP"};
    info.threading = kNames[threading() & 3];
  }
  const int kernel_bits = vector_bits(info.kernel), processor_bits = processor_vector_bits();
  if (kernel_bits == 0 || kernel_bits >= processor_bits) return info;
  info.better_kernel = processor_bits == 512 ? "SkylakeX" : "Haswell";
  info.warning = fmt::format(
      "OpenBLAS runs its {} kernels ({}-bit vectors) on a processor with {}-bit vectors, which it does not "
      "know. Set OPENBLAS_CORETYPE={} or install a newer OpenBLAS.",
      info.kernel, kernel_bits, processor_bits, info.better_kernel);
  return info;
}

std::string simd_target() {
  const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(targets)));
}

SerialBlas::SerialBlas() {
  const std::lock_guard lock(serial_mutex);
  if (serial_alive++ > 0) return;
  auto* threading = symbol<int()>("openblas_get_parallel");
  auto* threads = symbol<int()>("openblas_get_num_threads");
  auto* set_threads = symbol<void(int)>("openblas_set_num_threads");
  constexpr int kOwnPool = 1;
  if (threading == nullptr || threads == nullptr || set_threads == nullptr || threading() != kOwnPool) return;
  threads_before = threads();
  set_threads(1);
}

SerialBlas::~SerialBlas() {
  const std::lock_guard lock(serial_mutex);
  if (--serial_alive > 0 || threads_before == 0) return;
  symbol<void(int)>("openblas_set_num_threads")(threads_before);
  threads_before = 0;
}

}  // namespace zeroloss
