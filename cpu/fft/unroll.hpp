// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Unrolls the next loop, of at most 16 turns, so that arrays of vectors stay in registers.
#ifdef __clang__
#define CONVOLUME_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CONVOLUME_UNROLL _Pragma("GCC unroll 16")
#endif
