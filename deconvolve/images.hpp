// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "convolume/deconvolver.hpp"
#include "convolume/execution.hpp"
#include "convolume/volume.hpp"

// Between the caller's images, of any real type, and the loop's float arrays.
namespace convolume::deconvolve {

struct LoadedImage {
    double mean = 0;               ///< of what was loaded and is not marked
    double background = 0;         ///< as asked or estimated
    index_t negative_pixels = 0;   ///< that were set to 0
    index_t saturated_pixels = 0;  ///< that were marked (richardson_lucy::not_compared)
    PhotonScale photons;           ///< as asked or estimated, where photons are drawn
    /// Writes the estimate that was given, `outside` around it; empty where none was.
    std::function<void(float outside)> load_start;
    float start_scale = 1;
};

/// The value that every voxel begins with.
inline float mean_at_start(const LoadedImage& image) {
    return static_cast<float>(std::max({image.mean - image.background, 1e-3 * image.mean, 0.0}));
}

/// Throws BadData where the image is complex, NonfiniteSample where it is not finite.
void check_image(const ConstImageView& image, int threads);
/// Throws BadData where an initial estimate is not finite.
void check_estimate(const ConstImageView& estimate, int threads);

/// The level that most pixels are near to: the mean of those in the shortest interval that holds a
/// quarter of the pixels (of a million of them, evenly spaced, in larger images).
double estimate_background(const ConstImageView& image);

/// Throws BadData where there are none.
double mean_of(double sum, index_t pixels);

/// Calls `write(values, first, count)` for runs of the image's pixels in C order. Sums do not
/// depend on `threads`.
LoadedImage load_image(const ConstImageView& image, bool clip, std::optional<double> saturation,
                       HostMemory memory, int threads,
                       const std::function<void(const float*, index_t, index_t)>& write);

/// Calls `write(values, first, count)` for runs of the object's voxels in C order: those of
/// `start`, which is of the object's shape, or stands in it from `at` on and continues by its
/// nearest voxels.
void load_start(const ConstImageView& start, const Shape3& object, const Index3& at, float outside,
                HostMemory memory,
                const std::function<void(const float*, index_t, index_t)>& write);

/// Fills `result` from the object's voxels from `at` on; `read(values, first, count)` fetches a run
/// of them in C order. Clamped values go into the report.
void store_result(const ImageView& result, const Shape3& object, const Index3& at,
                  HostMemory memory, int threads, ExecutionReport& report,
                  const std::function<void(float*, index_t, index_t)>& read);

}  // namespace convolume::deconvolve
