// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume preview` from the request to the picture.

#include <optional>
#include <string>
#include <vector>

#include "cli/preview/channel_colors.hpp"
#include "cli/preview/picture.hpp"

namespace convolume::cli {

struct PreviewRequest {
    std::vector<std::string> stacks;
    std::string after;
    std::string psf;
    std::string output;
    std::optional<index_t> channel;    ///< drawn alone, gray
    std::vector<ChannelColor> colors;  ///< of the first channels; further ones are chosen
    index_t frame = 0;
    PreviewStyle style;
    std::optional<GrayLimits> limits;
    bool slices = false;
    std::optional<double> decades;  ///< of a logarithmic scale
    bool overwrite = false;
    bool quiet = false;
};

/// Reads the stacks, draws and writes the picture.
void run_preview(const PreviewRequest& request);

}  // namespace convolume::cli
