// SPDX-License-Identifier: Apache-2.0
#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft/column_stages_float.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#define CONVOLUME_REAL float
#include "cpu/fft/column_stages-inl.hpp"
