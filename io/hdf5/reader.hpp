// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reader behind open_hdf5() and open_bdv_xml().

#include <memory>
#include <string>

#include "convolume/image_file.hpp"

namespace convolume::io {

/// Opens an HDF5 file; `bdv_xml` is the path of BigDataViewer's XML, if there is one.
std::unique_ptr<ImageReader> open_hdf5_file(const PathSpec& spec, const OpenOptions& options,
                                            const std::string& bdv_xml);

}  // namespace convolume::io
