// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/dataset.hpp"

#include <algorithm>
#include <cstring>

#include "io/hdf5/helper_process.hpp"
#include "io/hdf5/library.hpp"
#include "io/samples.hpp"

namespace convolume::io {
namespace {

/// Maximum bytes that one byte decompresses to. Deflate expands most among HDF5's own filters.
constexpr index_t deflate_expansion = 1032;
constexpr index_t hdf5_slack_bytes = 1 << 16;
constexpr index_t bytes_read_at_once = index_t{64} << 20;
// The cache holds two rows of HDF5 chunks, so each is read once. More than 256 MiB do not pay.
constexpr index_t least_cache_bytes = index_t{1} << 20;
constexpr index_t largest_cache_bytes = index_t{256} << 20;

index_t bytes_of(const std::vector<index_t>& dims, std::size_t bytes_each) {
    auto bytes = static_cast<index_t>(bytes_each);
    for (const index_t extent : dims) bytes = checked_multiply(bytes, extent);
    return bytes;
}

/// HDF5's number of a filter that h5py provides.
constexpr H5Z_filter_t lzf_filter = 32000;

std::string cure_of_filter(H5Z_filter_t filter) {
    if (filter == lzf_filter)
        return "h5repack lacks it, too: copy the dataset in Python with h5py, which has it, "
               "without compression='lzf'";
    return "install its plug-in and set HDF5_PLUGIN_PATH to its folder, for many filters that of "
           "pip install hdf5plugin: python3 -c 'import hdf5plugin; "
           "print(hdf5plugin.PLUGIN_PATH)'";
}

Hdf5Location location_of(Hdf5Files& files, const std::string& name) {
    auto location = files.find(name);
    if (!location) throw BadData(message(files.main().path(), " has no dataset /", name));
    return *std::move(location);
}

constexpr index_t helper_box_bytes = index_t{64} << 20;
// Limit of look-ups, which suffices to visit every node of an index: nodes have several entries.
constexpr index_t most_lookups = index_t{1} << 20;

/// Returns generous limits for decoding `bytes` bytes of samples.
HelperLimits limits_of_reading(index_t bytes, index_t chunk_bytes) {
    return {2 + static_cast<double>(bytes) / 5e6, (index_t{1} << 30) + 4 * chunk_bytes};
}

}  // namespace

Hdf5Dataset::Hdf5Dataset(Hdf5Files& files, const std::string& name, bool library_only)
    : location_(location_of(files, name)),
      full_name_(location_.raw.path() + ":" + (location_.name[0] == '/' ? "" : "/") +
                 location_.name) {
    open(0);
    const Hdf5Id file_type(H5Dget_type(id()), H5Tclose);
    const Hdf5Id space(H5Dget_space(id()), H5Sclose);
    const Hdf5Id properties(H5Dget_create_plist(id()), H5Pclose);
    if (!file_type || !space || !properties)
        throw BadData(
            message(full_name_, " cannot be read: ", hdf5_failure("it is damaged, copy it again")));
    const auto type = pixel_type_of_hdf5(file_type.get());
    if (!type)
        throw BadData(
            message(full_name_,
                    " holds elements of a type that is not supported; store integers, float16, "
                    "float32, float64, or complex {r, i}"));
    type_ = *type;
    wide_ = wide_integer(file_type.get());
    read_type_ = reading_type(file_type.get(), type_);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (H5Sget_simple_extent_type(space.get()) != H5S_SIMPLE || rank < 1)
        throw BadData(
            message(full_name_, " is a single value, not an array; name another dataset"));
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    for (const hsize_t extent : extents) {
        if (extent == 0) throw BadData(message(full_name_, " is empty: one of its extents is 0"));
        dims_.push_back(static_cast<index_t>(std::min<hsize_t>(extent, INT64_MAX)));
    }
    chunk_.assign(dims_.size(), 1);
    check_storage(properties.get(), H5Tget_size(file_type.get()));
    is_plain_ = H5Pget_layout(properties.get()) != H5D_COMPACT &&
                (stored_swapped(file_type.get(), type_).has_value() || wide_ != WideInteger::none);
    if (!library_only) {
        storage_ = find_storage(id(), properties.get(), type_, bytes_of(dims_, size_of(type_)),
                                location_.raw);
        // HDF5 reads beyond the memory of an HDF5 chunk if a filter returns less than a whole one.
        if (is_chunked_ && storage_.kind == Hdf5Storage::StorageKind::library) is_plain_ = false;
    }

    double row_bytes = static_cast<double>(size_of(type_)) * static_cast<double>(chunk_[0]);
    for (std::size_t d = 1; d < dims_.size(); ++d)
        row_bytes *= static_cast<double>(std::max(dims_[d], chunk_[d]));
    open(static_cast<index_t>(std::min(2 * row_bytes, static_cast<double>(largest_cache_bytes))));
}

Hdf5Dataset::~Hdf5Dataset() {
    const Hdf5Lock lock;
    dataset_.close();
    read_type_.close();
}

/// Opens the dataset with a cache of `cache_bytes` for HDF5 chunks, or HDF5's default for 0.
void Hdf5Dataset::open(index_t cache_bytes) {
    const Hdf5Id access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    if (cache_bytes > 0)
        H5Pset_chunk_cache(access.get(), 12421,
                           static_cast<std::size_t>(std::max(cache_bytes, least_cache_bytes)),
                           H5D_CHUNK_CACHE_W0_DEFAULT);
    dataset_ = {H5Dopen2(location_.file, location_.name.c_str(), access.get()), H5Dclose};
    if (!dataset_)
        throw BadData(message(full_name_,
                              " cannot be opened: ", hdf5_failure("it is damaged, copy it again")));
}

void Hdf5Dataset::check_storage(hid_t properties, std::size_t bytes_each) {
    const H5D_layout_t layout = H5Pget_layout(properties);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(properties) > 0)
        throw BadData(
            message(full_name_,
                    " takes its pixels from other datasets or files; copy them to one with "
                    "h5repack -l CONTI OLD NEW"));
    is_chunked_ = layout == H5D_CHUNKED;
    index_t limit = 1;
    index_t least = 0;
    try {
        least = bytes_of(dims_, bytes_each);
        if (layout == H5D_CHUNKED) {
            std::vector<hsize_t> chunk(dims_.size());
            if (H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) !=
                static_cast<int>(chunk.size()))
                throw BadData(message(full_name_, " has damaged chunks: ", hdf5_reason()));
            for (std::size_t d = 0; d < chunk.size(); ++d)
                chunk_[d] = std::max<index_t>(static_cast<index_t>(chunk[d]), 1);
            limit = deflate_expansion;
            least = std::max(least, bytes_of(chunk_, bytes_each));
            check_filters(properties);
        }
    } catch (const InvalidArgument&) {
        least = INT64_MAX;
    }
    if (least / limit > location_.raw.size() + (limit > 1 ? hdf5_slack_bytes : 0))
        throw BadData(
            message(full_name_, " claims ", dims_text(dims_), " ", to_string(type_),
                    " pixels in a file of ", location_.raw.size(),
                    " bytes, which cannot hold them; it is damaged or was never written"));
}

