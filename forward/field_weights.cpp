// SPDX-License-Identifier: Apache-2.0
#include "forward/field_weights.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "convolume/error.hpp"

namespace convolume::forward {

FieldWeights::FieldWeights(const std::vector<FieldPsf>& psfs, const std::string& what)
    : weights_of_(psfs.size()) {
    for (std::size_t a = 0; a < 3; ++a) {
        for (const FieldPsf& one : psfs) {
            if (!std::isfinite(one.at[a]))
                throw InvalidArgument(message("the place of a PSF of ", what, " along ",
                                              axis_name(static_cast<int>(a)), " is ", one.at[a],
                                              ": give a finite number"));
            places_[a].push_back(one.at[a]);
        }
        std::sort(places_[a].begin(), places_[a].end());
        places_[a].erase(std::unique(places_[a].begin(), places_[a].end()), places_[a].end());
    }
    std::set<std::array<std::size_t, 3>> taken;
    for (const FieldPsf& one : psfs) {
        std::array<std::size_t, 3> number{};
        for (std::size_t a = 0; a < 3; ++a)
            number[a] = static_cast<std::size_t>(
                std::lower_bound(places_[a].begin(), places_[a].end(), one.at[a]) -
                places_[a].begin());
        taken.insert(number);
        of_psf_.push_back(number);
    }
    const std::size_t whole = places_[0].size() * places_[1].size() * places_[2].size();
    if (taken.size() != psfs.size() || whole != psfs.size())
        throw InvalidArgument(message("the ", psfs.size(), " PSFs of ", what, " are at ",
                                      places_[0].size(), " different z, ", places_[1].size(),
                                      " different y and ", places_[2].size(),
                                      " different x, which is a grid of ", whole,
                                      " places: give one PSF for each place of a grid"));
}

double FieldWeights::along(int axis, std::size_t k, double position) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::vector<double>& places = places_[a];
    const std::size_t own = of_psf_[k][a];
    const double at = std::clamp(position, places.front(), places.back());
    const double from = places[own];
    if (at < from) return own == 0 ? 0 : std::max(0.0, 1 - (from - at) / (from - places[own - 1]));
    if (at > from)
        return own + 1 == places.size() ? 0
                                        : std::max(0.0, 1 - (at - from) / (places[own + 1] - from));
    return 1;
}

Box3 FieldWeights::support(std::size_t k, const Box3& field) const {
    Box3 box = field;
    for (int axis = 0; axis < 3; ++axis) {
        const std::vector<double>& places = places_[static_cast<std::size_t>(axis)];
        const std::size_t own = of_psf_[k][static_cast<std::size_t>(axis)];
        // A place may be too far away for an index, so it is brought into the field before.
        const auto in_field = [&](double position) {
            return static_cast<index_t>(std::clamp(position, static_cast<double>(field.begin[axis]),
                                                   static_cast<double>(field.end[axis])));
        };
        if (own > 0) box.begin[axis] = in_field(std::floor(places[own - 1]) + 1);
        if (own + 1 < places.size()) box.end[axis] = in_field(std::ceil(places[own + 1]));
    }
    return box;
}

}  // namespace convolume::forward
