// SPDX-License-Identifier: Apache-2.0
#include "operations/warnings/images.hpp"

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

std::vector<std::string> changed_samples_warnings(const ChangedSamples& changed) {
    std::vector<std::string> warnings;
    if (changed.clamped_low > 0 || changed.clamped_high > 0)
        warnings.push_back(message(
            changed.clamped_low, " values below and ", changed.clamped_high, " above the range of ",
            changed.type, " were clamped; choose a wider ", changed.type_option, " to keep them"));
    if (changed.nonfinite_inputs > 0)
        warnings.push_back(message(changed.nonfinite_inputs, " NaN or infinite values of the ",
                                   changed.input, " were read as 0"));
    return warnings;
}

void check_real(PixelType type, const std::string& what) {
    if (is_complex(type))
        throw BadData(message(what, " is complex: give its intensity, which is real"));
}

Volume real_samples(const ConstImageView& samples, const std::string& what) {
    check_real(samples.type, what);
    Volume values(samples.shape, PixelType::float32);
    convert_pixels(samples, values.view());
    return values;
}

}  // namespace convolume