void Hdf5Dataset::check_filters(hid_t properties) {
    for (const auto& [filter, name, value] : stored_filters(properties)) {
        has_plug_in_filters_ = has_plug_in_filters_ || filter >= H5Z_FILTER_RESERVED;
        has_weak_filters_ =
            has_weak_filters_ || (filter < H5Z_FILTER_RESERVED && filter != H5Z_FILTER_DEFLATE &&
                                  filter != H5Z_FILTER_SHUFFLE);
        if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
            throw BadData(message(full_name_, " is compressed by the HDF5 filter ", filter, " (",
                                  name, "), which HDF5 does not find; ", cure_of_filter(filter)));
    }
}

void Hdf5Dataset::read_box_here(const std::vector<hsize_t>& start,
                                const std::vector<hsize_t>& count, void* target) const {
    const Hdf5Box box(id(), start, count);
    if (!box || H5Dread(id(), read_type_.get(), box.in_memory.get(), box.in_file.get(), H5P_DEFAULT,
                        target) < 0)
        refuse(hdf5_reason());
    widen(start, count, target);
}

void Hdf5Dataset::widen(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                        void* samples) const {
    if (wide_ == WideInteger::none) return;
    std::size_t elements = 1;
    for (const hsize_t extent : count) elements *= extent;
    const auto inexact = widen_integers(samples, static_cast<index_t>(elements), wide_);
    if (!inexact) return;
    std::string index_text;
    auto rest = static_cast<std::size_t>(inexact->element);
    for (std::size_t d = count.size(); d-- > 0; rest /= count[d])
        index_text =
            message(start[d] + rest % count[d], index_text.empty() ? "" : ", ") + index_text;
    throw BadData(message(full_name_, " holds ", inexact->text, " at (", index_text, ")",
                          inexact_integer_cure));
}

