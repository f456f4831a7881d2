// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/storage.hpp"

#include <algorithm>
#include <array>

namespace convolume::io {
namespace {

/// The filters, if they are those that we have ourselves.
std::optional<ChunkFilters> known_filters(hid_t properties) {
    ChunkFilters filters;
    const int count = H5Pget_nfilters(properties);
    for (int i = 0; i < count; ++i) {
        unsigned flags = 0;
        unsigned configuration = 0;
        std::array<unsigned, 8> values{};
        std::size_t given = values.size();
        const H5Z_filter_t filter =
            H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &given, values.data(), 0,
                           nullptr, &configuration);
        const auto kind = filter == H5Z_FILTER_SHUFFLE ? ChunkFilters::Kind::shuffle
                                                       : ChunkFilters::Kind::deflate;
        const bool known = filter == H5Z_FILTER_DEFLATE ||
                           (filter == H5Z_FILTER_SHUFFLE && given > 0 && values[0] > 0);
        const auto same = std::find(filters.kinds.begin(), filters.kinds.end(), kind);
        if (!known || same != filters.kinds.end()) return std::nullopt;
        if (filter == H5Z_FILTER_SHUFFLE) filters.element_bytes = values[0];
        filters.kinds.push_back(kind);
    }
    return filters;
}

}  // namespace

Hdf5Storage find_storage(hid_t dataset, hid_t properties, PixelType type, index_t bytes,
                         const RawFile& file) {
    Hdf5Storage storage;
    const Hdf5Id file_type(H5Dget_type(dataset), H5Tclose);
    const auto swapped = stored_swapped(file_type.get(), type);
    if (!swapped) return storage;
    storage.swapped = *swapped;
    const H5D_layout_t layout = H5Pget_layout(properties);
    if (layout == H5D_CONTIGUOUS) {
        H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
        if (H5Dget_space_status(dataset, &status) < 0 || status != H5D_SPACE_STATUS_ALLOCATED)
            return storage;
        const haddr_t offset = H5Dget_offset(dataset);
        if (offset == HADDR_UNDEF || bytes > file.size() ||
            offset > static_cast<haddr_t>(file.size() - bytes))
            return storage;
        storage.offset = static_cast<index_t>(offset);
        storage.kind = Hdf5Storage::Kind::contiguous;
    } else if (layout == H5D_CHUNKED) {
        auto filters = known_filters(properties);
        if (!filters) return storage;
        storage.filters = *std::move(filters);
        storage.kind = Hdf5Storage::Kind::chunks;
    }
    return storage;
}

}  // namespace convolume::io
