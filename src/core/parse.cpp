#include "core/parse.hpp"

#include <cstdlib>

namespace zeroloss::internal {

std::optional<double> parsed_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

}  // namespace zeroloss::internal
