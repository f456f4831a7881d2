// SPDX-License-Identifier: Apache-2.0
#pragma once
// Geometry of a block on a device: transform lengths with passes, layout in device memory, the walk
// along z, and predicted times. Pure arithmetic, shared by the cost model and the engine.

#include <vector>

#include "convolume/options.hpp"
#include "core/engine.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/volumes/device_rates.hpp"

namespace convolume::gpu {

/// Returns the best length of at least `least` along `axis` (0 is z) that our own passes support,
/// for data that are split along z into `parts`; 0 if there is none.
index_t length_with_passes(int device, int axis, index_t least, int parts, bool complex_data,
                           Precision precision);

/// One step of the walk along z. It computes the block's outputs [kept_begin, kept_begin + kept),
/// for which the planes below `loaded_end` must be loaded.
struct ZWindow {
    index_t first;  ///< loaded plane at position 0 of the transform; may be negative
    index_t loaded_end;
    index_t kept_begin;
    index_t kept;
    PositionMap load, store;
};

/// Bytes of a plane of pixels that is uploaded and downloaded.
struct PlaneBytes {
    index_t source, target;
};
PlaneBytes expected_plane_bytes(const Block& block);

/// Layout of a block. Planes of spectra are in a ring of slots. A block that is held whole is one
/// window, whose outputs replace its planes. A walk has many windows, and outputs are stored in the
/// slots of planes that the next window does not need. Blocks of Algorithm::direct walk over planes
/// of samples.
struct BlockGeometry {
    // Spectra, or samples of direct sums
    index_t spectrum_row_samples = 1;  ///< complex samples of a row's spectrum, without padding
    index_t pitch = 1;
    index_t rows = 1;
    index_t plane = 1;  ///< complex samples of a plane: rows * pitch
    index_t sample_bytes = 8;
    // Along z
    index_t z_length = 1;  ///< length of the transform along z
    index_t slab = 0;      ///< outputs of a window; 0: the block is held whole
    index_t ring = 1;
    index_t kernel_planes = 1;
    index_t kernel_shift = 0;  ///< tap plane i is at position (i - shift) mod z_length
    /// The kernel is kept as its whole spectrum (z_length planes). Otherwise the 2D spectra of its
    /// planes are kept. Passes transform them along z on their way; in double precision, their
    /// spectra along z are computed for batch_columns columns at a time.
    bool keeps_spectrum = false;
    index_t batch_columns = 1;
    /// Planes are convolved one by one, in the pass along y. There is no transform along z.
    bool convolves_planes = false;
    /// Small planes are convolved from pixels to pixels in one pass, without a ring.
    bool fuses_planes = false;
    /// A length lacks a pass of our own: cuFFT transforms the whole 3D block.
    bool uses_cufft = false;
    bool is_spread = false;  ///< the ring's planes are in the memory of several devices
    // Device memory, in bytes
    index_t ring_bytes = 0;
    index_t batch_bytes = 0;
    PlaneBytes pixels{0, 0};
    index_t source_buffer_bytes = 0, target_buffer_bytes = 0;  ///< bytes of one transfer buffer
    index_t transfer_buffers = 3;  ///< number of transfer buffers for each direction
    index_t lists_bytes = 0;       ///< gathers and counters
    index_t taps_bytes = 0;        ///< taps of a kernel, before they are transformed
    index_t kernel_bytes = 0;

    index_t plane_bytes() const { return plane * sample_bytes; }
    index_t workspace_bytes() const;
    std::vector<ZWindow> windows(const BlockAxis& z) const;
};

/// Returns the layout of a block that takes at most `limit_bytes` (0: no limit), kernel included,
/// or the smallest layout. Among the lengths of a walk, it chooses the one predicted to be fastest.
/// With `keep_spectrum`, a block whose kernel is used often keeps the kernel's whole spectrum, if
/// it fits and if passes that transform taps are not as fast.
BlockGeometry block_geometry(const Block& block, const PlaneBytes& pixels, index_t limit_bytes,
                             const DeviceRates& rates, bool keep_spectrum = false);

/// Predicted times of a block with this layout, in seconds.
struct BlockTimes {
    double read_s, to_device_s, compute_s, to_host_s, write_s;
    double staging_s;  ///< time of the host to copy ordinary memory for both directions at once
    double z_s;        ///< time of the pass along z of one window, which compute_s includes
    double alone_s;    ///< time from the first byte uploaded to the last byte downloaded
    double kernel_to_device_s, kernel_s;  ///< times to upload taps and to transform them
};
BlockTimes block_times(const Block& block, const BlockGeometry& geometry, const DeviceRates& rates);

}  // namespace convolume::gpu
