// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume preview` from the request to the picture. Stacks are drawn side by side and to scale:
// the view x,y, and unless a stack is flat, z,y to the right and x,z below.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/picture/drawing.hpp"
#include "cli/picture/projection.hpp"
#include "cli/preview/look_up_table.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

/// A channel of the picture.
struct PreviewChannel {
    OrthogonalViews views;
    GrayLimits limits{0, 1};
    LookUpTable table = gray_table();
    std::string channel_name{};  ///< shown beside the color ramp if there are several channels
};

/// A stack of the picture.
struct PreviewStack {
    std::string title;
    std::array<std::string, 2> captions;   ///< two lines of text below the title
    std::vector<PreviewChannel> channels;  ///< at least one; all have the same extents
    std::array<double, 3> step{1, 1, 1};   ///< z, y, x distance of samples, in `unit`
    std::string unit = "px";               ///< "µm", or of signals "s"
    double samples_per_unit = 1;           ///< along x, if the unit is no length
    bool logarithmic = false;              ///< whether views and limits are decimal logarithms
    bool in_decibels = false;              ///< whether limits are told in decibels
    bool own_zoom = false;  ///< whether the stack is enlarged to the height of the others
};

/// Returns a color for each channel of an image: the color in the file, else that of the channel's
/// name. Otherwise it is the first of cyan, magenta, yellow, … that no other channel has.
std::vector<Color> colors_of_channels(const io::ImageMetadata& image);

/// Sets the distances of a stack's samples. If only the one along z is unknown, it becomes the one
/// along x.
void set_sample_distances(const io::ImageMetadata& metadata, PreviewStack& stack);

struct PreviewStyle {
    /// Picture pixels per smallest sample distance; 0: chosen for a picture of medium size.
    double zoom = 0;
    double gamma = 1;
    bool light = false;                     ///< dark text on white
    bool xy_only = false;                   ///< without the views z,y and x,z
    bool scale_bar = true;                  ///< whether there are scale bars
    std::optional<double> bar_length_um{};  ///< length of scale bars; nothing: chosen
};

/// If `path` holds channels whose center frequencies are known, turns the rows of a stack so that
/// frequencies rise, and tells frequencies and times.
void show_frequencies(const std::string& path, PreviewStack& stack);

/// Draws the picture. Throws InvalidArgument if it would be too large, or a scale bar too long.
Drawing draw_preview(const std::vector<PreviewStack>& stacks, const PreviewStyle& style);

/// Returns the largest number of the form 1, 2 or 5 × 10^k that is at most `length`.
double round_length(double length);

struct PreviewRequest {
    std::vector<std::string> stacks;
    std::string after;
    std::string psf;
    std::string output;
    std::vector<std::string> titles;  ///< titles of the first stacks; others are file names
    std::string channel;              ///< the only channel to draw; empty for all
    std::string stack;                ///< axis of the files of each stack, such as "z"
    /// Tables of the first channels; others are automatic. Nothing: the channel is left out.
    std::vector<std::optional<LookUpTable>> tables;
    index_t frame = 0;
    PreviewStyle style;
    std::optional<GrayLimits> limits;
    bool slices = false;             ///< planes instead of projections
    std::optional<index_t> plane;    ///< the plane along z; nothing: the middle one
    std::optional<double> decades;   ///< range of a logarithmic scale; nothing: linear
    std::optional<double> decibels;  ///< the same range of magnitudes in decibels
    bool overwrite = false;
    bool quiet = false;
};

/// Reads the stacks, draws and writes the picture.
void run_preview(const PreviewRequest& request);

}  // namespace convolume::cli
