// SPDX-License-Identifier: Apache-2.0
#include "signals/result_positions.hpp"

#include <cmath>

namespace convolume {

void ResultPositions::set_ratio(index_t sample, double ratio) {
    const double distance = 1 / ratio;
    const double whole = std::floor(distance);
    const SamplePosition step{static_cast<index_t>(whole),
                              static_cast<std::uint64_t>(std::ldexp(distance - whole, 64))};
    if (!steps_.empty()) {
        const SamplePosition& last = steps_.back().distance;
        if (last.whole == step.whole && last.fraction == step.fraction) return;
        if (steps_.back().first == sample) steps_.pop_back();
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
