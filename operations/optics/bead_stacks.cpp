// SPDX-License-Identifier: Apache-2.0
#include "operations/optics/bead_stacks.hpp"

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"

namespace convolume {

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

std::optional<double> bead_saturation(const ConstImageView& stack, PixelType recorded) {
    const auto* const values = static_cast<const float*>(stack.data);
    const float* const last = values + element_count(stack.shape);
    if (values == last) return {};
    const auto largest = static_cast<double>(*std::max_element(values, last));
    return is_full_scale(largest, recorded) ? std::optional(largest) : std::nullopt;
}

Shape3 bead_psf_size(const std::optional<Shape3>& given, const std::optional<PsfOptions>& model,
                     const Shape3& stack) {
    if (given) return *given;
    if (!model)
        throw InvalidArgument(sentence("the size of the beads' PSF is not known; give ",
                                       OptionName{"na"}, " and ", OptionName{"wavelength_um"},
                                       ", from which it follows, or ", OptionName{"size"}));
    const Objective& lens = model->objective;
    const double wavelength = model->modality == Modality::two_photon
                                  ? model->excitation_um.value_or(model->wavelength_um)
                                  : model->wavelength_um;
    const double across = 5 * 0.61 * wavelength / lens.na;
    const double along = 4 * lens.ni * wavelength / (lens.na * lens.na);
    Shape3 size;
    for (int axis = 0; axis < 3; ++axis) {
        const double half = std::ceil((axis == 0 ? along : across) / model->voxel[axis]);
        const index_t most = std::max<index_t>(3, stack[axis] * 3 / 4 - 1) | 1;
        size[axis] = std::min(2 * static_cast<index_t>(std::min(half, 1e6)) + 1, most);
    }
    return size;
}

}  // namespace convolume
