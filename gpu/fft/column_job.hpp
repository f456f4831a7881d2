// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of the CUDA kernels that transform columns, and the functions that make them.

#include <limits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/error.hpp"
#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

/// A PositionMap of 32 bits, with 0 <= begin < length and 0 <= first < ring.
struct SlotMap {
    int begin = 0, count = 0, first = 0, ring = 1, length = 1;

    /// Returns the number of a position in the map, or -1 if it has no slot.
    CONVOLUME_DEVICE int index(int position) const {
        int i = position - begin;
        if (i < 0) i += length;
        return i < count ? i : -1;
    }
    /// Returns the slot of the i-th position in the map.
    CONVOLUME_DEVICE int slot(int i) const {
        const int slot = first + i;
        return slot < ring ? slot : slot - ring;
    }
    /// Returns the slot of a position, or -1 if it has none.
    CONVOLUME_DEVICE int operator()(int position) const {
        const int i = index(position);
        return i < 0 ? -1 : slot(i);
    }
};

template <class Real>
struct ColumnJob {
    const Complex<Real>* source = nullptr;
    Complex<Real>* target = nullptr;
    /// Spectrum or taps of the kernel; null: the pass only transforms.
    const Complex<Real>* kernel = nullptr;
    const Complex<Real>* twiddles = nullptr;
    unsigned source_slot_stride = 0, target_slot_stride = 0,
             kernel_slot_stride = 0;  // strides, in column tiles
    index_t source_batch_stride = 0, target_batch_stride = 0, kernel_batch_stride = 0;
    index_t columns = 0, batches = 1;
    SlotMap load_slots, store_slots;
    int taps = 0;          ///< number of the kernel's taps; 0: the kernel is given as its spectrum
    Real kernel_sign = 1;  ///< sign of the imaginary parts of the kernel's spectrum
    /// Signs of imaginary parts: an inverse transform conjugates before and after.
    Real load_sign = 1, store_sign = 1;
    /// Whether column tiles are copied to shared memory ahead of their use.
    bool prefetches = false;
    /// Whether the taps of column tiles are copied ahead of their use, too.
    bool prefetches_taps = false;
};

inline SlotMap slot_map(index_t length, const PositionMap& map) {
    if (map.count < 0 || map.count > length || map.count > map.ring) {
        throw InternalError(
            message(map.count, " of ", length, " positions in ", map.ring, " slots"));
    }
    const index_t ring = std::max<index_t>(map.ring, 1);
    const auto wrapped_index = [](index_t i, index_t n) {
        return static_cast<int>((i % n + n) % n);
    };
    return {wrapped_index(map.begin, length), static_cast<int>(map.count),
            wrapped_index(map.first, ring), static_cast<int>(ring), static_cast<int>(length)};
}

/// Returns a number of columns, or of samples between slots, as a number of column tiles.
template <class Real>
unsigned whole_column_tiles(index_t samples) {
    const index_t tiles = samples / tile_columns<Real>;
    if (samples % tile_columns<Real> != 0 || samples < 0 ||
        tiles > std::numeric_limits<unsigned>::max()) {
        throw InternalError(message(samples, " samples are no whole tiles"));
    }
    return static_cast<unsigned>(tiles);
}

template <class Real>
Complex<Real>* as_complex_samples(std::complex<Real>* data) {
    return reinterpret_cast<Complex<Real>*>(data);
}

/// Returns the job of transform_columns (passes.hpp), without twiddle factors.
template <class Real>
ColumnJob<Real> column_transform_job(index_t length, PassDirection direction,
                                     const Columns<Real>& source, const PositionMap& load,
                                     const Columns<Real>& target, const PositionMap& store) {
    ColumnJob<Real> job;
    job.source = as_complex_samples(source.data);
    job.source_slot_stride = whole_column_tiles<Real>(source.slot_stride);
    job.source_batch_stride = source.batch_stride;
    job.target = as_complex_samples(target.data);
    job.target_slot_stride = whole_column_tiles<Real>(target.slot_stride);
    job.target_batch_stride = target.batch_stride;
    job.columns = whole_column_tiles<Real>(source.columns) * tile_columns<Real>;
    job.batches = source.batches;
    job.load_slots = slot_map(length, load);
    job.store_slots = slot_map(length, store);
    job.load_sign = job.store_sign = direction == PassDirection::forward ? Real(1) : Real(-1);
    return job;
}

/// Returns the job of convolve_columns, without twiddle factors.
template <class Real>
ColumnJob<Real> convolve_job(index_t length, const Columns<Real>& data, const PositionMap& load,
                             const PositionMap& store, const ColumnKernel<Real>& kernel) {
    if (kernel.taps < 0 || kernel.taps > length || (kernel.taps > 0 && !transforms_kernels<Real>))
        throw InternalError(message(kernel.taps, " taps for columns of ", length));
    ColumnJob<Real> job;
    job.source = job.target = as_complex_samples(data.data);
    job.source_slot_stride = job.target_slot_stride = whole_column_tiles<Real>(data.slot_stride);
    job.kernel = as_complex_samples(kernel.columns.data);
    job.kernel_slot_stride = whole_column_tiles<Real>(kernel.columns.slot_stride);
    job.kernel_batch_stride = kernel.columns.batch_stride;
    job.taps = static_cast<int>(kernel.taps);
    job.kernel_sign = kernel.conjugate ? Real(-1) : Real(1);
    job.columns = whole_column_tiles<Real>(data.columns) * tile_columns<Real>;
    job.batches = data.batches;
    job.source_batch_stride = job.target_batch_stride = data.batch_stride;
    job.load_slots = slot_map(length, load);
    job.store_slots = slot_map(length, store);
    job.store_sign = -1;
    return job;
}

}  // namespace convolume::gpu
