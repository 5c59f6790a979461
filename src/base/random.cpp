#include "zeroloss/base/random.hpp"

#include <Random123/philox.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace zeroloss {

Random::Random(std::uint64_t seed, Stream stream, std::uint64_t index) {
  if (seed >= (std::uint64_t{1} << 53))
    throw std::invalid_argument("seed must be below 2^53; got " + fmt::to_string(seed));
  // The key is the seed. Its 11 free high bits hold the stream; the upper half of the counter holds the
  // index.
  key_ = {static_cast<std::uint32_t>(seed),
          static_cast<std::uint32_t>(seed >> 32) | (static_cast<std::uint32_t>(stream) << 21)};
  counter_ = {0, 0, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)};
}

std::uint64_t Random::bits() {
  if (left_ == 0) {
    const r123::Philox4x32::ctr_type counter = {{counter_[0], counter_[1], counter_[2], counter_[3]}};
    const r123::Philox4x32::key_type key = {{key_[0], key_[1]}};
    const auto word = r123::Philox4x32{}(counter, key);
    buffer_ = {word[0] | (std::uint64_t{word[1]} << 32), word[2] | (std::uint64_t{word[3]} << 32)};
    if (++counter_[0] == 0) ++counter_[1];
    left_ = 2;
  }
  return buffer_[2 - left_--];
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 - u lies in (0, 1]
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint64_t Random::below(std::uint64_t bound) {
  if (bound == 0) throw std::invalid_argument("Random::below: bound must be >= 1; got 0");
  const std::uint64_t first = (0 - bound) % bound;  // 2^64 mod bound: values below it would be favoured
  std::uint64_t value = bits();
  while (value < first) value = bits();
  return value % bound;
}

void Random::fill_normal(Eigen::Ref<Matrix> block) {
  for (Index j = 0; j < block.cols(); ++j)
    for (Index i = 0; i < block.rows(); ++i) block(i, j) = normal();
}

}  // namespace zeroloss
