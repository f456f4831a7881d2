// SPDX-License-Identifier: Apache-2.0
#pragma once
// Datasets of an HDF5 file by name.

#include <string>
#include <vector>

#include "io/hdf5/handle.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// An opened file as those who look for datasets see it.
struct Hdf5Source {
    hid_t id;
    const RawFile& file;
};

/// Names of all datasets, without the first slash, in the order of the names.
std::vector<std::string> list_datasets(const Hdf5Source& source);

/// The dataset that a user calls `name` ("/a/b"), as it is listed ("a/b"). Throws BadData that
/// lists what there is.
std::string named_dataset(const Hdf5Source& source, const std::string& name);

/// The one that is meant when none is named: the only one of `datasets`, or one of a usual name.
/// Throws BadData.
std::string default_dataset(const Hdf5Source& source, const std::vector<std::string>& datasets);

}  // namespace convolume::io
