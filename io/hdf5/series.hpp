// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which datasets of an HDF5 file make the image.

#include <optional>

#include "io/hdf5/dataset.hpp"
#include "io/hdf5/names.hpp"

namespace convolume::io {

struct Hdf5Series {
    ImageMetadata metadata;
    /// One for all, or one for each time and channel (channels fastest), all of one shape.
    std::vector<std::string> datasets;
    AxisLayout layout;  ///< of each dataset
};

/// A series of the BigDataViewer or Imaris layout among `datasets`, if their names are of that
/// kind. Throw BadData when they are, but contradict each other.
std::optional<Hdf5Series> find_bdv(const Hdf5Source& source,
                                   const std::vector<std::string>& datasets);
std::optional<Hdf5Series> find_imaris(const Hdf5Source& source,
                                      const std::vector<std::string>& datasets);

/// The series of `dataset`, or of the file when that is empty (see open_image()).
Hdf5Series find_series(const Hdf5Source& source, const std::string& dataset,
                       const std::string& axes);

/// A dataset of a layout with one for each time and channel.
struct PlacedDataset {
    index_t time;
    index_t channel;
    std::string name;
};
/// Puts them in the order of Hdf5Series::datasets and sets frames and channels, counting only the
/// times and channels there are. Throws BadData that names a missing one.
void place_datasets(const Hdf5Source& source, const std::vector<PlacedDataset>& placed,
                    Hdf5Series& series);

}  // namespace convolume::io
