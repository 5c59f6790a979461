#pragma once
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

namespace zeroloss::test {

inline Progress silent;

struct Sampled {
  Matrix F;                    ///< outputs, n x c
  std::vector<Index> classes;  ///< that the outputs say
  std::vector<Index> labels;   ///< of which some are wrong
};

}  // namespace zeroloss::test
