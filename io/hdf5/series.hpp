// SPDX-License-Identifier: Apache-2.0
#pragma once
// The datasets of an HDF5 file that form the image, and the layouts of other programs.

#include <optional>
#include <string_view>

#include "io/hdf5/dataset.hpp"
#include "io/hdf5/files.hpp"

namespace convolume::io {

struct Hdf5Series {
    ImageMetadata metadata;
    /// One dataset of the whole image, or one for each time and channel (channels fastest).
    std::vector<std::string> datasets;
    AxisLayout layout;  ///< layout of each dataset
};

/// Each of these functions finds an image in the layout of BigDataViewer, Imaris or Fiji's HDF5
/// plug-in. It returns nothing if the names in `datasets` do not belong to the layout, and throws
/// BadData if the datasets contradict each other.
std::optional<Hdf5Series> find_bdv(const Hdf5Source& source,
                                   const std::vector<std::string>& datasets);
std::optional<Hdf5Series> find_imaris(const Hdf5Source& source,
                                      const std::vector<std::string>& datasets);
std::optional<Hdf5Series> find_fiji(const Hdf5Source& source,
                                    const std::vector<std::string>& datasets);

/// Tells whether a dataset belongs to the layout: volumes, smaller copies of them, tables.
bool is_of_bdv(const std::string& name);
bool is_bdv_table(const std::string& name);
bool is_of_imaris(const std::string& name);

/// Returns the image in a single dataset without a layout of other programs.
Hdf5Series plain_series(const Hdf5Source& source, const std::string& name, const std::string& axes);

/// Returns the image in `dataset`, or in the file if `dataset` is empty (see open_image()).
Hdf5Series find_series(const Hdf5Source& source, const std::string& dataset,
                       const std::string& axes);

/// Sets metadata from the attributes of a dataset: element_size_um, frame_interval_s, scale_factor,
/// add_offset, channel_names, unit, and other texts.
void read_attributes(const Hdf5Dataset& dataset, ImageMetadata& metadata);

/// A dataset of one time and channel, whose name contains their numbers.
struct NumberedDataset {
    index_t time = 0;
    index_t channel = 0;
    index_t level = 0;  ///< level of a pyramid; above 0 the dataset is a smaller copy
    std::string name;
};
/// Parses the numbers in a name of the form `pattern`, which has # for each. The letters of `order`
/// are their meanings: time (T), channel (C), level (L). Returns nothing for other names.
std::optional<NumberedDataset> parse_numbered_name(const std::string& name,
                                                   std::string_view pattern,
                                                   std::string_view order);
/// Returns the datasets with names of the form `pattern`. Smaller copies are left out, unless a
/// smaller copy is the only dataset.
std::vector<NumberedDataset> find_numbered(const std::vector<std::string>& datasets,
                                           std::string_view pattern, std::string_view order);
/// Sets the ordered datasets of `series`, its frames, channels, type, layout and shape. Only
/// existing times and channels count. Throws BadData if one is missing or of another shape or type.
void arrange_datasets(const Hdf5Source& source, const std::vector<NumberedDataset>& datasets,
                      Hdf5Series& series);

}  // namespace convolume::io
