// SPDX-License-Identifier: Apache-2.0
#include "operations/number_text.hpp"

#include <iomanip>

#include "convolume/error.hpp"

namespace convolume {

std::string format_number(double value, int digits) {
    TextStream text;
    text << std::setprecision(digits) << value;
    return text.str();
}

std::string format_voxel_size(const KnownVoxelSize& size_um) {
    if (!size_um[0] && !size_um[1] && !size_um[2]) return "voxel size unknown";
    std::string text = "voxel z,y,x ";
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (axis > 0) text += "×";
        text += size_um[axis] ? format_number(*size_um[axis]) : "?";
    }
    return text + " µm";
}

std::string name_or(const std::string& name, const char* other) {
    return name.empty() ? other : message('"', name, '"');
}

}  // namespace convolume
