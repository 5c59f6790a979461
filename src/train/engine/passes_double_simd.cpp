// The passes in double precision.
#define ZEROLOSS_NUMBER double

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/engine/passes_double_simd.cpp"
#include <hwy/foreach_target.h>
#include "train/engine/passes-inl.hpp"
// clang-format on
