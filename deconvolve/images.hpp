// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "convolume/deconvolver.hpp"
#include "convolume/execution.hpp"
#include "convolume/volume.hpp"

// Conversion between the caller's images, of any real type, and the float arrays of executors.
namespace convolume::deconvolve {

struct LoadedImage {
    double mean = 0;                ///< mean of the pixels that are not marked as saturated
    double background = 0;          ///< background level, given by the caller or estimated
    std::optional<double> darkest;  ///< DeconvolveReport::darkest
    index_t negative_pixels = 0;    ///< number of negative pixels, which were set to 0
    /// Number of pixels marked as saturated (richardson_lucy::not_compared).
    index_t saturated_pixels = 0;
    /// Gain and offset, given by the caller or estimated, for methods that draw photons.
    PhotonScale photons;
    /// Writes the caller's initial estimate, with `outside` around it. Empty if the caller gave
    /// none.
    std::function<void(float outside)> load_start;
    float start_scale = 1;
};

/// Returns the value with which every voxel starts if the caller gave no initial estimate.
inline float mean_at_start(const LoadedImage& image) {
    return static_cast<float>(std::max({image.mean - image.background, 1e-3 * image.mean, 0.0}));
}

/// Throws BadData if the image is complex, NonfiniteSample if it has a value that is not finite.
void check_image(const ConstImageView& image, int threads);
/// Throws BadData if an initial estimate has a value that is not finite.
void check_estimate(const ConstImageView& estimate, int threads);

/// Background of an image, and DeconvolveReport::darkest.
struct ImageBackground {
    double level = 0;
    std::optional<double> darkest{};
};

/// Estimates the background: the mean of the pixels in the shortest interval that holds a quarter
/// of the pixels, or 0 if the darkest region is much darker. Larger images are sampled.
ImageBackground estimate_background(const ConstImageView& image);

/// Compares a background that was given with the darkest region of the image.
ImageBackground check_background(const ConstImageView& image, double background);

/// Returns sum / pixels. Throws BadData if there are no pixels.
double mean_of(double sum, index_t pixels);

/// Converts the image to float, and calls `write(values, first, count)` for ranges of its pixels in
/// C order. `clip` sets negative pixels to 0. Sums do not depend on `threads`.
LoadedImage load_image(const ConstImageView& image, bool clip, std::optional<double> saturation,
                       HostMemory memory, int threads,
                       const std::function<void(const float*, index_t, index_t)>& write);

/// Calls `write(values, first, count)` for ranges of the object's voxels in C order. `start` has
/// the object's shape, or has the image's shape and is placed in the object at `at`, with `outside`
/// around it.
void load_start(const ConstImageView& start, const Shape3& object, const Index3& at, float outside,
                HostMemory memory,
                const std::function<void(const float*, index_t, index_t)>& write);

/// Fills `result` from the object's voxels, beginning at voxel `at`. `read(values, first, count)`
/// gets a range of voxels in C order. The report gets the number of clamped values.
void store_result(const ImageView& result, const Shape3& object, const Index3& at,
                  HostMemory memory, int threads, ExecutionReport& report,
                  const std::function<void(float*, index_t, index_t)>& read);

}  // namespace convolume::deconvolve
