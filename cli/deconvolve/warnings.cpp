// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/warnings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "cli/files/kernel_file.hpp"
#include "cli/files/volumes.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "core/kernel_survey.hpp"

namespace convolume::cli {

namespace {

/// Returns the sum of every plane; nothing for complex PSFs.
std::vector<double> light_of_planes(const ConstImageView& psf) {
    std::vector<double> light;
    visit_pixel_type(psf.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            const std::vector<double> rows =
                figures_of_rows<T>(psf, thread_count(0), [&](const T* row) {
                    double sum = 0;
#pragma omp simd reduction(+ : sum)
                    for (index_t x = 0; x < psf.shape.x; ++x)
                        sum += std::max(static_cast<double>(row[x]), 0.0);
                    return sum;
                });
            for (auto row = rows.begin(); row != rows.end(); row += psf.shape.y)
                light.push_back(std::accumulate(row, row + psf.shape.y, 0.0));
        }
    });
    return light;
}

/// Warns of a PSF with too few planes. In widefield every plane of a PSF holds the same light, so a
/// PSF that is shallower than the image has bright outermost planes.
void warn_of_shallow(const KernelFile& psf, const io::ImageMetadata& image,
                     std::vector<std::string>& warnings) {
    constexpr double bright = 0.1;  // share of the brightest plane's light
    const index_t wanted = 2 * image.shape.z - 1;
    if (psf.shape.z >= wanted) return;
    const std::vector<double> light = light_of_planes(psf.values.view());
    if (light.empty()) return;
    const double share =
        std::min(light.front(), light.back()) / *std::max_element(light.begin(), light.end());
    if (!(share > bright)) return;
    warnings.push_back(message("the PSF has ", psf.shape.z, psf.shape.z == 1 ? " plane" : " planes",
                               ", and the outermost hold ",
                               format_number(std::round(100 * share), 3),
                               " % of the light of the brightest: light from farther away will "
                               "stay as haze in an image of ",
                               image.shape.z,
                               " planes; make the PSF with convolume psf --like (of a measured one "
                               "--psf-background may help)"));
}

double sum_of(const ConstImageView& part, int threads) {
    return visit_pixel_type(part.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            const std::vector<double> rows = figures_of_rows<T>(part, threads, [&](const T* row) {
                double sum = 0;
#pragma omp simd reduction(+ : sum)
                for (index_t x = 0; x < part.shape.x; ++x) sum += static_cast<double>(row[x]);
                return sum;
            });
            return std::accumulate(rows.begin(), rows.end(), 0.0);
        } else {
            return 0.0;
        }
    });
}

/// Warns of a PSF whose center is less than half as bright as its peak. The brightest sample of a
/// noisy PSF may be beside the center. Where the user names the center, the shift is meant.
void warn_of_shift(const KernelFile& psf, std::vector<std::string>& warnings) {
    if (psf.options.center.kind != KernelCenter::Kind::middle) return;
    const ConstImageView view = psf.values.view();
    if (element_count(view.shape) == 0) return;
    const Index3& at = psf.center;
    if (sum_of(subview(view, {at, {at.z + 1, at.y + 1, at.x + 1}}), 1) >=
        0.5 * survey_kernel(view, thread_count(0)).most)
        return;
    const std::string text = shift_text(psf, "the PSF", "the result");
    if (!text.empty()) warnings.push_back(text);
}

/// Warns of a computed PSF whose sample lets less light through than the objective collects.
void warn_of_total_reflection(const PsfOptions& psf, std::vector<std::string>& warnings) {
    const double na = psf.objective.na, ns = psf.objective.ns;
    if (!has_layers(psf.model) || na <= ns) return;
    warnings.push_back(message(
        "the sample's index of ", format_number(ns), " is below the NA of ", format_number(na),
        ", which is effectively ", format_number(ns),
        " but for sources within about a wavelength of the glass (total reflection); if the "
        "specimen is in another medium than water, give its index by --ns"));
}

/// Warns if only one of PSF and image has a voxel size: the PSF cannot be resampled then.
void warn_of_unknown_voxel(const KernelFile& psf, const io::ImageMetadata& image,
                           std::vector<std::string>& warnings) {
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const bool of_image = image.voxel_size_um[a].has_value();
        if (psf.metadata.shape[axis] == 1 || image.shape[axis] == 1) continue;
        if (of_image == psf.metadata.voxel_size_um[a].has_value()) continue;
        warnings.push_back(
            of_image ? message("the image has ", format_voxel_size(image.voxel_size_um), ", but ",
                               name_of(psf),
                               " does not say its own and is taken to have the same; save it with "
                               "its voxel size")
                     : message(name_of(psf), " has ", format_voxel_size(psf.metadata.voxel_size_um),
                               ", but the image does not say its own and is taken to have the "
                               "same; give them by --voxel"));
        return;
    }
}

}  // namespace

void LightCheck::add_image(const ConstImageView& part) {
    if (part.type != PixelType::float32) {
        image_ += sum_of(part, threads_);
        pixels_ += element_count(part.shape);
        return;
    }
    const auto sums = figures_of_rows<float>(part, threads_, [&](const float* row) {
        std::pair<double, index_t> sum;
        for (index_t x = 0; x < part.shape.x; ++x) {
            const bool is_used = row[x] < missing_pixel;
            sum.first += is_used ? static_cast<double>(row[x]) : 0;
            sum.second += is_used;
        }
        return sum;
    });
    for (const auto& [sum, pixels] : sums) {
        image_ += sum;
        pixels_ += pixels;
    }
}

