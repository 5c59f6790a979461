#pragma once
#include <string>

namespace zeroloss {

enum class Rounding { nearest, down, up };

/// x with `digits` significant digits ("0.0601209", "5.7e+18"), rounded as asked, so that a printed bound is
/// one too.
std::string decimal(double x, int digits, Rounding rounding = Rounding::nearest);

}  // namespace zeroloss
