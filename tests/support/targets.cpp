#include "support/targets.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

namespace zeroloss::test {
namespace {

std::int64_t asked() {
  const char* name = std::getenv("ZEROLOSS_TEST_TARGET");
  if (name == nullptr) return 0;
  std::string known;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == std::string(hwy::TargetName(target))) {
      std::cout << "Instruction set: " << name << '\n';
      return target;
    }
    known += std::string(" ") + hwy::TargetName(target);
  }
  std::cerr << "ZEROLOSS_TEST_TARGET: this processor has no " << name << "; it has" << known << '\n';
  std::exit(2);
}

const std::int64_t kAsked = asked();  // 0: the best that the processor has
const UseTarget kAlways(kAsked);

}  // namespace

void UseTarget::choose(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target != 0 ? target : kAsked);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace zeroloss::test
