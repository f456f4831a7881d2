// SPDX-License-Identifier: Apache-2.0
#pragma once
// The instruction sets that vector code is compiled for. Include before hwy/foreach_target.h. A
// source whose vectors may have lengths that are unknown to the compiler defines
// CONVOLUME_SCALABLE_VECTORS first.

// Instruction sets between SSE2, SSE4, AVX2 and AVX-512, or beyond, gain nothing here and cost
// minutes of compilation. Other vector code keeps vectors in arrays, which scalable ones do not
// allow.
#define CONVOLUME_SKIPPED_SETS                                                             \
    (HWY_SSSE3 | CONVOLUME_SSE4 | HWY_AVX3_DL | CONVOLUME_AVX3_ZEN4 | CONVOLUME_AVX3_SPR | \
     CONVOLUME_AVX10_2)
#ifdef CONVOLUME_SCALABLE_VECTORS
#define HWY_DISABLED_TARGETS CONVOLUME_SKIPPED_SETS
#else
#define HWY_DISABLED_TARGETS \
    (CONVOLUME_SKIPPED_SETS | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include <hwy/detect_targets.h>

// Every x86-64 processor has SSE2, with which transforms are as fast as with SSE4. Older versions
// of Highway have no SSE2, and compile scalar code for processors without SSE4.
#ifdef HWY_SSE2
#define CONVOLUME_SSE4 HWY_SSE4
#else
#define CONVOLUME_SSE4 0
#endif
// Older versions of Highway have no names for these.
#ifdef HWY_AVX3_ZEN4
#define CONVOLUME_AVX3_ZEN4 HWY_AVX3_ZEN4
#else
#define CONVOLUME_AVX3_ZEN4 0
#endif
#ifdef HWY_AVX3_SPR
#define CONVOLUME_AVX3_SPR HWY_AVX3_SPR
#else
#define CONVOLUME_AVX3_SPR 0
#endif
#ifdef HWY_AVX10_2
#define CONVOLUME_AVX10_2 HWY_AVX10_2
#else
#define CONVOLUME_AVX10_2 0
#endif
