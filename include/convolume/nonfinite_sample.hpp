// SPDX-License-Identifier: Apache-2.0
#pragma once
// The error for images with NaN or infinities.

#include <string>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// A sample of an image that is NaN or infinite, where such samples are refused. Callers that have
/// passed a part of an image can catch it and throw at(place) with the place in the whole image.
class CONVOLUME_API NonfiniteSample : public BadData {
  public:
    struct Place {
        Index3 index{};       ///< z, y, x
        index_t frame = 0;    ///< from 0
        index_t channel = 0;  ///< from 0
        /// The image has several channels or times: the message names frame and channel.
        bool of_several = false;
    };

    /// `cure` ends the message.
    NonfiniteSample(double value, const Place& place, const std::string& cure);

    const Place& place() const { return place_; }
    /// Returns the error for the same sample, counted otherwise.
    NonfiniteSample at(const Place& place) const { return {value_, place, cure_}; }

  private:
    double value_;
    Place place_;
    std::string cure_;
};

}  // namespace convolume
