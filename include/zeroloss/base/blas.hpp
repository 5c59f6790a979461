#pragma once
#include <string>

/// Which BLAS and LAPACK this process runs, and how it shares the processor with our own threads.
namespace zeroloss {

struct BlasInfo {
  std::string library;    ///< "OpenBLAS 0.3.21 ...", or "unknown" for a library that does not tell
  std::string kernel;     ///< "SkylakeX", "Haswell", ..; "unknown"
  std::string threading;  ///< serial | pthreads | OpenMP | unknown
  std::string warning;    ///< empty, or why products run slower than this processor allows, and what to do
  std::string better_kernel;  ///< then also the kernel that OPENBLAS_CORETYPE should name
};
BlasInfo blas_info();

/// Vector instructions in use by the library's own kernels ("AVX3_SPR", "AVX2", ..).
std::string simd_target();

/// While one of these lives, BLAS calls made from several of our threads at once each run on one thread. An
/// OpenMP BLAS does so by itself inside a parallel region; one with a thread pool of its own must be told,
/// for all threads of the process: lives may overlap in any order, and the last one to end restores what was.
class SerialBlas {
 public:
  SerialBlas();
  ~SerialBlas();
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;
};

}  // namespace zeroloss
