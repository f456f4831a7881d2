// SPDX-License-Identifier: Apache-2.0
#include "cli/files/gaussian_kernel.hpp"

#include <cmath>
#include <vector>

#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

namespace {

/// Full width at half maximum of a Gaussian of standard deviation 1: 2 sqrt(2 ln 2).
constexpr double fwhm_of_sigma = 2.3548200450309493;

/// Number of standard deviations from the center to the last sample, as in scipy.ndimage.
constexpr double truncation = 4;

std::array<double, 3> sigma_in_voxels(const GaussianWidth& width, const io::ImageMetadata& image) {
    std::array<double, 3> sigma = width.sigma;
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        if (image.shape[axis] == 1 && width.one_for_all) sigma[a] = 0;
        if (sigma[a] == 0 || width.in_voxels) continue;
        const auto& voxel = image.voxel_size_um[a];
        if (!voxel)
            throw InvalidArgument(
                message("the Gaussian's width is a length, and the image's voxel size along ",
                        axis_name(axis),
                        " is unknown; add --voxel Z,Y,X, or give the width in pixels, without a "
                        "unit"));
        sigma[a] /= *voxel;
    }
    return sigma;
}

/// Returns samples of exp(-x² / 2σ²) around the middle, with sum 1.
std::vector<double> gaussian_samples(double sigma) {
    const auto radius = static_cast<int>(truncation * sigma + 0.5);
    std::vector<double> samples;
    double sum = 0;
    for (int x = -radius; x <= radius; ++x) {
        samples.push_back(sigma > 0 ? std::exp(-0.5 * x * x / (sigma * sigma)) : 1.0);
        sum += samples.back();
    }
    for (double& sample : samples) sample /= sum;
    return samples;
}

}  // namespace

GaussianWidth parse_gaussian_width(std::string_view option, const std::string& text) {
    const bool has_unit = text.find_last_of("0123456789.") + 1 != text.size();
    const bool is_triple = text.find(',') != std::string::npos;
    const std::string typed = is_triple ? text : message(text, ",", text, ",", text);
    GaussianWidth width{{}, !has_unit, !is_triple};
    // A unit is required by the parser of lengths: numbers without one are read as micrometers.
    width.sigma = parse_lengths_um(option, has_unit ? typed : typed + "um");
    for (const double sigma : width.sigma)
        if (!(sigma >= 0) || !(sigma < 1e6))
            throw InvalidArgument(message(option,
                                          " is from 0 to less than 1000000 µm or pixels, not \"",
                                          text, "\"; correct it"));
    return width;
}

void add_gaussian_options(CLI::App& app, std::optional<GaussianWidth>& width) {
    CLI::Option* const sigma =
        add_parsed(app, "--sigma", width, parse_gaussian_width, "WIDTH",
                   "Blur by a Gaussian instead of a kernel file: its standard deviation, e.g. "
                   "200nm, 400,200,200nm, or 2 for pixels");
    const auto parse_fwhm = [](std::string_view option, const std::string& text) {
        GaussianWidth of = parse_gaussian_width(option, text);
        for (double& one : of.sigma) one /= fwhm_of_sigma;
        return of;
    };
    add_parsed(app, "--fwhm", width, parse_fwhm, "WIDTH",
               "The same by the full width at half maximum, which is 2.355 sigma")
        ->excludes(sigma);
}

KernelFile make_gaussian_kernel(const GaussianWidth& width, const io::ImageMetadata& image,
                                index_t most_bytes) {
    const std::array<double, 3> sigma = sigma_in_voxels(width, image);
    std::array<std::vector<double>, 3> samples;
    Shape3 shape;
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        samples[a] = gaussian_samples(sigma[a]);
        shape[axis] = static_cast<index_t>(samples[a].size());
    }
    const index_t bytes = checked_multiply(element_count(shape), sizeof(float));
    if (bytes > most_bytes)
        throw OutOfMemory(sentence("a Gaussian of z,y,x ", to_string(shape), " samples takes ",
                                   format_limit(bytes), ", and the limit is ",
                                   format_bytes(most_bytes), "; raise it to more than that (",
                                   OptionName{"max_host_bytes"}, "), or correct its width"));
    KernelFile kernel;
    kernel.values = Volume(shape, PixelType::float32);
    float* const first = kernel.values.elements<float>();
    parallel_for(shape.z * shape.y, thread_count(0), [&](index_t row, int) {
        const double weight = samples[0][static_cast<std::size_t>(row / shape.y)] *
                              samples[1][static_cast<std::size_t>(row % shape.y)];
        float* sample = first + row * shape.x;
        for (const double x : samples[2]) *sample++ = static_cast<float>(weight * x);
    });
    const auto list = [](const std::array<double, 3>& values) {
        return message(format_number(values[0], 4), ",", format_number(values[1], 4), ",",
                       format_number(values[2], 4));
    };
    kernel.gaussian = message(
        "Gaussian with sigma z,y,x ", list(sigma), " voxels (FWHM ",
        list({sigma[0] * fwhm_of_sigma, sigma[1] * fwhm_of_sigma, sigma[2] * fwhm_of_sigma}), ")");
    kernel.metadata.shape = shape;
    kernel.metadata.type = PixelType::float32;
    kernel.metadata.voxel_size_um = image.voxel_size_um;
    kernel.shape = shape;
    kernel.center = kernel.file_center = kernel.file_peak = {shape.z / 2, shape.y / 2, shape.x / 2};
    return kernel;
}

}  // namespace convolume::cli
