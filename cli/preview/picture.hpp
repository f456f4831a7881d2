// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stacks side by side as a picture: three views each, aligned as in an orthogonal view (z,y to the
// right of x,y and x,z below it), every panel to scale.

#include <array>
#include <string>
#include <vector>

#include "cli/picture/canvas.hpp"
#include "cli/picture/projection.hpp"

namespace convolume::cli {

/// What a channel adds to the picture: `color` where its values are at the upper limit.
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

}  // namespace convolume::cli
