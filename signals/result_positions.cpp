// SPDX-License-Identifier: Apache-2.0
#include "signals/result_positions.hpp"

#include <cmath>

namespace convolume {

namespace {

/// Returns the distance of results. Unless it is exact, it is above that of any number which the
/// ratio is rounded from, so that a signal of N samples does not have a result more than N · ratio
/// if that is a whole number.
SamplePosition distance_of(double ratio) {
    double distance = 1 / ratio;
    const double below = std::nextafter(ratio, 0);  // what the ratio may be rounded from
    if (std::fma(distance, ratio, -1) != 0)
        while (std::fma(distance, below, -1) < 0) distance = std::nextafter(distance, HUGE_VAL);
    const double whole = std::floor(distance);
    return {static_cast<index_t>(whole),
            static_cast<std::uint64_t>(std::ceil(std::ldexp(distance - whole, 64)))};
}

/// Returns ⌊a b / 2^64⌋.
std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t low = 0xFFFFFFFF;
    const std::uint64_t middle = (a & low) * (b >> 32) + (((a & low) * (b & low)) >> 32);
    const std::uint64_t other = (a >> 32) * (b & low) + (middle & low);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

}  // namespace

index_t ResultPositions::count_of(index_t samples, double ratio) {
    const SamplePosition distance = distance_of(ratio);
    // Returns the sample at or before result n.
    const auto sample_of = [&](index_t n) {
        return checked_add(
            checked_multiply(n, distance.whole),
            static_cast<index_t>(high_product(static_cast<std::uint64_t>(n), distance.fraction)));
    };
    auto count = static_cast<index_t>(static_cast<double>(samples) * ratio);
    while (count > 0 && sample_of(count - 1) >= samples) --count;
    while (sample_of(count) < samples) ++count;
    return count;
}

void ResultPositions::set_ratio(index_t sample, double ratio) {
    const SamplePosition step = distance_of(ratio);
    if (!steps_.empty()) {
        const SamplePosition& last = steps_.back().distance;
        if (last.whole == step.whole && last.fraction == step.fraction) return;
    }
    // Drops steps that were used, when they are half of all: a stream may be endless.
    if (2 * cursor_.step > steps_.size()) {
        steps_.erase(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(cursor_.step));
        cursor_.step = 0;
    }
    steps_.push_back({sample, step});
}

void ResultPositions::advance(Cursor& cursor) const {
    SamplePosition& position = cursor.position;
    while (cursor.step + 1 < steps_.size() && steps_[cursor.step + 1].first <= position.whole)
        ++cursor.step;
    const SamplePosition& distance = steps_[cursor.step].distance;
    position.whole += distance.whole;
    position.fraction += distance.fraction;
    if (position.fraction < distance.fraction) ++position.whole;
}

index_t ResultPositions::count_before(index_t end) const {
    index_t count = 0;
    for (Cursor cursor = cursor_; cursor.position.whole < end; ++count) advance(cursor);
    return count;
}

void ResultPositions::take(index_t count, SamplePosition* positions) {
    for (index_t n = 0; n < count; ++n) {
        positions[n] = cursor_.position;
        advance(cursor_);
    }
}

}  // namespace convolume
