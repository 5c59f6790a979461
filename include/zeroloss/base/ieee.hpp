#pragma once

/// What zeroloss calls proved is proved for IEEE arithmetic, in which NaN is no number, an operation is
/// rounded as written and sums keep their order. Flags that give these up are refused, here and in programs
/// that use the library: its headers compute there, too.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    (defined(__GNUC__) && !defined(__clang__) && defined(__GCC_IEC_559) && __GCC_IEC_559 == 0)
#error "zeroloss needs IEEE arithmetic: compile without -ffast-math, -Ofast and what they stand for"
#endif
