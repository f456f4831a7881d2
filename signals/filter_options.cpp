// SPDX-License-Identifier: Apache-2.0
#include "convolume/filter_options.hpp"

#include "core/text.hpp"
#include "signals/option_names.hpp"

namespace convolume {

CONVOLUME_NAMES(FilterMethod, parse_filter_method, parse_named, "filter method")
CONVOLUME_NAMES(PointPost, parse_point_post, parse_named, "post-processing")

std::string to_string(const WindowPost& window) {
    switch (window.kind) {
        case WindowPost::Kind::none:
            return "none";
        case WindowPost::Kind::decimate:
            return message("decimate:", window.length);
        case WindowPost::Kind::peak:
            return message("peak:", window.length);
    }
    throw InternalError("a window outside its enumeration");
}

CONVOLUME_NAMES(SampleStorage, parse_sample_storage, parse_named, "storage of samples")

WindowPost parse_window_post(std::string_view text) {
    if (text == "none") return {};
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    if (colon != std::string_view::npos && (name == "decimate" || name == "peak")) {
        const auto length = number_in<index_t>(text.substr(colon + 1));
        if (length && *length >= 1)
            return {name == "peak" ? WindowPost::Kind::peak : WindowPost::Kind::decimate, *length};
    }
    throw InvalidArgument(message("'", text,
                                  "' is no window: write none, decimate:W or peak:W with a window "
                                  "of W samples, at least 1"));
}

FilterOrigin parse_filter_origin(std::string_view text) {
    if (const auto kind = value_named<FilterOrigin::Kind>(text)) return {*kind, 0};
    if (const auto index = number_in<index_t>(text)) return {FilterOrigin::Kind::explicit_, *index};
    throw InvalidArgument(message(
        "'", text, "' is no filter origin: write center, causal, anticausal or a tap's index"));
}

SampleRange parse_sample_range(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
        const auto begin = number_in<index_t>(text.substr(0, colon));
        const auto end = number_in<index_t>(text.substr(colon + 1));
        if (begin && end) return {*begin, *end};
    }
    throw InvalidArgument(
        message("'", text, "' is no range: write A:B for samples A to B-1 of the full result"));
}

CONVOLUME_NAMES(PeakPosition, parse_peak_position, parse_named, "way to place a peak")

}  // namespace convolume
