#include "tiles.hpp"

#include <cstring>

// The same loops for processors with wider vectors, where the compiler can choose at the start of the
// program.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ZEROLOSS_CHECK_WIDER __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define ZEROLOSS_CHECK_WIDER
#endif

namespace check {
namespace {

using Eight = double __attribute__((vector_size(64), aligned(8)));

ZEROLOSS_CHECK_WIDER
void lanes(const double* a, const double* b, std::size_t depth, double* c) {
  Eight sum[kLane] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    const Eight y = *reinterpret_cast<const Eight*>(b + k * kLane);
    for (std::size_t r = 0; r < kLane; ++r) {
      sum[r] += a[k * kLane + r] * y;
    }
  }
  for (std::size_t r = 0; r < kLane; ++r) {
    for (std::size_t s = 0; s < kLane; ++s) {
      c[r * kTile + s] += sum[r][s];
    }
  }
}

}  // namespace

void add_products(const Panel& a, const Panel& b, Tile& c) {
  for (std::size_t i = 0; i < kTile / kLane; ++i) {
    for (std::size_t j = 0; j < kTile / kLane; ++j) {
      lanes(a.lane(i), b.lane(j), a.depth(), &c.at(i * kLane, j * kLane));
    }
  }
}

}  // namespace check
