// SPDX-License-Identifier: Apache-2.0
#include "operations/warnings/psf.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "convolume/volume.hpp"
#include "core/kernel_survey.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

/// Returns the light of every plane; nothing for complex PSFs.
std::vector<double> light_of_planes(const ConstImageView& psf) {
    std::vector<double> light;
    visit_pixel_type(psf.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            light.resize(static_cast<std::size_t>(psf.shape.z));
            parallel_for(psf.shape.z, thread_count(0), [&](index_t z, int) {
                double sum = 0;
                for (index_t y = 0; y < psf.shape.y; ++y) {
                    const auto* const row = static_cast<const T*>(psf.at(z, y, 0));
                    for (index_t x = 0; x < psf.shape.x; ++x)
                        sum += std::max(static_cast<double>(row[x * psf.strides.x]), 0.0);
                }
                light[static_cast<std::size_t>(z)] = sum;
            });
        }
    });
    return light;
}

/// In widefield every plane of a PSF holds the same light, so a PSF that is shallower than the
/// image has bright outermost planes.
void warn_of_shallow(const PsfUse& psf, index_t planes, std::vector<Sentence>& warnings) {
    constexpr double bright = 0.1;  // share of the brightest plane's light
    if (psf.taps.shape.z >= 2 * planes - 1) return;
    const std::vector<double> light = light_of_planes(psf.taps);
    if (light.empty()) return;
    const double share =
        std::min(light.front(), light.back()) / *std::max_element(light.begin(), light.end());
    if (!(share > bright)) return;
    const index_t of_psf = psf.taps.shape.z;
    warnings.push_back(sentence(
        "the PSF has ", of_psf, of_psf == 1 ? " plane" : " planes", ", and the outermost hold ",
        format_number(std::round(100 * share), 3),
        " % of the light of the brightest: light from farther away will stay as haze in an image "
        "of ",
        planes, " planes; give a PSF of ", 2 * planes - 1,
        " planes (of a measured one, subtracting its background may help)"));
}

/// Warns of a PSF whose center is less than half as bright as its peak. The brightest sample of a
/// noisy PSF may be beside the center.
void warn_of_shift(const PsfUse& psf, std::vector<Sentence>& warnings) {
    const ConstImageView& taps = psf.taps;
    if (is_complex(taps.type) || element_count(taps.shape) == 0) return;
    const KernelSurvey survey = survey_kernel(taps, thread_count(0));
    const Index3& at = psf.center;
    for (int axis = 0; axis < 3; ++axis)
        if (at[axis] < 0 || at[axis] >= taps.shape[axis]) return;
    const ConstImageView sample = subview(taps, {at, {at.z + 1, at.y + 1, at.x + 1}});
    if (survey_kernel(sample, 1).most >= 0.5 * survey.most) return;
    const Index3 off{survey.peak.z - at.z, survey.peak.y - at.y, survey.peak.x - at.x};
    warnings.push_back(sentence("the PSF's peak is z,y,x ", to_string(off, ","),
                                " voxels from its center, and shifts the result by as much; ",
                                OptionName{"center"}, " peak keeps it in place"));
}

/// Warns of a computed PSF whose sample lets less light through than the objective collects.
void warn_of_total_reflection(const PsfOptions& psf, std::vector<Sentence>& warnings) {
    const double na = psf.objective.na, ns = psf.objective.ns;
    if (!has_layers(psf.model) || na <= ns) return;
    warnings.push_back(sentence(
        "the sample's index of ", format_number(ns), " is below the NA of ", format_number(na),
        ", which is effectively ", format_number(ns),
        " but for sources within about a wavelength of the glass (total reflection); if the "
        "specimen is in another medium than water, give its index by ",
        OptionName{"ns"}));
}

}  // namespace

std::vector<Sentence> psf_warnings(const PsfUse& psf, const Shape3& image) {
    std::vector<Sentence> warnings;
    if (psf.made != nullptr) warn_of_total_reflection(*psf.made, warnings);
    const bool is_given = psf.made == nullptr && !psf.is_in_fft_order;
    if (is_given && !psf.center_is_given) warn_of_shift(psf, warnings);
    if (is_given && image.z > 1) warn_of_shallow(psf, image.z, warnings);
    if (image.z == 1 && psf.taps.shape.z > 1 && psf.made == nullptr)
        warnings.push_back(sentence(
            "the image has one plane, but ", psf.name, " has ", psf.taps.shape.z,
            ": the specimen above and below the plane is estimated as well, unless ",
            OptionName{"edges"},
            " is given, which is right if it is thick; for a thin one use a PSF of one plane"));
    return warnings;
}

std::string negative_samples_warning(index_t samples) {
    return message(samples, " negative samples of the PSF were set to 0");
}

std::optional<Sentence> voxel_warning(const KnownVoxelSize& image, const Shape3& image_shape,
                                      const KnownVoxelSize& psf, const Shape3& psf_shape,
                                      const std::string& psf_name, const VoxelCures& cures) {
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const bool of_image = image[a].has_value();
        if (psf_shape[axis] == 1 || image_shape[axis] == 1 || of_image == psf[a].has_value())
            continue;
        if (of_image)
            return sentence("the image has ", format_voxel_size(image), ", but ", psf_name,
                            " does not say its own and is taken to have the same; ", cures.psf);
        return sentence(psf_name, " has ", format_voxel_size(psf),
                        ", but the image does not say its own and is taken to have the same; ",
                        cures.image);
    }
    return {};
}

}  // namespace convolume
