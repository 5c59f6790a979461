// The passes in single precision.
#define ZEROLOSS_NUMBER float

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/engine/passes_float_simd.cpp"
#include <hwy/foreach_target.h>
#include "train/engine/passes-inl.hpp"
// clang-format on
