// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regions of an image without data: planes, boxes and margins that registration, cropping and
// rotation fill with one value, and the rims that interpolation mixes with it.

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "deconvolve/missing/plane_bands.hpp"

namespace convolume::deconvolve {

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

}  // namespace convolume::deconvolve
