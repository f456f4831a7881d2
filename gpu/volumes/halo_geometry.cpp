// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/halo_geometry.hpp"

#include <algorithm>

namespace convolume::gpu {

namespace {

constexpr index_t none = -1;

index_t wrap(index_t position, index_t length) {
    return (position % length + length) % length;
}

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

/// The positions that the results of a slab depend on, and its own axis.
class SlabAxis {
  public:
    SlabAxis(const BlockAxis& z, index_t kernel_shift, const IndexRange& stored)
        : slots_(at(z.loaded), none), kept_(stored.count()) {
        if (kept_ == 0) return;
        // Results at position p depend on positions p + kernel_shift - (kernel - 1) to
        // p + kernel_shift.
        const index_t reach = z.kernel - 1;
        const index_t first = z.kept_begin + stored.begin + kernel_shift - reach;
        const index_t positions = kept_ + reach;
        is_possible_ = positions <= z.grid;
        if (!is_possible_) return;
        index_t begin = none, end = 0;
        for (index_t i = 0; i < positions; ++i) {
            const index_t position = wrap(first + i, z.grid);
            if (position >= z.loaded) continue;
            if (begin == none) begin = end = i;
            is_possible_ = is_possible_ && i == end;  // slots without a plane between others
            end = i + 1;
            slots_[at(position)] = i - begin;
        }
        begin = std::max<index_t>(begin, 0);  // none: results are 0
        loaded_ = end - begin;
        kept_begin_ = reach - begin;
        // No wrapped sample of the linear convolution falls on a kept one.
        least_grid_ =
            std::max({loaded_ + begin, kept_begin_ + kept_, loaded_, kept_, z.kernel, index_t{1}});
    }

    /// Whether the slab needs less than the whole grid, and its planes follow each other.
    bool is_possible() const { return is_possible_; }
    index_t loaded() const { return loaded_; }
    index_t least_grid() const { return least_grid_; }
    /// Returns the slot of a position of the block, or none if no result depends on it.
    index_t slot(index_t position) const { return slots_[at(position)]; }

    BlockAxis axis(index_t grid, index_t kernel) const {
        return {grid, loaded_, kernel, wrap(kept_begin_, grid), kept_};
    }

