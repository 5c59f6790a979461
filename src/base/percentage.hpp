#pragma once
#include <fmt/format.h>

#include <string>

namespace zeroloss::internal {

/// A share, from 0 to 1, as "12.3 %" with `digits` digits; with more of them where it would else be 100 %
/// without being all.
inline std::string percentage(double share, int digits = 3) {
  const double percent = 100 * share;
  if (percent == 100) return "100 %";
  for (;; ++digits) {
    const std::string text = fmt::format("{:.{}g}", percent, digits);
    if (!(percent < 100 && (text == "100" || text == "1e+02"))) return text + " %";
  }
}

}  // namespace zeroloss::internal
