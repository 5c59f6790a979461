#include "audit/draw.hpp"

#include <algorithm>
#include <numeric>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {

std::vector<Index> internal::draw_rows(Index n, Index count, std::uint64_t seed, Drawn purpose) {
  std::vector<Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Index{0});
  if (count >= n) return all;
  Random random(seed, Stream::shuffle, static_cast<std::uint64_t>(purpose));
  for (Index k = 0; k < count; ++k)
    std::swap(all[static_cast<std::size_t>(k)],
              all[static_cast<std::size_t>(k) + random.below(static_cast<std::uint64_t>(n - k))]);
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Index> draw_samples(Index n, Index count, std::uint64_t seed) {
  return internal::draw_rows(n, count, seed, internal::Drawn::checked);
}

}  // namespace zeroloss
