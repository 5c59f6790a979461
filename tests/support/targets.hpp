#pragma once
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>

/// Run-time dispatch to one instruction set after the other; or to one for a whole program, where
/// ZEROLOSS_TEST_TARGET is its name, as `zeroloss info` has it.
namespace zeroloss::test {

/// Has a fused multiply-add.
inline bool fuses(std::int64_t target) {
#if HWY_ARCH_X86
  return (target & (HWY_SSSE3 | HWY_SSE4 | HWY_SCALAR | HWY_EMU128)) == 0;
#else
  return (target & (HWY_SCALAR | HWY_EMU128)) == 0;
#endif
}

inline bool best_target_fuses() { return fuses(hwy::SupportedAndGeneratedTargets().front()); }

/// Dispatch goes to `target` as long as this lives.
class UseTarget {
 public:
  explicit UseTarget(std::int64_t target) { choose(target); }
  ~UseTarget() { choose(0); }
  UseTarget(const UseTarget&) = delete;
  UseTarget& operator=(const UseTarget&) = delete;

 private:
  static void choose(std::int64_t target);
};

/// f(target) with dispatch to that target, for each one this machine has.
template <class F>
void on_each_target(const F& f) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const UseTarget use(target);
    SCOPED_TRACE(hwy::TargetName(target));
    f(target);
  }
}

}  // namespace zeroloss::test
