// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pages of a TIFF made one image: by its OME-XML, ImageJ or tifffile description, or as they
// come.

#include "io/axis_layout.hpp"
#include "io/tiff/pages.hpp"

namespace convolume::io {

struct TiffSeries {
    ImageMetadata metadata;
    TiffPage page;  ///< every page has its size and type
    /// Page of plane (t, c, z), z fastest; with one page for all planes (ImageJ beyond 4 GiB), the
    /// plane's place behind that page's first byte.
    std::vector<index_t> planes;
    bool single_page = false;

    index_t plane(index_t t, index_t c, index_t z) const {
        const index_t page_channels = metadata.channels / page.samples;
        return planes[static_cast<std::size_t>((t * page_channels + c) * metadata.shape.z + z)];
    }
};

/// `tiff` stands at its first page. Throws BadData, or InvalidArgument for axes that do not fit.
TiffSeries find_series(TiffHandle& tiff, const RawFile& file, const std::vector<TiffPage>& pages,
                       const std::string& axes);

}  // namespace convolume::io
