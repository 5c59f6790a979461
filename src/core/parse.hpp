#pragma once
#include <optional>
#include <string>

namespace zeroloss::internal {

/// The number that `text` is, all of it, as strtod reads it; nothing if it is none.
std::optional<double> parsed_number(const std::string& text);

}  // namespace zeroloss::internal
