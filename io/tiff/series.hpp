// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pages of a TIFF made one image.

#include "io/axis_layout.hpp"
#include "io/tiff/files.hpp"

namespace convolume::io {

class OmeDocument;

/// Where a plane lies.
struct TiffPlane {
    std::uint32_t file = 0;
    std::uint32_t sample = 0;  ///< of the page's samples
    /// Page of the file; in a series `behind_first_page`, the plane's place behind that page's
    /// first byte.
    index_t page = 0;
};

struct TiffSeries {
    ImageMetadata metadata;
    TiffPage page;                  ///< every page has its size and type
    std::vector<TiffPlane> planes;  ///< of (t, c, z), z fastest
    bool behind_first_page = false;

    const TiffPlane& plane(index_t t, index_t c, index_t z) const {
        return planes[static_cast<std::size_t>((t * metadata.channels + c) * metadata.shape.z + z)];
    }
};

/// Finds the image that `options` ask for in the first of `files`; files that belong to it are
/// added. `document`, if not null, is the OME-XML beside the files. Throws BadData for what the
/// pages contradict and for metadata that do not tell what the pages are, InvalidArgument for
/// options that do not fit.
TiffSeries find_series(TiffFiles& files, const OpenOptions& options, const OmeDocument* document);

}  // namespace convolume::io
