// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans within a limit of host memory. If it is too small, the error names one that is enough.

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "convolume/error.hpp"

namespace convolume::deconvolve {

/// Plans with a limit of host memory. Returns the bytes that the plan takes; none if nothing fits.
using PlanWithin = std::function<std::optional<index_t>(index_t limit_bytes)>;

inline index_t written_limit(index_t bytes) {
    return parse_byte_size(format_limit(bytes));
}

/// Returns the limit of host memory that lets a deconvolution be planned, as text for an option. It
/// is tried by `plan`, and is at most 6 % above a limit that is too small. Returns none if no limit
/// is enough. `limit_bytes` is too small.
///
/// The need depends on the limit: a larger one admits searches and coarser images, which take
/// memory themselves. The bytes of one plan would therefore not tell it.
inline std::optional<std::string> sufficient_host_limit(index_t limit_bytes,
                                                        const PlanWithin& plan) {
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

/// Returns `make(options)`. If a limit of host memory is too small for it, the error names one that
/// is enough.
template <class Make>
auto make_within_limits(const Shape3& image, const DeconvolveOptions& options, const Make& make)
    -> decltype(make(options)) {
    try {
        return make(options);
    } catch (const OutOfMemory&) {
        const index_t limit = host_limit_bytes(options.max_host_bytes);
        const auto enough =
            sufficient_host_limit(limit, [&](index_t tried) -> std::optional<index_t> {
                DeconvolveOptions other = options;
                other.max_host_bytes = tried;
                try {
                    return make(other)->plan.host_bytes;
                } catch (const OutOfMemory&) {
                    return {};
                }
            });
        if (!enough) throw;  // another limit is too small
        throw OutOfMemory(sentence("no plan for the deconvolution of an image of ",
                                   to_string(image), " fits the memory limits: allow ", *enough,
                                   " of host memory instead of ", format_bytes(limit), " (",
                                   OptionName{"max_host_bytes"}, ")"));
    }
}

}  // namespace convolume::deconvolve
