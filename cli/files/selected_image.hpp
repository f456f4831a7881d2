// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of an image file: some channels, some times, a box; and what the file does not say.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::cli {

/// As typed; empty: all, or what the file says.
struct ImageSelection {
    std::string axes;      ///< "TYX"
    std::string image;     ///< "1" or "Position 2"
    std::string channels;  ///< "0,2"
    std::string frames;    ///< "3" or "0:10"
    std::string crop;      ///< "z0:z1,y0:y1,x0:x1", "0:32,:,:"
    std::string voxel;     ///< "200,65,65nm"
};

/// --axes, --image, --channel, --frame, --crop and --voxel.
void add_selection_options(CLI::App& app, const char* group, ImageSelection& selection);

/// Opens what is selected of an image file. Its metadata are those of the part. Throws as
/// io::open_image(), and InvalidArgument where the file has no such part.
std::unique_ptr<io::ImageReader> open_selected(const std::string& path,
                                               const ImageSelection& selection);

/// Numbers in the file, from 0, of the `channels` channels that are selected of it.
std::vector<index_t> selected_channels(const ImageSelection& selection, index_t channels);

}  // namespace convolume::cli
