// SPDX-License-Identifier: Apache-2.0
#pragma once
// Medians and other values by their rank.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace convolume {

/// Returns the value that `rank` others precede in ascending order. Reorders `values`.
template <class T>
T value_of_rank(std::vector<T>& values, std::size_t rank) {
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), place, values.end());
    return *place;
}

/// Returns the value that half of the values precede: the upper one of two middle values. Reorders
/// `values`, which must not be empty.
template <class T>
T upper_median(std::vector<T>& values) {
    return value_of_rank(values, values.size() / 2);
}

/// Standard deviation of a normal distribution, in units of its median distance from the median.
inline constexpr double deviation_of_distance = 1.4826;

/// Returns the upper median, and replaces the values by their distances from it.
template <class T>
T take_distances(std::vector<T>& values) {
    const T middle = upper_median(values);
    for (T& value : values) value = std::abs(value - middle);
    return middle;
}

/// Returns the median: the mean of both middle values if their number is even, and 0 without
/// values.
template <class T>
double median(std::vector<T> values) {
    if (values.empty()) return 0;
    const auto upper = static_cast<double>(upper_median(values));
    if (values.size() % 2 == 1) return upper;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    return (static_cast<double>(*std::max_element(values.begin(), middle)) + upper) / 2;
}

}  // namespace convolume
