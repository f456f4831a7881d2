// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dimension scales: datasets that name the dimensions of others and hold their coordinates (HDF5's
// own, and netCDF's coordinate variables).

#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/dataset.hpp"

namespace convolume::io {

struct Hdf5Scale {
    std::string name;            ///< last part of the scale's name; empty where there is no scale
    std::string unit;            ///< attribute `units`; may be empty
    std::optional<double> step;  ///< distance of neighbors, if the coordinates are evenly spaced
};

/// The first scale of every dimension; empty if the dataset has none.
std::vector<Hdf5Scale> read_scales(const Hdf5Dataset& dataset);

}  // namespace convolume::io
