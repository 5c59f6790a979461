#include <unistd.h>

#include <charconv>
#include <cmath>

#include "kinds.hpp"
#include "verdict.hpp"

namespace check {
namespace {

// The shortest of at least six digits that is on the right side of x.
std::string rounded(double x, bool upwards) {
  for (int digits = 6; digits <= 17; ++digits) {
    double moved = x;
    for (int attempt = 0; attempt < 3 && digits < 17; ++attempt) {
      char text[64];
      const auto end = std::to_chars(text, text + sizeof text, moved, std::chars_format::general, digits).ptr;
      double read = 0;
      std::from_chars(text, end, read);
      if (upwards ? read >= x : read <= x) {
        return std::string(text, end);
      }
      const double step = 0.6 * std::pow(10, std::floor(std::log10(std::fabs(x))) + 1 - digits);
      moved = upwards ? x + step : x - step;
    }
  }
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof text, x).ptr);
}

}  // namespace

std::string up(double x) { return rounded(x, true); }
std::string down(double x) { return rounded(x, false); }

bool fits_memory(std::size_t n, double bytes_an_entry) {
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return static_cast<double>(n) * static_cast<double>(n) * bytes_an_entry <= 0.8 * there;
}

void expect_memory(std::size_t n, double bytes_an_entry) {
  if (!fits_memory(n, bytes_an_entry)) {
    throw Open("the size: memory does not suffice for " + std::to_string(n) + " points or rows");
  }
}

}  // namespace check
