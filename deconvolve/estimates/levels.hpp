// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/execution.hpp"
#include "convolume/volume.hpp"

// What is found in the pixels of the caller's image, and the conversion of initial estimates.
namespace convolume::deconvolve {

struct DeconvolutionProblem;

struct LoadedImage {
    double mean = 0;        ///< mean of the pixels that are not marked as saturated
    double background = 0;  ///< background level, given by the caller or estimated
    /// Mean of the pixels' values above the background, weighted by these values.
    double bright_level = 0;
    std::optional<double> darkest;           ///< DeconvolveReport::darkest
    std::optional<double> background_error;  ///< DeconvolveReport::background_error
    bool is_under_haze = false;
    index_t negative_pixels = 0;   ///< number of negative pixels, which were set to 0
    index_t saturated_pixels = 0;  ///< number of pixels marked as saturated or missing
    index_t missing_pixels = 0;    ///< number of pixels marked as missing
    /// Gain and offset, given by the caller or estimated. The offset leaves the model of methods
    /// that count photons, and is at most the background; for other methods it is 0.
    PhotonScale photons;
    /// The same scale, with an offset for methods that do not count photons, too.
    PhotonScale noise;
    bool has_gain = false;               ///< DeconvolveReport::has_gain
    bool is_filtered = false;            ///< DeconvolveReport::is_filtered
    std::optional<double> offset_error;  ///< DeconvolveReport::offset_error
    std::optional<double> roughness;     ///< weight of the roughness that a search found
    /// Writes the caller's initial estimate, with `outside` around it. Empty if the caller gave
    /// none.
    std::function<void(float outside)> load_start;
    float start_scale = 1;
};

/// Returns LoadedImage::bright_level from the sums of `pixels` pixels and of their squares. It is 0
/// if their mean is not above the background.
inline double bright_level_of(double sum, double squares, index_t pixels, double background) {
    const double light = sum - static_cast<double>(pixels) * background;
    const double light_squares = squares - background * (sum + light);  // Σ (y - b)²
    return light > 0 ? light_squares / light : 0;
}

/// Returns the value with which every voxel starts if the caller gave no initial estimate.
inline float mean_at_start(const LoadedImage& image) {
    const double counts = image.mean - image.photons.offset;
    return static_cast<float>(std::max({image.mean - image.background, 1e-3 * counts, 0.0}));
}

/// Throws BadData if an initial estimate has a value that is not finite.
void check_estimate(const ConstImageView& estimate, int threads);

/// Returns the mean of an initial estimate.
double mean_of_estimate(const ConstImageView& estimate, int threads);

/// Background of an image, and DeconvolveReport::darkest.
struct ImageBackground {
    double level = 0;
    std::optional<double> darkest{};
    /// Level of the darkest regions, which is above the camera's offset. Infinite if there is none.
    double darkest_region = std::numeric_limits<double>::infinity();
    bool is_dark = true;            ///< whether the darkest regions have no light from the specimen
    std::optional<double> error{};  ///< standard error of an estimated level
    bool is_rounded = false;        ///< whether all values of regions are integers
};

/// Scale of photons that fits the noise of an image.
struct NoiseFit : PhotonScale {
    double offset_error = 0;  ///< standard error of the offset
    /// Whether noise grows in proportion to what is above the offset, and the offset is above 0
    /// by more than its error explains.
    bool has_offset = false;
    /// Whether a filter, a resampling or a compression has mixed neighbors. The gain is then not
    /// that of photons. The offset remains, since linear filters leave it where noise vanishes.
    bool is_filtered = false;
};

/// Levels between which a background lies.
struct LevelRange {
    double least = 0, most = 0;
};
/// Finds the background under haze, at least at the offset of a scale of photons. The gain is
/// infinite if it is not known.
using FindHazeBackground = std::function<LevelRange(const PhotonScale& photons)>;

/// Sets the background, and the scale of photons: as the problem's options have it, or else as the
/// noise has it. An estimated offset is at most the background and the darkest region. An estimated
/// background is at least the offset, and at most the level of the darkest regions. If the PSF
/// makes haze, `find_under_haze` narrows this range, unless it is empty.
void set_levels(const ImageBackground& background, const std::optional<NoiseFit>& noise,
                const DeconvolutionProblem& problem, const FindHazeBackground& find_under_haze,
                LoadedImage& loaded);

/// A level, and its standard error.
struct Level {
    double value = 0, error = 0;
};

/// Returns the mean of the values in the shortest interval that holds a quarter of them.
Level usual_level(std::vector<double> values);

/// Rows of an image whose regions are compared: strips of some rows in every plane.
struct Strips {
    explicit Strips(const Shape3& image);

    index_t height = 0;
    index_t count = 0;   ///< number of strips in a plane
    index_t stride = 1;  ///< rows from one strip to the next
    ConstImageView view{};
};

/// Estimates the background of an image from pixels that come plane by plane. Images of more than
/// some million pixels are sampled.
class BackgroundEstimate {
  public:
    /// Pixels of at least `saturation` are left out.
    explicit BackgroundEstimate(const Shape3& image, std::optional<double> saturation = {});

    /// Takes planes from plane `z` on. All planes must be given in order. If all are given at once,
    /// they are not copied, and must stay until the background is estimated.
    void add(const ConstImageView& planes, index_t z);
    /// Returns the level of the darkest regions. If it is the usual level of the image within their
    /// errors, returns this one, which has less noise: the mean of the levels in the shortest
    /// interval that holds a quarter of them. A level is the mean of a few pixels of a row: their
    /// most frequent value would be below the mean of Poisson's distribution.
    ImageBackground estimate() const;
    /// Compares a background that was given with the darkest regions of the image.
    ImageBackground check(double given) const;
    /// Returns the bytes that the estimate keeps of an image whose planes do not come all at once.
    static index_t kept_bytes(const Shape3& image, PixelType type);
    ImageBackground find(std::optional<double> given) const {
        return given ? check(*given) : estimate();
    }

  private:
    double mean_of_levels() const;

    Shape3 shape_;
    double saturation_;
    index_t level_width_ = 1;   ///< number of pixels of a row whose mean is a level
    index_t level_stride_ = 1;  ///< distance of the levels' first pixels in C order
    std::vector<double> levels_;
    Strips strips_;
    Volume kept_;  ///< memory of the strips, if planes do not come all at once
};

/// Returns the result of a BackgroundEstimate of a whole image.
ImageBackground find_background(const ConstImageView& image, std::optional<double> given = {},
                                std::optional<double> saturation = {});

/// Returns sum / pixels. Throws BadData if there are no pixels.
double mean_of(double sum, index_t pixels);

/// Calls `write(values, first, count)` for ranges of the object's voxels in C order. `start` has
/// the object's shape, or has the image's shape and is placed in the object at `at`, with `outside`
/// around it.
void load_start(const ConstImageView& start, const Shape3& object, const Index3& at, float outside,
                HostMemory memory,
                const std::function<void(const float*, index_t, index_t)>& write);

}  // namespace convolume::deconvolve
