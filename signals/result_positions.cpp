// SPDX-License-Identifier: Apache-2.0
#include "signals/result_positions.hpp"

#include <algorithm>
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

/// Returns the sample at or before the position that follows `position` by `count` distances.
index_t sample_after(const SamplePosition& position, const SamplePosition& distance,
                     index_t count) {
    const auto factor = static_cast<std::uint64_t>(count);
    const std::uint64_t fraction = factor * distance.fraction;  // modulo 2^64
    const bool is_carried = fraction + position.fraction < fraction;
    return checked_add(checked_add(position.whole, checked_multiply(count, distance.whole)),
                       static_cast<index_t>(high_product(factor, distance.fraction)) + is_carried);
}

/// Returns the number of positions before sample `end`, from `position` on.
index_t count_from(const SamplePosition& position, const SamplePosition& distance, index_t end) {
    if (position.whole >= end) return 0;
    const double each = static_cast<double>(distance.whole) +
                        std::ldexp(static_cast<double>(distance.fraction), -64);
    auto count = static_cast<index_t>(static_cast<double>(end - position.whole) / each);
    while (count > 0 && sample_after(position, distance, count - 1) >= end) --count;
    while (sample_after(position, distance, count) < end) ++count;
    return count;
}

}  // namespace

index_t ResultPositions::count_of(index_t samples, double ratio) {
    return count_from({}, distance_of(ratio), samples);
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
    Cursor cursor = cursor_;
    for (; cursor.position.whole < end && cursor.step + 1 < steps_.size(); ++count) advance(cursor);
    if (cursor.position.whole >= end) return count;
    return count + count_from(cursor.position, steps_[cursor.step].distance, end);
}

void ResultPositions::take_before(index_t end, index_t most,
                                  std::vector<SamplePosition>& positions) {
    positions.clear();
    for (; most > 0 && cursor_.position.whole < end && cursor_.step + 1 < steps_.size(); --most) {
        positions.push_back(cursor_.position);
        advance(cursor_);
    }
    if (most == 0 || cursor_.position.whole >= end) return;
    // Without steps to come, the loop only adds.
    const SamplePosition distance = steps_[cursor_.step].distance;
    auto [whole, fraction] = cursor_.position;
    const index_t left = std::min(most, count_from(cursor_.position, distance, end));
    positions.resize(positions.size() + static_cast<std::size_t>(left));
    for (auto at = positions.end() - left; at != positions.end(); ++at) {
        *at = {whole, fraction};
        fraction += distance.fraction;
        whole += distance.whole + (fraction < distance.fraction);
    }
    cursor_.position = {whole, fraction};
}

}  // namespace convolume
