// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume preview` from the request to the picture: stacks side by side, three views each,
// aligned as in an orthogonal view (z,y to the right of x,y and x,z below it), every panel to
// scale.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/picture/canvas.hpp"
#include "cli/picture/projection.hpp"
#include "cli/preview/channel_colors.hpp"

namespace convolume::cli {

/// A channel of the picture, drawn in `color` where its values are at the upper limit.
struct PreviewChannel {
    OrthogonalViews views;
    GrayLimits limits{0, 1};
    Color color{255, 255, 255};
    std::string name{};  ///< beside its ramp; of several channels
};

struct PreviewStack {
    std::string title;
    std::array<std::string, 2> captions;   ///< lines below the title
    std::vector<PreviewChannel> channels;  ///< one at least, of the same extents
    std::array<double, 3> step{1, 1, 1};   ///< z, y, x distance of samples, in `unit`
    std::string unit = "px";
    bool logarithmic = false;  ///< views and limits are decimal logarithms
    bool own_zoom = false;     ///< enlarged to the height of the others
};

struct PreviewStyle {
    /// Picture pixels for the smallest sample distance; 0: chosen for a picture of medium size.
    double zoom = 0;
    double gamma = 1;
};

/// Throws InvalidArgument when the picture would have a side beyond 16384 pixels.
Canvas draw_preview(const std::vector<PreviewStack>& stacks, const PreviewStyle& style);

/// The largest of 1, 2, 5 × 10^k that is at most `length`.
double round_length(double length);

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
