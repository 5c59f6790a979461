// The small trainer's steps in double precision.
#define ZEROLOSS_NUMBER double

// Arrays of vectors need vectors of a size known to the compiler: on ARM's SVE, NEON is used.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/engine/small_trainer_double_simd.cpp"
#include <hwy/foreach_target.h>
#include "train/engine/small_trainer-inl.hpp"
// clang-format on