std::vector<char> Hdf5Dataset::read_stored_chunk(const std::vector<index_t>& chunk_index,
                                                 unsigned& skipped) const {
    std::vector<hsize_t> start(chunk_index.size());
    for (std::size_t d = 0; d < chunk_index.size(); ++d)
        start[d] = static_cast<hsize_t>(chunk_index[d] * chunk_[d]);
    const Hdf5Lock lock;
    hsize_t bytes = 0;
    constexpr const char* wrong_size = "a chunk has another size than its dataset says";
    // HDF5 1.10 returns an arbitrary size for HDF5 chunks that were never written.
    if (H5Dget_chunk_storage_size(id(), start.data(), &bytes) < 0 || bytes == 0) return {};
    if (bytes > static_cast<hsize_t>(location_.raw.size())) {
        unsigned filter_mask = 0;
        haddr_t address = HADDR_UNDEF;
        hsize_t indexed_bytes = 0;
        if (H5Dget_chunk_info_by_coord(id(), start.data(), &filter_mask, &address, &indexed_bytes) <
            0)
            refuse(hdf5_reason());
        // The HDF5 chunk is stored, but has fewer bytes than its dataset says. H5Dread would read
        // beyond the end of its memory.
        if (address != HADDR_UNDEF) refuse(wrong_size);
        return {};
    }
    std::vector<char> stored(bytes);
    std::uint32_t mask = 0;
    // HDF5 reads as many bytes as the index of HDF5 chunks says. Without filters,
    // H5Dget_chunk_storage_size does not use that index.
    const Hdf5SampleLimit limit(static_cast<index_t>(bytes));
    if (H5Dread_chunk(id(), H5P_DEFAULT, start.data(), &mask, stored.data()) < 0) {
        throw_failed_hdf5_read();
        return {};
    }
    if (limit.read() < static_cast<index_t>(bytes)) refuse(wrong_size);
    skipped = mask;
    return stored;
}

void Hdf5Dataset::read_chunk(const std::vector<index_t>& chunk_index, char* samples) const {
    const std::size_t rank = chunk_index.size();
    std::vector<hsize_t> start(rank);
    std::vector<hsize_t> count(rank);
    std::size_t elements = 1;
    for (std::size_t d = 0; d < rank; ++d) {
        const index_t begin = chunk_index[d] * chunk_[d];
        start[d] = static_cast<hsize_t>(begin);
        count[d] = static_cast<hsize_t>(std::min(chunk_[d], dims_[d] - begin));
        elements *= count[d];
    }
    std::vector<char> rows(elements * size_of(type_));
    {
        const Hdf5Lock lock;
        read_box_here(start, count, rows.data());
    }
    const std::size_t row_bytes = count.back() * size_of(type_);
    for (std::size_t row = 0; row < elements / count.back(); ++row) {
        std::size_t rest = row;
        std::size_t to = 0;
        std::size_t stride = static_cast<std::size_t>(chunk_.back());
        for (std::size_t d = rank - 1; d-- > 0;) {
            to += rest % count[d] * stride;
            rest /= count[d];
            stride *= static_cast<std::size_t>(chunk_[d]);
        }
        std::memcpy(samples + to * size_of(type_), rows.data() + row * row_bytes, row_bytes);
    }
}

