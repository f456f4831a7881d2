// SPDX-License-Identifier: Apache-2.0
#include "operations/warnings/inputs.hpp"

#include "convolume/error.hpp"
#include "operations/number_text.hpp"

namespace convolume {

std::string scaling_text(const io::ValueScaling& scaling) {
    return message("value = stored * ", format_number(scaling.scale),
                   scaling.offset != 0 ? " + " + format_number(scaling.offset) : std::string());
}

std::vector<std::string> note_warnings(const std::string& name, const io::ImageMetadata& image) {
    std::vector<std::string> warnings;
    for (const std::string& note : image.notes)
        warnings.push_back(message('"', name, "\": ", note));
    return warnings;
}

std::vector<std::string> input_warnings(const std::string& name, const io::ImageMetadata& image) {
    std::vector<std::string> warnings = note_warnings(name, image);
    if (image.scaling)
        warnings.push_back(message('"', name, "\" scales its values (",
                                   scaling_text(*image.scaling),
                                   "), but they are read as stored, without that"));
    return warnings;
}

}  // namespace convolume
