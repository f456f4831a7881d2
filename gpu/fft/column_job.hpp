// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel over columns is told.

#include <algorithm>
#include <limits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/error.hpp"
#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

/// PositionMap of 32 bits, with 0 <= begin < length and 0 <= first < ring.
struct SlotMap {
    int begin = 0, count = 0, first = 0, ring = 1, length = 1;

    /// The slot of a position, or -1.
    CONVOLUME_DEVICE int operator()(int position) const {
        int i = position - begin;
        if (i < 0) i += length;
        if (i >= count) return -1;
        const int slot = first + i;
        return slot < ring ? slot : slot - ring;
    }
};

template <class Real>
struct ColumnJob {
    const Complex<Real>* source = nullptr;
    Complex<Real>* target = nullptr;
    const Complex<Real>* kernel = nullptr;  ///< null: transform only
    const Complex<Real>* twiddles = nullptr;
    unsigned source_slot = 0, target_slot = 0, kernel_slot = 0;  // strides, in tiles
    index_t source_batch = 0, target_batch = 0;
    index_t columns = 0, batches = 1;
    SlotMap load, store;
    int taps = 0;                        ///< of the kernel; 0: it is a spectrum
    Real kernel_sign = 1;                ///< of the imaginary parts of its spectrum
    Real load_sign = 1, store_sign = 1;  ///< of imaginary parts: an inverse conjugates both ends
    bool staged = false;                 ///< tiles are copied to shared memory ahead of their use
    bool taps_staged = false;            ///< so are their taps
};

inline SlotMap slot_map(index_t length, const PositionMap& map) {
    if (map.count < 0 || map.count > length || map.count > map.ring) {
        throw InternalError(
            message(map.count, " of ", length, " positions in ", map.ring, " slots"));
    }
    const index_t ring = std::max<index_t>(map.ring, 1);
    const auto wrap = [](index_t i, index_t n) { return static_cast<int>((i % n + n) % n); };
    return {wrap(map.begin, length), static_cast<int>(map.count), wrap(map.first, ring),
            static_cast<int>(ring), static_cast<int>(length)};
}

/// A number of columns, or of samples between slots, in tiles.
template <class Real>
unsigned in_tiles(index_t samples) {
    const index_t tiles = samples / tile_columns<Real>;
    if (samples % tile_columns<Real> != 0 || samples < 0 ||
        tiles > std::numeric_limits<unsigned>::max()) {
        throw InternalError(message(samples, " samples are no whole tiles"));
    }
    return static_cast<unsigned>(tiles);
}

template <class Real>
Complex<Real>* kernel_samples(std::complex<Real>* data) {
    return reinterpret_cast<Complex<Real>*>(data);
}

/// The job of transform_columns (passes.hpp), less its twiddles.
template <class Real>
ColumnJob<Real> transform_job(index_t length, Direction direction, const Columns<Real>& source,
                              const PositionMap& load, const Columns<Real>& target,
                              const PositionMap& store) {
    ColumnJob<Real> job;
    job.source = kernel_samples(source.data);
    job.source_slot = in_tiles<Real>(source.slot_stride);
    job.source_batch = source.batch_stride;
    job.target = kernel_samples(target.data);
    job.target_slot = in_tiles<Real>(target.slot_stride);
    job.target_batch = target.batch_stride;
    job.columns = in_tiles<Real>(source.columns) * tile_columns<Real>;
    job.batches = source.batches;
    job.load = slot_map(length, load);
    job.store = slot_map(length, store);
    job.load_sign = job.store_sign = direction == Direction::forward ? Real(1) : Real(-1);
    return job;
}

/// The job of convolve_columns, less its twiddles.
template <class Real>
ColumnJob<Real> convolve_job(index_t length, const Columns<Real>& data, const PositionMap& load,
                             const PositionMap& store, const ColumnKernel<Real>& kernel) {
    if (kernel.taps < 0 || kernel.taps > length || (kernel.taps > 0 && !transforms_kernels<Real>))
        throw InternalError(message(kernel.taps, " taps for columns of ", length));
    ColumnJob<Real> job;
    job.source = job.target = kernel_samples(data.data);
    job.source_slot = job.target_slot = in_tiles<Real>(data.slot_stride);
    job.kernel = kernel_samples(kernel.columns.data);
    job.kernel_slot = in_tiles<Real>(kernel.columns.slot_stride);
    job.taps = static_cast<int>(kernel.taps);
    job.kernel_sign = kernel.conjugate ? Real(-1) : Real(1);
    job.columns = in_tiles<Real>(data.columns) * tile_columns<Real>;
    job.load = slot_map(length, load);
    job.store = slot_map(length, store);
    job.store_sign = -1;
    return job;
}

}  // namespace convolume::gpu