void LightCheck::add_result(const ConstImageView& part) {
    result_ += sum_of(part, threads_);
}

void LightCheck::end_volume(double background) {
    const double light = image_ - background * static_cast<double>(pixels_);
    if (light > 0) least_share_ = std::min(least_share_, result_ / light);
    image_ = result_ = 0;
    pixels_ = 0;
}

std::string LightCheck::warning() const {
    constexpr double noticeable = 0.1;
    if (!(least_share_ < 1 - noticeable)) return {};
    return message("the result has only ", format_number(std::round(100 * least_share_), 3),
                   " % of the image's light above the background: the rest is ascribed to the "
                   "specimen beyond the image's edges; brightness at the edges is doubtful");
}

namespace {

/// Returns the share of its light by which a result may be wrong if its background is.
double doubtful_light(const DeconvolveReport& volume) {
    if (!volume.is_under_haze || !volume.background_error || !(volume.light > 0)) return 0;
    return *volume.background_error / volume.light;
}

/// Returns "; its light may be wrong by 12 %; give it by --background if it is known".
std::string doubt_of(const DeconvolveReport& volume) {
    const double share = doubtful_light(volume);
    return message(share > 0 ? message("; the light of the result may be wrong by ",
                                       format_number(std::ceil(100 * share), 3), " %")
                             : std::string(),
                   "; give it by --background if it is known");
}

/// Returns a warning of the volume whose background is the most doubtful for haze.
std::string haze_warning(const std::vector<DeconvolveReport>& volumes) {
    constexpr double noticeable = 0.1;  // share of the light
    const auto most = std::max_element(volumes.begin(), volumes.end(),
                                       [](const DeconvolveReport& a, const DeconvolveReport& b) {
                                           return doubtful_light(a) < doubtful_light(b);
                                       });
    if (most == volumes.end() || doubtful_light(*most) <= noticeable) return {};
    return message(
        "haze lies over the image, so that its background is doubtful: it is taken to be ",
        format_number(most->background), " ± ", format_number(*most->background_error, 2),
        doubt_of(*most));
}

}  // namespace

std::string background_warning(const std::vector<DeconvolveReport>& volumes) {
    const DeconvolveReport* darkest = nullptr;
    for (const DeconvolveReport& volume : volumes)
        if (volume.darkest && (darkest == nullptr || *volume.darkest < *darkest->darkest))
            darkest = &volume;
    if (darkest == nullptr) return haze_warning(volumes);
    const std::string mean = format_number(*darkest->darkest);
    const std::string background = format_number(darkest->background);
    if (darkest->background > *darkest->darkest)
        return message("the background of ", background,
                       " is above the image's darkest region, whose mean is ", mean,
                       ": dim structures vanish; lower --background, or use --background auto");
    return message("the image may have no dark region: its background is between ",
                   format_number(darkest->photons.offset), " and ", mean,
                   ", the mean of the darkest region, and is taken to be ", background,
                   doubt_of(*darkest));
}

std::string filtered_warning(const std::vector<DeconvolveReport>& volumes, bool is_searched) {
    const auto filtered = [](const DeconvolveReport& volume) { return volume.is_filtered; };
    if (std::none_of(volumes.begin(), volumes.end(), filtered)) return {};
    return message(
        "neighboring pixels share their noise: the image was filtered, resampled, denoised or "
        "compressed, and its noise does not tell how many photons it has",
        is_searched ? message("; the usual ", filtered_iterations,
                              " iterations were taken, not those that held-out photons find; "
                              "restore the image as it was recorded, or give --iterations")
                    : std::string("; give --gain, or restore the image as it was recorded"));
}

std::string misfit_warning(const std::vector<DeconvolveReport>& volumes, const KernelFile& psf,
                           bool is_refined) {
    // Half more than noise. Phantoms with their own PSF have less than 1.1.
    constexpr double noticeable = 1.5;
    double most = 0;
    for (const DeconvolveReport& volume : volumes)
        if (volume.searched > 0) most = std::max(most, volume.misfit.value_or(0));
    if (most < noticeable) return {};
    return message("the PSF does not fit the image: what remains is ", format_number(most, 3),
                   " times the noise; ",
                   !psf.made    ? "check voxel sizes and wavelength, or measure the PSF from beads"
                   : is_refined ? "measure the PSF from beads, or use --depth-range if it varies"
                                : "try --refine-psf, which fits NA, index and depth to the image");
}

std::vector<std::string> psf_warnings(const KernelFile& psf, const io::ImageMetadata& image) {
    std::vector<std::string> warnings;
    if (psf.made) warn_of_total_reflection(*psf.made, warnings);
    if (!psf.made) warn_of_shift(psf, warnings);
    if (image.shape.z > 1 && !psf.made && !psf.wrapped.any()) warn_of_shallow(psf, image, warnings);
    if (image.shape.z == 1 && psf.shape.z > 1 && !psf.made)
        warnings.push_back(
            message("the image has one plane, but ", name_of(psf), " has ", psf.shape.z,
                    ": the specimen above and below the plane is estimated as well, unless --edges "
                    "is given, which is right if it is thick; for a thin one use a PSF of one "
                    "plane, as convolume psf --like makes it"));
    warn_of_unknown_voxel(psf, image, warnings);
    return warnings;
}

}  // namespace convolume::cli
