// SPDX-License-Identifier: Apache-2.0
#pragma once
// Highway, restricted to what the vector code here is written for. Included before
// hwy/foreach_target.h.

// The networks keep vectors in arrays, which the sizeless types of scalable vectors forbid; the
// targets between SSE4, AVX2 and AVX-512 gain nothing here and cost compile time.
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
