#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// Seeded random numbers whose values depend on nothing but (seed, stream, index): not on threads, order or
/// platform.
namespace zeroloss {

/// What a stream is for. Every purpose has numbers of its own, so adding one draw never shifts another.
enum class Stream : std::uint32_t {
  points = 1,
  targets,
  labels,
  noise,
  shuffle,
  probes,
  weights,
  start,
  signs,
  batches,
  projection,
  memorizer,
  augment,
  patches,
  supposed,  ///< labels, as probabilities have them
  choice     ///< of some points for all
};

/// One stream of Philox4x32-10 (Salmon et al., SC 2011). Seeds lie in [0, 2^53); `index` tells apart the
/// members of a family (class 3 of ten, trial 17, ...). Throws std::invalid_argument for a larger seed.
class Random {
 public:
  Random(std::uint64_t seed, Stream stream, std::uint64_t index = 0);

  std::uint64_t bits();                        ///< 64 uniform bits
  double uniform();                            ///< in [0, 1), a multiple of 2^-53
  double normal();                             ///< N(0, 1), Box-Muller
  std::uint64_t below(std::uint64_t bound);    ///< uniform on 0..bound-1, unbiased; bound >= 1
  void fill_normal(Eigen::Ref<Matrix> block);  ///< column by column

 private:
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint64_t, 2> buffer_{};
  int left_ = 0;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Fisher-Yates, from the end: every order is equally likely.
template <class T>
void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t k = values.size(); k > 1; --k) std::swap(values[k - 1], values[random.below(k)]);
}

}  // namespace zeroloss
