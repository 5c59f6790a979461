#include "torch_programs.hpp"

namespace zeroloss::app {

// Points are read, prepared and judged with libraries that are more than headers.
int run_without_conv(const std::vector<std::string>&) {
  tell(
      "zeroloss: this build of zeroloss-torch has conv alone; certify, fit, prove and sweep --device are in "
      "a build "
      "of all of zeroloss, without ZEROLOSS_TORCH_ONLY\n");
  return kMissing;
}

}  // namespace zeroloss::app
