// SPDX-License-Identifier: Apache-2.0
#include "io/value_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convolume::io {
namespace {

constexpr ValueRange no_values{std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};

template <class T>
void add_row(const T* row, index_t count, index_t stride, T& least, T& most) {
    T low = least;
    T high = most;
    constexpr T largest = std::numeric_limits<T>::max();
    if (stride == 1) {
#pragma omp simd reduction(min : low) reduction(max : high)
        for (index_t x = 0; x < count; ++x) {
            const T value = row[x];
            // Comparisons with NaN are false.
            const bool is_finite = value >= std::numeric_limits<T>::lowest() && value <= largest;
            low = is_finite && value < low ? value : low;
            high = is_finite && value > high ? value : high;
        }
    } else {
        for (index_t x = 0; x < count; ++x) {
            const T value = row[x * stride];
            if (!(value >= std::numeric_limits<T>::lowest() && value <= largest)) continue;
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }
    least = low;
    most = high;
}

template <class T>
ValueRange range_of(const ConstImageView& samples) {
    T least = std::numeric_limits<T>::max();
    T most = std::numeric_limits<T>::lowest();
    for (index_t z = 0; z < samples.shape.z; ++z)
        for (index_t y = 0; y < samples.shape.y; ++y)
            add_row(static_cast<const T*>(samples.at(z, y, 0)), samples.shape.x, samples.strides.x,
                    least, most);
    if (least > most) return no_values;
    return {static_cast<double>(least), static_cast<double>(most)};
}

}  // namespace

ChannelRanges::ChannelRanges(index_t channels)
    : ranges_(static_cast<std::size_t>(channels), no_values) {}

void ChannelRanges::add(index_t channel, const ConstImageView& samples) {
    const ValueRange range = visit_pixel_type(samples.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>)
            return range_of<T>(samples);
        else
            return no_values;
    });
    const std::lock_guard lock(mutex_);
    ValueRange& all = ranges_[static_cast<std::size_t>(channel)];
    all.least = std::min(all.least, range.least);
    all.most = std::max(all.most, range.most);
}

std::vector<ValueRange> ChannelRanges::all() const {
    std::vector<ValueRange> found = ranges_;
    for (ValueRange& range : found)
        if (range.least > range.most) range = {0, 0};
    return found;
}

}  // namespace convolume::io
