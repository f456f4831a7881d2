// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of a convolution into slabs of planes with halos: each device transforms its own planes
// along x and y, gets the spectra of neighboring planes from the devices that make them, and
// transforms along z without any other device. Pure arithmetic.

#include <span>
#include <vector>

#include "core/pair_axis.hpp"
#include "gpu/volumes/block_geometry.hpp"

namespace convolume::gpu {

/// Consecutive planes of the image, which are transformed to consecutive slots of a device's ring.
struct LoadRun {
    index_t plane = 0, slot = 0, count = 0;
};

/// Consecutive slots that a device copies from the ring of slab `from`.
struct HaloCopy {
    std::size_t from = 0;
    index_t from_slot = 0, slot = 0, count = 0;
};

/// The work of one device. Slot 0 of its ring is the first plane that its results depend on, and
/// slots follow the positions along z. After these come planes that it makes for others alone.
struct HaloSlab {
    Block block;  ///< as of a convolution on one device. Axis z has the positions of this slab.
    BlockGeometry geometry;
    std::vector<LoadRun> copied,
        others;  ///< planes to make: those that slabs copy, then all others
    std::vector<HaloCopy> copies;

    bool makes_planes() const { return !copied.empty() || !others.empty(); }
    bool has_results() const { return block.axes[0].kept > 0; }
    /// Returns the bytes of spectra and kernel on its device.
    index_t bytes() const {
        return geometry.ring_bytes + geometry.batch_bytes + geometry.kernel_bytes;
    }
};

/// Returns the slabs of a block whose z axis is computed with tap i at position
/// (i - kernel_shift) mod grid. planes_of_slots[i] is the image's plane at position i, or -1.
/// `inputs` has the image's planes of each slab, `stored` those of the block's result, and `limits`
/// the bytes for each slab (0: no limit), which it may exceed. Returns no slab if one depends on
/// the whole image, if a position has no plane, or if a length has no pass.
std::vector<HaloSlab> halo_slabs(const Block& block, index_t kernel_shift,
                                 const std::vector<index_t>& planes_of_slots,
                                 std::span<const IndexRange> inputs,
                                 std::span<const IndexRange> stored, std::span<const int> devices,
                                 std::span<const index_t> limits, const DeviceRates& rates,
                                 bool keep_spectrum);

struct HaloTimes {
    double seconds = 0;  ///< predicted, of the slowest slab
    bool hides_copies =
        true;  ///< copies take no longer than the transforms of planes that no slab copies
};
HaloTimes halo_times(std::span<const HaloSlab> slabs, const DeviceRates& rates,
                     double link_bytes_per_s);

}  // namespace convolume::gpu
