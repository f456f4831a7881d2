// SPDX-License-Identifier: Apache-2.0
#include "cli/signals/push_times.hpp"

#include <algorithm>
#include <cmath>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

void PushTimes::add(double seconds) {
    ++blocks_;
    longest_ = std::max(longest_, seconds);
    const auto step = static_cast<index_t>(steps_in_octave * std::log2(seconds / shortest));
    const auto most = static_cast<index_t>(counts_.size()) - 1;
    ++counts_[static_cast<std::size_t>(std::clamp<index_t>(step, 0, most))];
}

double PushTimes::quantile(double part) const {
    const auto wanted = static_cast<index_t>(std::ceil(part * static_cast<double>(blocks_)));
    index_t counted = 0;
    for (std::size_t step = 0; step < counts_.size(); ++step)
        if ((counted += counts_[step]) >= wanted)
            return std::min(longest_,
                            shortest * std::exp2(static_cast<double>(step + 1) / steps_in_octave));
    return longest_;
}

void PushTimes::tell(const Facts& facts, index_t samples,
                     const std::optional<double>& rate_hz) const {
    const auto milliseconds = [](double seconds) {
        return format_number(seconds * 1e3, 3) + " ms";
    };
    std::string text = message(blocks_, " of ", samples, " samples");
    if (rate_hz)
        text += message(" (", milliseconds(static_cast<double>(samples) / *rate_hz), " each)");
    facts.console.fact(
        "blocks", message(text, ", of which 99.9 % took at most ", milliseconds(quantile(0.999)),
                          ", the longest ", milliseconds(longest_)));
}

}  // namespace convolume::cli
