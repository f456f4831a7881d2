// SPDX-License-Identifier: Apache-2.0
// What datasets do in helper processes, where damaged files can do no harm.

#include <algorithm>
#include <cstring>

#include "io/hdf5/dataset.hpp"
#include "io/helper_process.hpp"
#include "io/strided.hpp"

namespace convolume::io {
namespace {

constexpr index_t helper_bytes = index_t{64} << 20;
// Every node of an index of chunks is met all the same: nodes have more entries.
constexpr index_t most_lookups = index_t{1} << 20;

/// Far more than decoding takes.
HelperLimits limits_of_reading(index_t bytes, index_t chunk_bytes) {
    return {2 + static_cast<double>(bytes) / 5e6, (index_t{1} << 30) + 4 * chunk_bytes};
}

}  // namespace

bool Hdf5Dataset::is_trusted() const {
    return !damage_is_contained() || plug_ins_ || (plain_ && !weak_filters_);
}

void Hdf5Dataset::try_chunks() const {
    if (!chunked_ || !damage_is_contained()) return;
    std::vector<index_t> counts(dims_.size());
    index_t chunks = 1;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        counts[d] = ceil_div(dims_[d], chunk_[d]);
        chunks *= counts[d];
    }
    const index_t step = std::max<index_t>(1, chunks / most_lookups);
    const auto look_up = [&] {
        bool filled = false;
        for (index_t number = 0; number < chunks; number += step) {
            std::vector<index_t> place(dims_.size());
            std::vector<hsize_t> start(dims_.size());
            index_t rest = number;
            for (std::size_t d = place.size(); d-- > 0; rest /= counts[d]) {
                place[d] = rest % counts[d];
                start[d] = static_cast<hsize_t>(place[d] * chunk_[d]);
            }
            hsize_t bytes = 0;
            const bool found = H5Dget_chunk_storage_size(id(), start.data(), &bytes) >= 0;
            if ((found && bytes > 0) || filled) continue;
            filled = true;  // what was never written is all alike
            std::vector<char> samples(static_cast<std::size_t>(chunk_bytes()));
            read_chunk(place, samples.data());
        }
    };
    const double lookups = static_cast<double>(chunks) / static_cast<double>(step);
    HelperLimits limits = limits_of_reading(0, chunk_bytes());
    limits.processor_s += lookups * 50e-6;
    try_hdf5(full_name_, limits, look_up);
}

index_t Hdf5Dataset::chunk_bytes() const {
    index_t bytes = static_cast<index_t>(size_of(type_));
    for (const index_t extent : chunk_) bytes *= extent;
    return bytes;
}

void Hdf5Dataset::read_in_helper(const Hdf5Volume& volume, const Box3& box,
                                 const ImageView& target) const {
    const auto bytes_each = static_cast<index_t>(size_of(type_));
    const index_t plane_bytes = target.shape.y * target.shape.x * bytes_each;
    const int d = volume.dimension[0];
    const index_t depth = d < 0 ? 1 : chunk_[static_cast<std::size_t>(d)];
    const index_t planes = std::max<index_t>(helper_bytes / plane_bytes / depth, 1) * depth;
    const SharedMemory memory(std::min(planes, target.shape.z) * plane_bytes);
    for (index_t z = 0; z < target.shape.z;) {
        // Up to the next whole layers of chunks.
        const index_t end =
            std::min(target.shape.z, (box.begin.z + z) / depth * depth + planes - box.begin.z);
        const Shape3 shape{end - z, target.shape.y, target.shape.x};
        const ImageView part{memory.data(), target.type, shape, contiguous_strides(shape)};
        Box3 from = box;
        from.begin.z = box.begin.z + z;
        from.end.z = box.begin.z + end;
        const ImageView to = subview(target, {{z, 0, 0}, {end, shape.y, shape.x}});
        if (try_hdf5(full_name_,
                     limits_of_reading(element_count(shape) * bytes_each, chunk_bytes()),
                     [&] { read(volume, from, part); }))
            copy_view(part, to);
        else
            read(volume, from, to);
        z = end;
    }
}

void Hdf5Dataset::read_box_in_helper(const std::vector<hsize_t>& start,
                                     const std::vector<hsize_t>& count, void* target) const {
    auto bytes = static_cast<index_t>(size_of(type_));
    for (const hsize_t extent : count) bytes *= static_cast<index_t>(extent);
    const SharedMemory memory(bytes);
    if (try_hdf5(full_name_, limits_of_reading(bytes, chunk_bytes()),
                 [&] { read_box(start, count, memory.data()); }))
        std::memcpy(target, memory.data(), static_cast<std::size_t>(bytes));
    else
        read_box(start, count, target);
}

}  // namespace convolume::io
