// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "io/formats.hpp"

namespace convolume::io {
namespace {

[[noreturn]] void refuse(const std::string& path) {
    throw Unavailable(message(path,
                              " is a TIFF file and convolume was built without TIFF; install "
                              "libtiff-dev and libpugixml-dev, then build it again"));
}

}  // namespace

std::unique_ptr<ImageReader> open_tiff(const std::string& path, const OpenOptions&) {
    refuse(path);
}

std::unique_ptr<ImageReader> open_ome_companion(const std::string& path, const OpenOptions&) {
    refuse(path);
}

std::unique_ptr<ImageWriter> create_tiff(const std::string& path, const ImageMetadata&,
                                         const CreateOptions&, bool) {
    refuse(path);
}

// Only TIFFs have such metadata.
void keep_lookup_tables(ImageMetadata&, const std::vector<index_t>&) {}

}  // namespace convolume::io
