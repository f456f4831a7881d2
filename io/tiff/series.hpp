// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pages of a TIFF made one image.

#include "io/axis_layout.hpp"
#include "io/tiff/dialects.hpp"
#include "io/tiff/files.hpp"

namespace convolume::io {

class OmeDocument;

/// Location of one plane of one channel.
struct TiffPlane {
    index_t file = 0;
    /// Page of the file; in a series `behind_first_page`, the plane's place behind that page's
    /// first byte.
    index_t page = 0;
    index_t sample = 0;  ///< of the page's samples
};

struct TiffSeries {
    ImageMetadata metadata;
    TiffPage page;      ///< every page has its size and type
    AxisLayout layout;  ///< of the pages, and of their samples if these are planes
    std::vector<TiffPlace>
        places;                 ///< page of each plane in that order; empty: behind the first page
    index_t colors = 1;         ///< samples of a page that are channels
    index_t planes_a_page = 1;  ///< samples of a page that are planes, times or channels
    bool behind_first_page = false;

    TiffPlane plane(index_t t, index_t c, index_t z) const;
};

/// Finds the image that `options` ask for in the first of `files`; files that belong to it are
/// added. `document`, if not null, is the OME-XML beside the files. Throws BadData for what the
/// pages contradict and for metadata that do not tell what the pages are, InvalidArgument for
/// options that do not fit.
TiffSeries find_series(TiffFiles& files, const OpenOptions& options, const OmeDocument* document);

}  // namespace convolume::io
