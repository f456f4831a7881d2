// SPDX-License-Identifier: Apache-2.0
#pragma once
// These classes find the pixels of an image that are left out, plane by plane. The source of each
// kind has its name.

#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "convolume/missing_pixels.hpp"
#include "deconvolve/missing/plane_bands.hpp"

namespace convolume::deconvolve {

// Regions of an image without data: planes, boxes and margins that registration, cropping and
// rotation fill with one value, and the rims that interpolation mixes with it.

/// Regions without data.
struct NoData {
    struct Value {
        float value;
        index_t grown;  ///< number of pixels around its regions that hold a mixture with data
        /// Largest share of the pixels outside its regions that may have the value, too, and of all
        /// pixels that its regions may hold.
        double most_outside, most_inside;
    };
    std::vector<Value> values;    ///< values whose runs have no data
    std::vector<index_t> planes;  ///< planes without data
    /// Rows and columns without data at the lower and the upper end of y and x.
    std::array<std::array<index_t, 2>, 2> margins{};
};

/// Stands for pixels that are known to have no data.
inline constexpr float known_to_be_missing = std::numeric_limits<float>::lowest();

/// Collects what tells regions without data, plane by plane.
class NoDataSearch {
  public:
    explicit NoDataSearch(const Shape3& shape);

    /// Takes a plane. Several threads may call this at once, for different planes.
    void add(const Plane& plane, index_t z);
    NoData find() const;

  private:
    static constexpr std::size_t border_steps = 4;
    /// Pixels beyond the border of regions of one value.
    struct Borders {
        index_t pixels = 0;  ///< number of the value's pixels in runs
        std::vector<std::array<float, border_steps>> outward;  ///< the nearest pixel first
    };
    struct PlaneFacts {
        std::optional<float> constant;  ///< the value of all pixels, if there is only one
        float most = 0;
        std::map<float, Borders> runs;
        std::vector<float> sample;                 ///< some pixels, in ascending order
        std::array<std::vector<float>, 2> levels;  ///< dark levels of rows, and of columns
    };

    void find_planes(NoData& found) const;
    void find_values(NoData& found) const;
    void find_margins(NoData& found) const;

    Shape3 shape_;
    std::vector<PlaneFacts> planes_;
};

/// Returns, for each pixel of a plane, whether it is in a run of a value or beside one.
std::vector<bool> run_pixels(const Plane& plane, const NoData::Value& value);

// Hot and dead pixels. Light that came through the PSF cannot be confined to one pixel: beside its
// neighbors, a pixel has at most the share that the sharpest place of the PSF has. What is above it
// by more than noise is the camera's.

/// The pixels of a plane, and for each the mean of its neighbors without the brightest of them: one
/// hot pixel does not disturb it. NaN for pixels that are left out or have fewer than two
/// neighbors.
struct Neighborhoods {
    const float* values = nullptr;  ///< those of the plane
    std::vector<float> means;
};

/// Compares each pixel of a plane with its neighbors. `left_out` says which pixels are not used; it
/// may be empty.
void compare_neighbors(const Plane& plane, const std::vector<bool>& left_out,
                       Neighborhoods& pixels);

enum class Outliers { bright, dark };

/// Returns the numbers of pixels that differ from their neighbors by more than noise and the PSF
/// allow. The noise is that of pixels with equally bright neighbors.
std::vector<index_t> outliers_of(const Neighborhoods& pixels, const PsfSharpness& sharpness,
                                 Outliers kind);

/// Pixels of a camera that are hot or dead in all planes.
class CameraPixels {
  public:
    CameraPixels(index_t height, index_t width, const PsfSharpness& sharpness)
        : height_(height),
          width_(width),
          sharpness_(sharpness),
          pixels_(static_cast<std::size_t>(height * width)) {}

    /// Adds planes from plane `first` on. Pixels in `hot` are hot, and those in `left_out` are not
    /// used.
    void add(const ConstImageView& planes, index_t first, const MissingPixels& hot,
             const MissingPixels& left_out, int threads);
    /// Returns their numbers in a plane. There are none unless there are several planes.
    std::vector<index_t> find() const;

  private:
    struct PixelSums {
        double values = 0;
        index_t planes = 0, hot_planes = 0;
    };
    index_t height_, width_;
    PsfSharpness sharpness_;
    std::vector<PixelSums> pixels_;
};

// Pixels at the largest value that their type or camera has.

/// Counts the pixels of the largest value, plane by plane.
class SaturationSearch {
  public:
    /// Takes a plane. Several threads may call this at once.
    void add(const Plane& plane);
    /// Returns the saturated pixels of the planes, which were recorded as `type`, without a
    /// sentence; nothing if they are so few that they may be hot pixels, or make no difference.
    std::optional<SaturatedPixels> find(PixelType type, std::optional<double> camera_maximum) const;

  private:
    std::mutex mutex_;
    float largest_ = -std::numeric_limits<float>::infinity();
    index_t count_ = 0;   ///< number of pixels of the largest value
    index_t pixels_ = 0;  ///< number of all pixels
};

}  // namespace convolume::deconvolve