void Hdf5Dataset::refuse(const std::string& reason) const {
    location_.raw.check_unchanged();
    throw BadData(
        message(full_name_, " cannot be read: ", reason, "; the file is damaged, copy it again"));
}

Hdf5Volume Hdf5Dataset::volume(const AxisLayout& layout, index_t t, index_t c) const {
    const std::size_t rank = dims_.size();
    const std::size_t added = layout.dims.size() > rank ? layout.dims.size() - rank : 0;
    const std::size_t dropped = rank > layout.dims.size() ? rank - layout.dims.size() : 0;
    const std::vector<index_t> start = layout.position(t, c, 0);
    Hdf5Volume volume;
    volume.first.assign(rank, 0);
    for (std::size_t d = dropped; d < rank; ++d) {
        const std::size_t in_layout = d + added - dropped;
        volume.first[d] = start[in_layout];
        const auto axis = std::string("ZYX").find(layout.axes[in_layout]);
        if (axis != std::string::npos) volume.dimension[axis] = static_cast<int>(d);
    }
    return volume;
}

void Hdf5Dataset::read_here(const Hdf5Volume& volume, const Box3& box,
                            const ImageView& target) const {
    std::vector<hsize_t> first(volume.first.begin(), volume.first.end());
    std::vector<hsize_t> count(first.size(), 1);
    for (int axis = 0; axis < 3; ++axis) {
        const int d = volume.dimension[static_cast<std::size_t>(axis)];
        if (d < 0) continue;
        first[static_cast<std::size_t>(d)] += static_cast<hsize_t>(box.begin[axis]);
        count[static_cast<std::size_t>(d)] = static_cast<hsize_t>(target.shape[axis]);
    }
    // HDF5 returns samples in the order of the dataset's dimensions.
    Index3 strides{0, 0, 0};
    index_t stride = 1;
    int split = 2;
    for (std::size_t d = first.size(); d-- > 0;)
        for (int axis = 0; axis < 3; ++axis)
            if (volume.dimension[static_cast<std::size_t>(axis)] == static_cast<int>(d)) {
                strides[axis] = stride;
                stride *= target.shape[axis];
                if (target.shape[axis] > 1) split = axis;
            }
    if (volume.dimension[static_cast<std::size_t>(split)] < 0) {
        // The box is a single sample.
        read_box_here(first, count, target.data);
        return;
    }
    const auto slowest =
        static_cast<std::size_t>(volume.dimension[static_cast<std::size_t>(split)]);

    // The box is read in layers of whole HDF5 chunks, about 64 MiB at a time.
    const index_t extent = target.shape[split];
    const index_t layer_bytes =
        element_count(target.shape) / extent * static_cast<index_t>(size_of(type_));
    const index_t chunk = chunk_[slowest];
    const index_t layers = std::max<index_t>(bytes_read_at_once / layer_bytes / chunk, 1) * chunk;
    const auto origin = static_cast<index_t>(first[slowest]);
    std::vector<char> buffer;
    for (index_t at = 0; at < extent;) {
        const index_t end = std::min(extent, (origin + at) / chunk * chunk + layers - origin);
        Box3 part{{0, 0, 0}, target.shape};
        part.begin[split] = at;
        part.end[split] = end;
        const ImageView to = subview(target, part);
        first[slowest] = static_cast<hsize_t>(origin + at);
        count[slowest] = static_cast<hsize_t>(end - at);
        const bool in_place =
            is_contiguous(to) && split == 0 && strides == contiguous_strides(target.shape);
        if (in_place) {
            read_box_here(first, count, to.data);
        } else {
            buffer.resize(static_cast<std::size_t>((end - at) * layer_bytes));
            read_box_here(first, count, buffer.data());
            copy_view({buffer.data(), to.type, to.shape, strides}, to);
        }
        at = end;
    }
}

