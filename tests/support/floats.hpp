#pragma once
#include <limits>

namespace zeroloss::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity(),
                        kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kUnit = 0x1p-53;  ///< the unit roundoff of double

}  // namespace zeroloss::test
