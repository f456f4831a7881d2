// SPDX-License-Identifier: Apache-2.0
#pragma once
// In the place of the CUDA kernels of that name.

#include <cmath>

#include "deconvolve/device_stages.cuh"
#include "deconvolve/packed_rows.hpp"

namespace convolume::deconvolve {

inline void pack_rows(const PackedRows& rows, index_t row_count, const float* samples, char* packed,
                      cudaStream_t stream) {
    enqueue(stream, [=] {
        for (index_t y = 0; y < row_count; ++y) {
            const float* const row = samples + y * rows.count;
            float largest = 0;
            for (index_t x = 0; x < rows.count; ++x) largest = std::max(largest, std::abs(row[x]));
            *rows.step(packed, y) = PackedRows::step_of(largest);
            for (index_t x = 0; x < rows.count; ++x)
                rows.samples(packed, y)[x] =
                    PackedRows::packed(row[x], PackedRows::steps_of(largest));
        }
    });
}
inline void unpack_rows(const PackedRows& rows, index_t row_count, const char* packed,
                        float* samples, cudaStream_t stream) {
    enqueue(stream, [=] {
        for (index_t y = 0; y < row_count; ++y)
            for (index_t x = 0; x < rows.count; ++x)
                samples[y * rows.count + x] =
                    *rows.step(packed, y) * static_cast<float>(rows.samples(packed, y)[x]);
    });
}

}  // namespace convolume::deconvolve
