// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume preview` from the request to the picture. Stacks are drawn side by side and to scale,
// with three views each: z,y to the right of x,y, and x,z below.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/picture/canvas.hpp"
#include "cli/picture/projection.hpp"
#include "cli/preview/channel_colors.hpp"

namespace convolume::cli {

/// A channel of the picture. Values at the upper limit are drawn in `color`.
struct PreviewChannel {
    OrthogonalViews views;
    GrayLimits limits{0, 1};
    Color color{255, 255, 255};
    std::string channel_name{};  ///< shown beside the color ramp if there are several channels
};

/// A stack of the picture.
struct PreviewStack {
    std::string title;
    std::array<std::string, 2> captions;   ///< two lines of text below the title
    std::vector<PreviewChannel> channels;  ///< at least one; all have the same extents
    std::array<double, 3> step{1, 1, 1};   ///< z, y, x distance of samples, in `unit`
    std::string unit = "px";
    bool logarithmic = false;  ///< whether views and limits are decimal logarithms
    bool own_zoom = false;     ///< whether the stack is enlarged to the height of the others
};

struct PreviewStyle {
    /// Picture pixels per smallest sample distance; 0: chosen for a picture of medium size.
    double zoom = 0;
    double gamma = 1;
};

/// Draws the picture. Throws InvalidArgument if a side would be longer than 16384 pixels.
Canvas draw_preview(const std::vector<PreviewStack>& stacks, const PreviewStyle& style);

/// Returns the largest number of the form 1, 2 or 5 × 10^k that is at most `length`.
double round_length(double length);

struct PreviewRequest {
    std::vector<std::string> stacks;
    std::string after;
    std::string psf;
    std::string output;
    std::optional<index_t> channel;    ///< the only channel to draw, in gray
    std::vector<ChannelColor> colors;  ///< colors of the first channels; others are automatic
    index_t frame = 0;
    PreviewStyle style;
    std::optional<GrayLimits> limits;
    bool slices = false;
    std::optional<double> decades;  ///< range of a logarithmic scale; nothing: linear
    bool overwrite = false;
    bool quiet = false;
};

/// Reads the stacks, draws and writes the picture.
void run_preview(const PreviewRequest& request);

}  // namespace convolume::cli
