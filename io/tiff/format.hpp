// SPDX-License-Identifier: Apache-2.0
#pragma once
// Readers and writers of TIFF files. Builds without TIFF replace them (io/unavailable.cpp).

#include <memory>
#include <string_view>

#include "convolume/image_file.hpp"

namespace convolume::io {

/// Tells whether `head` begins a TIFF or BigTIFF file.
bool is_tiff(std::string_view head);

std::unique_ptr<ImageReader> open_tiff(const PathSpec& spec, const OpenOptions& options);
/// Opens an OME-XML document that describes TIFFs beside it.
std::unique_ptr<ImageReader> open_ome_companion(const PathSpec& spec, const OpenOptions& options);

std::unique_ptr<ImageWriter> create_tiff(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options);
std::unique_ptr<ImageWriter> create_ome_tiff(const PathSpec& spec, const ImageMetadata& metadata,
                                             const CreateOptions& options);

}  // namespace convolume::io