  private:
    std::vector<index_t> slots_;
    index_t loaded_ = 0, kept_ = 0, kept_begin_ = 0, least_grid_ = 1;
    bool is_possible_ = true;
};

void add_plane(std::vector<LoadRun>& runs, index_t plane, index_t slot) {
    if (runs.empty() || runs.back().plane + runs.back().count != plane ||
        runs.back().slot + runs.back().count != slot)
        runs.push_back({plane, slot, 0});
    ++runs.back().count;
}

void add_copy(std::vector<HaloCopy>& copies, std::size_t from, index_t from_slot, index_t slot) {
    if (copies.empty() || copies.back().from != from ||
        copies.back().from_slot + copies.back().count != from_slot ||
        copies.back().slot + copies.back().count != slot)
        copies.push_back({from, from_slot, slot, 0});
    ++copies.back().count;
}

/// Sets the layout of a slab with `slots` slots. Returns whether there are passes for it.
bool set_layout(HaloSlab& slab, const SlabAxis& axis, index_t slots, int device,
                index_t limit_bytes, DeviceRates rates, bool keep_spectrum) {
    BlockAxis& z = slab.block.axes[0];
    const index_t grid = length_with_passes(device, 0, axis.least_grid(), 1,
                                            slab.block.complex_data, slab.block.precision);
    if (grid == 0) return false;
    z = axis.axis(grid, z.kernel);
    rates.device = device;
    BlockGeometry& g = slab.geometry;
    g = block_geometry(slab.block, {0, 0}, limit_bytes, rates, keep_spectrum);
    if (g.uses_cufft) return false;
    g.ring = std::max({slots, z.kept, index_t{1}});
    g.ring_bytes = checked_multiply(g.ring, g.plane_bytes());
    if (!slab.has_results()) g.kernel_bytes = g.batch_bytes = 0;
    return true;
}

double plane_seconds(const HaloSlab& slab, index_t made, const DeviceRates& rates) {
    Block block = slab.block;
    block.axes[0].loaded = made;
    const BlockTimes times = block_times(block, slab.geometry, rates);
    return times.compute_s - times.z_s;
}

index_t planes_of(const std::vector<LoadRun>& runs) {
    index_t planes = 0;
    for (const LoadRun& run : runs) planes += run.count;
    return planes;
}

}  // namespace

std::vector<HaloSlab> halo_slabs(const Block& block, index_t kernel_shift,
                                 const std::vector<index_t>& planes_of_slots,
                                 std::span<const IndexRange> inputs,
                                 std::span<const IndexRange> stored, std::span<const int> devices,
                                 std::span<const index_t> limits, const DeviceRates& rates,
                                 bool keep_spectrum) {
    const std::size_t parts = inputs.size();
    std::vector<SlabAxis> axes;
    std::vector<HaloSlab> slabs(parts);
    std::vector<index_t> slots;  // of each slab's ring
    for (std::size_t i = 0; i < parts; ++i) {
        axes.emplace_back(block.axes[0], kernel_shift, stored[i]);
        if (!axes[i].is_possible()) return {};
        slabs[i].block = block;
        slots.push_back(axes[i].loaded());
    }
    for (index_t position = 0; position < block.axes[0].loaded; ++position) {
        const index_t plane = planes_of_slots[at(position)];
        const auto needs = [&](std::size_t i) { return axes[i].slot(position) != none; };
        for (std::size_t i = 0; i < parts; ++i)
            if (plane < 0 && needs(i)) return {};
        for (std::size_t owner = 0; owner < parts; ++owner) {
            if (plane < inputs[owner].begin || plane >= inputs[owner].end) continue;
            bool is_copied = false;
            for (std::size_t i = 0; i < parts; ++i) is_copied |= i != owner && needs(i);
            if (!is_copied && !needs(owner)) continue;
            const index_t slot = needs(owner) ? axes[owner].slot(position) : slots[owner]++;
            HaloSlab& maker = slabs[owner];
            add_plane(is_copied ? maker.copied : maker.others, plane - inputs[owner].begin, slot);
            for (std::size_t i = 0; i < parts; ++i)
                if (i != owner && needs(i))
                    add_copy(slabs[i].copies, owner, slot, axes[i].slot(position));
        }
    }
    for (std::size_t i = 0; i < parts; ++i)
        if (!set_layout(slabs[i], axes[i], slots[i], devices[i], limits[i], rates, keep_spectrum))
            return {};
    return slabs;
}

HaloTimes halo_times(std::span<const HaloSlab> slabs, const DeviceRates& rates,
                     double link_bytes_per_s) {
    HaloTimes times;
    for (const HaloSlab& slab : slabs) {
        index_t copied = 0;
        for (const HaloCopy& copy : slab.copies) copied += copy.count;
        const double link_s = static_cast<double>(copied) *
                              static_cast<double>(slab.geometry.plane_bytes()) / link_bytes_per_s;
        const index_t first = planes_of(slab.copied), others = planes_of(slab.others);
        const double planes_s = plane_seconds(slab, first + others, rates);
        const double before_s = planes_s - plane_seconds(slab, others, rates);
        const double others_s = planes_s - plane_seconds(slab, first, rates);
        const double z_s =
            slab.has_results() ? block_times(slab.block, slab.geometry, rates).z_s : 0;
        times.seconds = std::max(times.seconds, std::max(planes_s + z_s, before_s + link_s));
        times.hides_copies = times.hides_copies && link_s <= others_s;
    }
    return times;
}

}  // namespace convolume::gpu
