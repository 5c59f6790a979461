#include "zeroloss/core/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace zeroloss {

std::string decimal(double x, int digits, Rounding rounding) {
  const auto nearest = [digits](double value) { return fmt::format("{:.{}g}", value, digits); };
  std::string text = nearest(x);
  if (x == 0 || !std::isfinite(x) || rounding == Rounding::nearest) return text;
  const double sign = rounding == Rounding::up ? 1 : -1;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) + 1 - digits);
  // Nearest on the wrong side lies within half a unit of x, so the next one over is the one wanted.
  for (int half = 1; sign * (std::strtod(text.c_str(), nullptr) - x) < 0 && half <= 3; ++half)
    text = nearest(x + sign * half * 0.5 * unit);
  return text;
}

}  // namespace zeroloss