bool Hdf5Dataset::is_trusted() const {
    return !damage_is_contained() || has_plug_in_filters_ || (is_plain_ && !has_weak_filters_);
}

void Hdf5Dataset::try_chunks() const {
    if (!is_chunked_ || !damage_is_contained()) return;
    std::vector<index_t> counts(dims_.size());
    index_t chunks = 1;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        counts[d] = ceil_div(dims_[d], chunk_[d]);
        chunks *= counts[d];
    }
    const index_t step = std::max<index_t>(1, chunks / most_lookups);
    const auto look_up = [&] {
        bool has_read_fill_value = false;
        for (index_t number = 0; number < chunks; number += step) {
            std::vector<index_t> chunk_index(dims_.size());
            std::vector<hsize_t> start(dims_.size());
            index_t rest = number;
            for (std::size_t d = chunk_index.size(); d-- > 0; rest /= counts[d]) {
                chunk_index[d] = rest % counts[d];
                start[d] = static_cast<hsize_t>(chunk_index[d] * chunk_[d]);
            }
            hsize_t bytes = 0;
            const bool found = H5Dget_chunk_storage_size(id(), start.data(), &bytes) >= 0;
            if ((found && bytes > 0) || has_read_fill_value) continue;
            has_read_fill_value = true;  // one HDF5 chunk that was never written stands for all
            std::vector<char> samples(static_cast<std::size_t>(chunk_bytes()));
            read_chunk(chunk_index, samples.data());
        }
    };
    const double lookups = static_cast<double>(chunks) / static_cast<double>(step);
    HelperLimits limits = limits_of_reading(0, chunk_bytes());
    limits.processor_s += lookups * 50e-6;
    try_hdf5(full_name_, limits, look_up);
}

index_t Hdf5Dataset::chunk_bytes() const {
    return bytes_of(chunk_, size_of(type_));
}

void Hdf5Dataset::read(const Hdf5Volume& volume, const Box3& box, const ImageView& target) const {
    if (is_trusted()) return read_here(volume, box, target);
    const auto bytes_each = static_cast<index_t>(size_of(type_));
    const index_t plane_bytes = target.shape.y * target.shape.x * bytes_each;
    const int d = volume.dimension[0];
    const index_t depth = d < 0 ? 1 : chunk_[static_cast<std::size_t>(d)];
    const index_t planes = std::max<index_t>(helper_box_bytes / plane_bytes / depth, 1) * depth;
    const SharedMemory memory(std::min(planes, target.shape.z) * plane_bytes);
    for (index_t z = 0; z < target.shape.z;) {
        // Each part ends at a layer of HDF5 chunks.
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
                     [&] { read_here(volume, from, part); }))
            copy_view(part, to);
        else
            read_here(volume, from, to);
        z = end;
    }
}

void Hdf5Dataset::read_box(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                           void* target) const {
    if (is_trusted()) return read_box_here(start, count, target);
    auto bytes = static_cast<index_t>(size_of(type_));
    for (const hsize_t extent : count) bytes *= static_cast<index_t>(extent);
    const SharedMemory memory(bytes);
    if (try_hdf5(full_name_, limits_of_reading(bytes, chunk_bytes()),
                 [&] { read_box_here(start, count, memory.data()); }))
        std::memcpy(target, memory.data(), static_cast<std::size_t>(bytes));
    else
        read_box_here(start, count, target);
}

}  // namespace convolume::io
