// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which datasets of an HDF5 file make the image.

#include <optional>
#include <string_view>

#include "io/hdf5/dataset.hpp"
#include "io/hdf5/files.hpp"

namespace convolume::io {

struct Hdf5Series {
    ImageMetadata metadata;
    /// One for all, or one for each time and channel (channels fastest), all of one shape.
    std::vector<std::string> datasets;
    AxisLayout layout;  ///< of each dataset
};

/// A series of the layout of BigDataViewer, Imaris or Fiji's HDF5 plug-in among `datasets`, if
/// their names are of that kind. Throw BadData if they are, but contradict each other.
std::optional<Hdf5Series> find_bdv(const Hdf5Source& source,
                                   const std::vector<std::string>& datasets);
std::optional<Hdf5Series> find_imaris(const Hdf5Source& source,
                                      const std::vector<std::string>& datasets);
std::optional<Hdf5Series> find_fiji(const Hdf5Source& source,
                                    const std::vector<std::string>& datasets);

/// Whether `name` belongs to the layout: volumes, smaller copies of them, tables.
bool is_of_bdv(const std::string& name);
bool is_bdv_table(const std::string& name);
bool is_of_imaris(const std::string& name);

/// The image in one dataset that belongs to no layout.
Hdf5Series plain_series(const Hdf5Source& source, const std::string& name, const std::string& axes);

/// The series of `dataset`, or of the file when that is empty (see open_image()).
Hdf5Series find_series(const Hdf5Source& source, const std::string& dataset,
                       const std::string& axes);

/// Reads element_size_um, frame_interval_s, scale_factor, add_offset and channel_names of a
/// dataset, its unit, and its other texts.
void read_attributes(const Hdf5Dataset& dataset, ImageMetadata& metadata);

/// A dataset of a layout with one for each time and channel.
struct PlacedDataset {
    index_t time = 0;
    index_t channel = 0;
    index_t level = 0;  ///< of a pyramid; above 0 it is a smaller copy
    std::string name;
};
/// Reads the numbers in a name of the form `pattern`, where they are #: time (T), channel (C) or
/// level (L), as `order` says. Returns nothing for other names.
std::optional<PlacedDataset> parse_placed_name(const std::string& name, std::string_view pattern,
                                               std::string_view order);
/// The datasets with names of that form. Smaller copies are left out unless one is all that is
/// asked for.
std::vector<PlacedDataset> find_placed(const std::vector<std::string>& datasets,
                                       std::string_view pattern, std::string_view order);
/// Puts them in the order of Hdf5Series::datasets and sets frames and channels, counting only the
/// times and channels there are. Throws BadData that names a missing one.
void place_datasets(const Hdf5Source& source, const std::vector<PlacedDataset>& placed,
                    Hdf5Series& series);

}  // namespace convolume::io
