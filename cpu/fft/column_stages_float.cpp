// SPDX-License-Identifier: Apache-2.0
#include "core/instruction_sets.hpp"
#include "cpu/fft/column_stages.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft/column_stages_float.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#include "cpu/fft/column_stages-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

void transform_float(const ColumnStages<float>& stages) {
    transform(stages);
}

index_t float_lanes(index_t width) {
    return width == 8 ? lanes_of<8, float> : lanes_of<16, float>;
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {
HWY_EXPORT(transform_float);
HWY_EXPORT(float_lanes);
}  // namespace

void run_stages(const ColumnStages<float>& stages) {
    HWY_DYNAMIC_DISPATCH(transform_float)(stages);
}

template <>
index_t lanes_of_columns<float>(index_t width) {
    return HWY_DYNAMIC_DISPATCH(float_lanes)(width);
}

}  // namespace convolume::cpu
#endif
