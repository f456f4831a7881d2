// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which transform lengths a device has passes for, how one block is laid out in device memory, how
// it is walked along z, and what it takes. Pure arithmetic, shared by the cost model and the
// engine.

#include <vector>

#include "convolume/options.hpp"
#include "core/engine.hpp"
#include "gpu/fft/passes.hpp"

namespace convolume::gpu {

/// The best length of at least `least` along `axis` (0 is z) that has a pass of our own, for data
/// split along z into `parts`; 0 where there is none.
index_t own_length(int device, int axis, index_t least, int parts, bool complex_data,
                   Precision precision);

/// One step of the walk along z: outputs [kept_begin, kept_begin + kept) of those the block keeps,
/// for which planes up to `loaded_end` must be there.
struct ZWindow {
    index_t first;  ///< loaded plane at position 0 of the transform; may be negative
    index_t loaded_end;
    index_t kept_begin;
    index_t kept;
    PositionMap load, store;
};

/// Bytes of a plane of pixels in and out of the device.
struct PlaneBytes {
    index_t source, target;
};
PlaneBytes expected_plane_bytes(const Block& block);

/// Planes of spectra stand in a ring of slots. A block held whole is one window, whose outputs take
/// the place of the planes; a walk has many, and outputs take the slots of planes that the next
/// window does not need any more. Blocks of Algorithm::direct walk, too, over planes of samples.
struct BlockGeometry {
    // Spectra, or samples
    index_t half_x = 1;  ///< complex samples of a row's spectrum that mean something
    index_t pitch = 1;
    index_t rows = 1;
    index_t plane = 1;  ///< complex samples of a plane: rows * pitch
    index_t sample_bytes = 8;
    // Along z
    index_t z_length = 1;  ///< of the transform
    index_t slab = 0;      ///< outputs of a window; 0: held whole
    index_t ring = 1;
    index_t kernel_planes = 1;
    index_t kernel_shift = 0;  ///< tap plane i stands at position (i - shift) mod z_length
    /// The kernel is kept as its whole spectrum (z_length planes); else as the 2D spectra of its
    /// own planes, whose spectra along z are made for batch_columns columns at a time.
    bool keeps_spectrum = false;
    index_t batch_columns = 1;
    bool on_cufft = false;  ///< some length has no pass of our own: whole 3D transforms by cuFFT
    // Device memory, in bytes
    index_t ring_bytes = 0;
    index_t batch_bytes = 0;
    PlaneBytes pixels{0, 0};
    index_t source_buffer_bytes = 0, target_buffer_bytes = 0;  ///< of one transfer buffer
    index_t transfer_buffers = 3;                              ///< of either direction
    index_t lists_bytes = 0;                                   ///< gathers, counters
    index_t prepare_bytes = 0;
    index_t taps_bytes = 0;  ///< of a kernel that stays compact until it is used
    index_t kernel_bytes = 0;

    index_t plane_bytes() const { return plane * sample_bytes; }
    index_t workspace_bytes() const;
    std::vector<ZWindow> windows(const BlockAxis& z) const;
};

/// Stands for a device that has every pass: geometry without a GPU.
inline constexpr int any_device = -1;

/// How fast a device and its bus are, in bytes a second, and the host.
struct DeviceRates {
    int device = 0;
    double memory = 1e12;         ///< reached by our passes
    double multiply_adds = 1e13;  ///< of single precision, at most
    double to_device = 2e10;      ///< from the host's ordinary memory
    double to_host = 2e10;
    MachineRates machine;
};

/// The layout of a block that takes at most `limit_bytes` (0: whatever it likes), kernel included,
/// or the least possible. Of the lengths a walk may have, the one predicted to be fastest.
/// `keep_spectrum`: faster where the kernel serves often and memory is plenty.
BlockGeometry block_geometry(const Block& block, const PlaneBytes& pixels, index_t limit_bytes,
                             const DeviceRates& rates, bool keep_spectrum = false);

/// Predicted times of a block in this layout.
struct BlockTimes {
    double read_s, to_device_s, compute_s, to_host_s, write_s;
    double alone_s;  ///< from the first byte in to the last byte out
};
BlockTimes block_times(const Block& block, const BlockGeometry& geometry, const DeviceRates& rates);

}  // namespace convolume::gpu
