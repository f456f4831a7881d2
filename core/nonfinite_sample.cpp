// SPDX-License-Identifier: Apache-2.0
#include "convolume/image_view.hpp"

namespace convolume {

namespace {

std::string text_of(double value, const NonfiniteSample::Place& place, const std::string& cure) {
    const std::string volume = place.of_several ? message("in frame ", place.frame, ", channel ",
                                                          place.channel, " (from 0): ")
                                                : std::string();
    return message(volume, "the image holds ", value, " at z,y,x = ", to_string(place.index, ","),
                   ": ", cure);
}

}  // namespace

NonfiniteSample::NonfiniteSample(double value, const Place& place, const std::string& cure)
    : BadData(text_of(value, place, cure)), value_(value), place_(place), cure_(cure) {}

}  // namespace convolume
