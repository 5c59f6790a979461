#include "zeroloss/data/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "zeroloss/core/digest.hpp"
#include "zeroloss/core/memory.hpp"
#include "zeroloss/core/random.hpp"

namespace zeroloss {
namespace {

struct Sphere {
  std::int64_t n = 0, d = 0, seed = 0;
  std::string y = "normal";
};

[[noreturn]] void fail(const std::string& text, const std::string& what) {
  throw std::invalid_argument(fmt::format(
      "'{}': {}; expected sphere:n=..,d=..[,y=normal|sign|none][,seed=..], as in sphere:n=100,d=20", text,
      what));
}

Sphere parse(const std::string& text, std::uint64_t seed) {
  Sphere sphere{.seed = static_cast<std::int64_t>(seed)};
  if (!text.starts_with("sphere:")) fail(text, "unknown generator");
  std::string_view rest = std::string_view(text).substr(7);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    if (key == "y") {
      if (value != "normal" && value != "sign" && value != "none") fail(text, fmt::format("y = '{}'", value));
      sphere.y = value;
      continue;
    }
    std::int64_t* number = key == "n"      ? &sphere.n
                           : key == "d"    ? &sphere.d
                           : key == "seed" ? &sphere.seed
                                           : nullptr;
    if (number == nullptr) fail(text, fmt::format("unknown part '{}'", item));
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *number);
    const std::int64_t least = key == "seed" ? 0 : 1;
    if (error != std::errc{} || end != value.data() + value.size() || *number < least)
      fail(text, fmt::format("{} must be an integer >= {}; got '{}'", key, least, value));
  }
  if (sphere.n == 0) fail(text, "n is missing");
  if (sphere.d == 0) fail(text, "d is missing");
  if (sphere.seed >= (std::int64_t{1} << 53))
    fail(text, fmt::format("seed must be below 2^53; got {}", sphere.seed));
  return sphere;
}

}  // namespace

Source generate(const std::string& text, std::uint64_t seed) {
  const Sphere sphere = parse(text, seed);
  const auto own_seed = static_cast<std::uint64_t>(sphere.seed);
  Source source;
  source.name = text;
  source.n = sphere.n;
  source.d = sphere.d;
  require_memory(8.0 * static_cast<double>(sphere.n) * static_cast<double>(sphere.d), text,
                 "take a smaller n");
  RowMatrix X(sphere.n, sphere.d);
  for (Index i = 0; i < sphere.n; ++i) {
    Random random(own_seed, Stream::points, static_cast<std::uint64_t>(i));
    double length = 0;
    while (length == 0) {
      for (Index j = 0; j < sphere.d; ++j) X(i, j) = random.normal();
      length = X.row(i).norm();
    }
    X.row(i) /= length;
  }
  Sha256 digest;
  digest.update(X.data(), static_cast<std::size_t>(X.size()) * sizeof(double));
  if (sphere.y != "none") {
    Random random(own_seed, Stream::targets);
    for (Index i = 0; i < sphere.n; ++i) {
      const double y = random.normal();
      source.numbers.push_back(sphere.y == "normal" ? y : y < 0 ? -1 : 1);
    }
    digest.update(source.numbers.data(), source.numbers.size() * sizeof(double));
    source.task = sphere.y == "normal" ? Task::regression : Task::classification;
    source.target_name = "y=" + sphere.y;
  }
  source.digest = digest.hex();
  source.points = rows_of(std::move(X));
  return source;
}

}  // namespace zeroloss
