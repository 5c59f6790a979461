#include "data/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

/// p of "noise:p"; -1 if it is not of this form.
double noise_of(const std::string& labels) {
  if (!labels.starts_with("noise:")) return -1;
  const double p = parsed_number(std::string_view(labels).substr(6)).value_or(-1);
  return p >= 0 && p <= 1 ? p : -1;
}

void randomize(Vector& y, std::uint64_t classes, Random random) {
  const auto n = static_cast<std::uint64_t>(y.size());
  for (std::uint64_t i = 0; i < n; ++i) {
    if (classes > 0)
      y(static_cast<Index>(i)) = static_cast<double>(random.below(classes));
    else
      std::swap(y(static_cast<Index>(i)), y(static_cast<Index>(i + random.below(n - i))));
  }
}

void add_noise(Vector& y, std::uint64_t classes, double p, Random random) {
  const auto n = static_cast<std::uint64_t>(y.size());
  const Vector given = y;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (random.uniform() >= p) continue;
    double& label = y(static_cast<Index>(i));
    if (classes > 0) {
      const std::uint64_t other = random.below(classes - 1);
      label = static_cast<double>(other + (other >= static_cast<std::uint64_t>(label) ? 1 : 0));
    } else if (n > 1) {
      const std::uint64_t other = random.below(n - 1);
      label = given(static_cast<Index>(other + (other >= i ? 1 : 0)));
    }
  }
}

}  // namespace

void check_choice(const std::string& function, Index n, const std::string& labels, std::uint64_t seed) {
  if (n < 0)
    throw std::invalid_argument(fmt::format("{}: n must be >= 1, or 0 for all; got {}", function, n));
  Random(seed, Stream::shuffle);  // checks the seed
  if (labels != "given" && labels != "random" && noise_of(labels) < 0)
    throw std::invalid_argument(fmt::format(
        "{}: labels must be given, random or noise:p with p in [0, 1]; got '{}'", function, excerpt(labels)));
}

std::vector<Index> records_of_classes(const std::string& source, const std::vector<Index>& of,
                                      const std::vector<std::string>& names,
                                      const std::vector<std::string>& wanted,
                                      const std::vector<Index>& among) {
  std::vector<bool> is_wanted(names.size());
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      throw DataError(
          fmt::format("{}: no class '{}'; its classes are {}", source, excerpt(name), excerpt(names)));
    is_wanted[static_cast<std::size_t>(found - names.begin())] = true;
  }
  std::vector<Index> records;
  for (const Index i : among)
    if (is_wanted[static_cast<std::size_t>(of[static_cast<std::size_t>(i)])]) records.push_back(i);
  return records;
}

void keep(std::vector<Index>& records, const std::string& source, Index n, bool shuffle, std::uint64_t seed,
          const std::vector<std::string>& classes) {
  const auto found = static_cast<Index>(records.size());
  if (n > found)
    throw DataError(fmt::format("{}: n = {} points were asked for, but there are {}{}", source, n, found,
                                classes.empty() ? "" : fmt::format(" of the classes {}", excerpt(classes))));
  const auto kept = static_cast<std::size_t>(n == 0 ? found : n);
  if (shuffle) {  // Fisher-Yates as far as needed
    Random random(seed, Stream::shuffle);
    for (std::size_t i = 0; i < kept; ++i)
      std::swap(records[i], records[i + random.below(records.size() - i)]);
  }
  records.resize(kept);
}

void treat_labels(Vector& y, Index classes, const std::string& labels, std::uint64_t seed) {
  const auto c = static_cast<std::uint64_t>(classes);
  if (labels == "random") randomize(y, c, Random(seed, Stream::labels));
  if (labels.starts_with("noise:")) add_noise(y, c, noise_of(labels), Random(seed, Stream::noise));
}

}  // namespace zeroloss::internal
