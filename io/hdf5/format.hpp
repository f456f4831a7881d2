// SPDX-License-Identifier: Apache-2.0
#pragma once
// Readers and writers of HDF5 files. Builds without HDF5 replace them (io/unavailable.cpp).

#include <memory>
#include <string>
#include <string_view>

#include "convolume/image_file.hpp"

namespace convolume::io {

/// Tells whether the file `path`, which begins with `head`, is an HDF5 file.
bool is_hdf5(const std::string& path, std::string_view head);
/// Tells whether `path` has the ending of an HDF5 file that is written.
bool names_hdf5(const std::string& path);

/// Opens an HDF5 file. If the path of BigDataViewer's XML is not given, it is the path of the file
/// with the extension .xml.
std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options);
std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options,
                                       const std::string& bdv_xml);
/// Opens the HDF5 file that BigDataViewer's XML names.
std::unique_ptr<ImageReader> open_bdv_xml(const PathSpec& spec, const OpenOptions& options);

std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options);
/// Returns whether a name is free in an HDF5 file: no object of this name is there.
bool is_free_in_hdf5(const PathSpec& spec);

}  // namespace convolume::io
