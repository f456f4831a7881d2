// SPDX-License-Identifier: Apache-2.0
#pragma once
// Highway, restricted to the targets that this vector code is written for. Include before
// hwy/foreach_target.h.

// Networks keep vectors in arrays, which scalable vectors do not allow. Targets between SSE4, AVX2
// and AVX-512 gain nothing here and cost compile time.
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
