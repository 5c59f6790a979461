#include <fmt/format.h>

#include "sources/recipe.hpp"
#include "sources/source_kind.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"

/// Points uniform on the unit sphere of R^d. y: normal = independent N(0, 1); sign = classes "-1" and "1"
/// with equal probability. A seed in the text wins over that of the options. The points are prefix-stable: n
/// = 100 gives the first 100 of n = 200. The digest is the SHA-256 of the doubles of X, then y.
namespace zeroloss::internal {
namespace {

constexpr const char* kForm = "sphere:n=..,d=..[,y=normal|sign|none][,seed=..]";

Source generate(const std::string& text, const ReadOptions& options) {
  std::int64_t n = 0, d = 0, seed = static_cast<std::int64_t>(options.seed);
  std::string targets = "normal";
  read_recipe(text, fmt::format("{}, as in sphere:n=100,d=20", kForm),
              {{"n", &n}, {"d", &d}, {"seed", &seed}, {"y", nullptr, &targets, {"normal", "sign", "none"}}});
  const auto own_seed = static_cast<std::uint64_t>(seed);
  Source source;
  source.n = n;
  source.d = d;
  require_memory(8.0 * static_cast<double>(n) * static_cast<double>(d), text, "take a smaller n");
  RowMatrix X(n, d);
  for (Index i = 0; i < n; ++i) {
    Random random(own_seed, Stream::points, static_cast<std::uint64_t>(i));
    double length = 0;
    while (length == 0) {
      for (Index j = 0; j < d; ++j) X(i, j) = random.normal();
      length = X.row(i).norm();
    }
    X.row(i) /= length;
  }
  Sha256 digest;
  digest.update(X.data(), static_cast<std::size_t>(X.size()) * sizeof(double));
  if (targets != "none") {
    Random random(own_seed, Stream::targets);
    for (Index i = 0; i < n; ++i) {
      const double y = random.normal();
      source.numbers.push_back(targets == "normal" ? y : y < 0 ? -1 : 1);
    }
    digest.update(source.numbers.data(), source.numbers.size() * sizeof(double));
    source.task = targets == "normal" ? Task::regression : Task::classification;
    source.target_name = "y=" + targets;
  }
  source.digest = digest.hex();
  source.points = rows_of(std::move(X));
  return source;
}

}  // namespace

SourceKind sphere() {
  return {SourceKind::Is::generator, kForm, "points uniform on the unit sphere",
          [](const Asked& asked) { return asked.text.starts_with("sphere:"); }, generate};
}

}  // namespace zeroloss::internal
