// SPDX-License-Identifier: Apache-2.0
#pragma once
// OME-XML: what it says about a TIFF's planes, and how we say it.

#include "convolume/image_file.hpp"
#include "io/tiff/stack.hpp"

namespace convolume::io {

bool is_ome_description(const std::string& description);

/// The MapAnnotation that says what stored values stand for: its namespace, and its keys.
constexpr const char* scaling_namespace = "convolume/value-scaling";
constexpr const char* scale_key = "scale";
constexpr const char* offset_key = "offset";

/// What the first image of a document says.
struct OmeImage {
    TiffStack stack;
    index_t height = 0;
    index_t width = 0;
};

/// Reads the first image and sets voxel sizes, frame interval, channel names, the microscope and
/// the scaling of values. `pages` is the number of pages in the file, `samples` those of one page;
/// `path` names the file in messages and among the files of a series. Throws BadData.
OmeImage read_ome_xml(const std::string& xml, const std::string& path, index_t pages,
                      index_t samples, ImageMetadata& metadata);

/// A document for planes written with z fastest, then c, then t. It is the source's document, where
/// there is one, with only the first image and changed where size and type demand it.
std::string ome_xml(const ImageMetadata& metadata, const std::string& software);

}  // namespace convolume::io
