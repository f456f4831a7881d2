// SPDX-License-Identifier: Apache-2.0
#pragma once
// OME-XML as it is written, and the words that reading and writing share.

#include "convolume/image_file.hpp"

namespace convolume::io {

/// The MapAnnotation that says what stored values stand for: its namespace, and its keys.
constexpr const char* scaling_namespace = "convolume/value-scaling";
constexpr const char* scale_key = "scale";
constexpr const char* offset_key = "offset";

/// Returns a document for planes written with z fastest, then c, then t. It is the source's
/// document, where there is one, changed where size and type demand it.
std::string ome_xml(const ImageMetadata& metadata, const std::string& software);

}  // namespace convolume::io
