// SPDX-License-Identifier: Apache-2.0
// Parses what programs write into TIFF's description (OME-XML, ImageJ, tifffile's shape) and beside
// HDF5 files (BigDataViewer's XML), or refuses it by a typed error.

#include <cstdint>
#include <pugixml.hpp>
#include <string>

#include "convolume/error.hpp"
#include "io/hdf5/bdv_layout.hpp"
#include "io/image_format.hpp"
#include "io/ome/document.hpp"
#include "io/tiff/dialects.hpp"
#include "io/tiff/imagej.hpp"

namespace {

using namespace convolume;
using io::ImageMetadata;

[[maybe_unused]] void read_tiff_description(const std::string& text) {
    ImageMetadata metadata;
    io::TiffPage page;
    page.width = 5;
    page.height = 6;
    static_cast<void>(io::parse_shaped(text, page));
    if (io::has_ome_element(text)) {
        const io::OmeDocument document(text, "a.ome.tif");
        for (index_t i = 0; i < static_cast<index_t>(document.images().size()); ++i)
            document.describe(i, metadata);
        metadata.shape = {3, 6, 5};
        static_cast<void>(io::ome_xml(metadata, "a program"));
    }
    if (io::is_imagej_description(text)) {
        metadata.imagej_description = text;
        static_cast<void>(io::imagej_stack(text));
        io::read_imagej_calibration(text, {1, 1}, metadata);
        static_cast<void>(io::imagej_description(metadata, {0, 1}));
    }
}

[[maybe_unused]] void read_bdv(const std::string& text) {
    pugi::xml_document document;
    if (document.load_buffer(text.data(), text.size()))
        static_cast<void>(io::read_bdv_xml(document));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
#ifdef CONVOLUME_FUZZ_BDV
        read_bdv(text);
#else
        read_tiff_description(text);
#endif
    } catch (const Error&) {
    }
    return 0;
}
