// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a phantom's objects are, and what bodies they are made of: functions of the options and the
// object's number alone.

#include <functional>

#include "convolume/phantom.hpp"
#include "optics/phantom_body.hpp"

namespace convolume::optics {

/// Throws InvalidArgument.
void check_phantom(const PhantomOptions& options);

/// As asked, or what suits kind and volume.
index_t object_count(const PhantomOptions& options);

/// The object of that number.
PhantomObject place_object(const PhantomOptions& options, index_t number);

/// Bodies of equal shape; lengths in µm.
struct Bodies {
    Point radius_um;
    double hollow;  ///< of the radius, left out
    double value;
    bool textured;
    std::vector<Point> centers_um;
};
void for_each_bodies(const PhantomOptions& options, index_t number, const PhantomObject& object,
                     const std::function<void(const Bodies&)>& use);

/// Lowest and highest z of the object.
std::array<double, 2> height_um(const PhantomOptions& options, index_t number,
                                const PhantomObject& object);

}  // namespace convolume::optics
