// SPDX-License-Identifier: Apache-2.0
#pragma once
// Datasets of an HDF5 file by name.

#include <string>
#include <vector>

#include "io/hdf5/links.hpp"

namespace convolume::io {

/// The input as the functions that look for datasets see it.
struct Hdf5Source {
    Hdf5Files& files;
    std::string bdv_xml;  ///< path of BigDataViewer's XML; there may be no such file
};

/// Names of all datasets, without the first slash, in the order of the names: those of the file, of
/// groups that it has external links to, and external links that lead to datasets or nowhere.
std::vector<std::string> list_datasets(const Hdf5Source& source);

/// The dataset that a user calls `name` ("/a/b"), as it is listed ("a/b"). Throws BadData that
/// lists what there is, or as Hdf5Files::find().
std::string named_dataset(const Hdf5Source& source, const std::string& name);

/// Whether the dataset is an array of pixels with at least that many dimensions. Coordinates of
/// other arrays (dimension scales) are not.
bool is_pixel_array(const Hdf5Source& source, const std::string& name, int least_dimensions);

struct Hdf5Choice {
    std::string name;
    std::size_t others = 0;  ///< arrays of pixels that could be meant, too
};

/// The dataset that is read if none is named: /data, /t0/channel0, /Data or /exported_data, else
/// the only array of pixels with at least that many dimensions, or the only one of `datasets`.
/// Throws BadData.
Hdf5Choice default_dataset(const Hdf5Source& source, const std::vector<std::string>& datasets,
                           int least_dimensions);

}  // namespace convolume::io
