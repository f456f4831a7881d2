// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dimensions of a dataset as its file names them: axistags of ilastik, labels of h5py, dimension
// scales of netCDF.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/axis_layout.hpp"
#include "io/hdf5/dataset.hpp"

namespace convolume::io {

/// One dimension.
struct Hdf5Dimension {
    std::string label;              ///< empty where the file gives none
    std::optional<double> size_um;  ///< distance of neighbors along it
};

struct Hdf5Dimensions {
    std::vector<Hdf5Dimension> all;       ///< empty if nothing is said, else one for each dimension
    std::vector<std::string> notes;       ///< sentences about axes that are not used
    std::vector<std::string> size_notes;  ///< sentences about voxel sizes that are not used
};

/// Reads what the dataset says. `axistags` and `axis_units` are its attributes of these names, as
/// JSON; they may be empty.
Hdf5Dimensions read_dimensions(const Hdf5Dataset& dataset, const std::string& axistags,
                               const std::string& axis_units);

/// The axes that labels name: t, c, z, y, x, and words such as time, channel, depth, row, column.
/// Empty if there are no labels, if they agree with the usual order, or if they are not understood
/// and the image has three dimensions at most, which is noted. Throws BadData if more dimensions
/// have labels that are not understood.
std::string labelled_axes(Hdf5Dimensions& dimensions, const Hdf5Dataset& dataset);

}  // namespace convolume::io
