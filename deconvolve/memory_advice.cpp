// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/memory_advice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/options.hpp"

namespace convolume::deconvolve {

namespace {

/// Returns the limit that format_limit() writes.
index_t written_limit(index_t bytes) {
    return parse_byte_size(format_limit(bytes));
}

}  // namespace

std::optional<std::string> sufficient_host_limit(index_t limit_bytes, const PlanWithin& plan) {
    constexpr index_t unlimited = std::numeric_limits<index_t>::max() / 4;
    // Nearer to the least limit takes more plans, and limits are given in round numbers.
    constexpr double precision = 1.05;
    const std::optional<index_t> fastest = plan(unlimited);
    if (!fastest) return {};
    index_t too_small = std::max<index_t>(limit_bytes, 1);
    index_t enough = written_limit(std::max(*fastest, too_small));
    while (!plan(enough)) {
        too_small = enough;
        enough = written_limit(2 * enough);
    }
    while (static_cast<double>(enough) > precision * static_cast<double>(too_small)) {
        const double middle =
            std::sqrt(static_cast<double>(too_small)) * std::sqrt(static_cast<double>(enough));
        const index_t tried = written_limit(static_cast<index_t>(middle));
        if (tried <= too_small || tried >= enough) break;
        (plan(tried) ? enough : too_small) = tried;
    }
    return format_limit(enough);
}

}  // namespace convolume::deconvolve
