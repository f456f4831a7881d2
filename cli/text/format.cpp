// SPDX-License-Identifier: Apache-2.0
#include "cli/text/format.hpp"

#include <cmath>
#include <iomanip>

#include "convolume/error.hpp"

namespace convolume::cli {

std::string format_number(double value, int digits) {
    TextStream text;
    text << std::setprecision(digits) << value;
    return text.str();
}

std::string format_duration(double seconds) {
    TextStream text;
    if (seconds < 100) {
        text << std::fixed
             << std::setprecision(seconds < 1    ? 3
                                  : seconds < 10 ? 2
                                                 : 1)
             << seconds << " s";
    } else {
        const long long whole = std::llround(seconds);
        if (whole < 3600)
            text << whole / 60 << " min " << whole % 60 << " s";
        else
            text << whole / 3600 << " h " << whole % 3600 / 60 << " min";
    }
    return text.str();
}

std::string format_voxel_size(const std::array<std::optional<double>, 3>& size_um) {
    if (!size_um[0] && !size_um[1] && !size_um[2]) return "voxel size unknown";
    std::string text = "voxel z,y,x ";
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (axis > 0) text += "×";
        text += size_um[axis] ? format_number(*size_um[axis]) : "?";
    }
    return text + " µm";
}

std::string one_line(const io::ImageMetadata& metadata) {
    TextStream text;
    text << metadata.format;
    if (metadata.frames > 1) text << ", " << metadata.frames << " frames";
    if (metadata.channels > 1) text << ", " << metadata.channels << " channels";
    text << ", z,y,x " << to_string(metadata.shape) << ' ' << to_string(metadata.type) << ", "
         << format_voxel_size(metadata.voxel_size_um);
    return text.str();
}

}  // namespace convolume::cli
