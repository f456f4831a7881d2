// SPDX-License-Identifier: Apache-2.0
#pragma once
// The light of results, which is that of the image above its background.

#include <optional>

#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Check of the light of results, which is that of the image above its background.
class LightCheck {
  public:
    explicit LightCheck(int threads) : threads_(threads) {}

    /// Takes a part of the image, whose missing pixels are marked.
    void add_image(const ConstImageView& part);
    void add_result(const ConstImageView& part);
    /// Ends a volume, whose image has this background.
    void end_volume(double background);

    /// Returns the least share of its image's light that a result has; nothing before the first
    /// one.
    std::optional<double> least_share() const;

  private:
    int threads_;
    double image_ = 0, result_ = 0;  ///< sums of this volume's pixels
    index_t pixels_ = 0;             ///< number of pixels that are not missing
    std::optional<double> least_share_;
};

}  // namespace convolume::cli
