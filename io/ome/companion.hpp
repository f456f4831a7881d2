// SPDX-License-Identifier: Apache-2.0
#pragma once
// Documents of OME-XML in files of their own (companion.ome), beside the TIFFs that they describe.

#include <memory>
#include <string>

#include "io/ome/ome_document.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Reads the document in `file`. Throws BadData.
std::unique_ptr<OmeDocument> read_ome_file(const RawFile& file);

/// Reads the document that the TIFF `path` refers to as `name`, from the folder of the TIFF. Throws
/// BadData if it is not there.
std::unique_ptr<OmeDocument> read_ome_companion(const std::string& path, const std::string& name);

/// Returns the path of the first file of a document's image (number or name as in
/// OpenOptions::image) that is in the folder of `path`. Throws BadData if none is.
std::string first_file_of(const OmeDocument& document, const std::string& path);

}  // namespace convolume::io
