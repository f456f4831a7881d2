// SPDX-License-Identifier: Apache-2.0
#include "core/pixels/stored_samples.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/pixels/stored_samples.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::pixels::HWY_NAMESPACE {

// The compiler vectorizes these loops for each instruction set.
void decode_words(const SampleWord* HWY_RESTRICT from, index_t count, SampleStorage storage,
                  float* HWY_RESTRICT to) {
    gpu::visit_storage(storage, [&](auto kind) {
        const typename decltype(kind)::Decoder decode;
        for (index_t i = 0; i < count; ++i) to[i] = decode(from[i]);
    });
}

ClampCount encode_words(const float* HWY_RESTRICT from, index_t count, SampleStorage storage,
                        float factor, SampleWord* HWY_RESTRICT to) {
    ClampCount clamped;
    gpu::visit_storage(storage, [&](auto kind) {
        typename decltype(kind)::Encoder encode(factor);
        for (index_t i = 0; i < count; ++i) to[i] = encode(from[i]);
        clamped = {encode.low(), encode.high()};
    });
    return clamped;
}

}  // namespace convolume::pixels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume {

namespace pixels {

HWY_EXPORT(decode_words);
HWY_EXPORT(encode_words);

void decode(const SampleWord* from, index_t count, SampleStorage storage, float* to) {
    HWY_DYNAMIC_DISPATCH(decode_words)(from, count, storage, to);
}

ClampCount encode(const float* from, index_t count, SampleStorage storage, float factor,
                  SampleWord* to) {
    constexpr index_t values_at_a_time = index_t{1} << 20;  // their counts fit 32 bits
    ClampCount clamped;
    for (index_t i = 0; i < count; i += values_at_a_time)
        clamped += HWY_DYNAMIC_DISPATCH(encode_words)(
            from + i, std::min(values_at_a_time, count - i), storage, factor, to + i);
    return clamped;
}

}  // namespace pixels

namespace {
void require_short(SampleStorage storage) {
    if (storage == SampleStorage::plain)
        throw InvalidArgument(
            "plain samples need no conversion: give float16, bfloat16 or int16 as their storage");
}
}  // namespace

void decode_samples(const void* from, index_t count, SampleStorage storage, float* to) {
    require_short(storage);
    pixels::decode(static_cast<const pixels::SampleWord*>(from), count, storage, to);
}

ClampCount encode_samples(const float* from, index_t count, SampleStorage storage, void* to) {
    require_short(storage);
    return pixels::encode(from, count, storage, 1, static_cast<pixels::SampleWord*>(to));
}

}  // namespace convolume
#endif
