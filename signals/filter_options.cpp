// SPDX-License-Identifier: Apache-2.0
#include "convolume/filter_options.hpp"

#include <charconv>
#include <optional>

#include "signals/option_names.hpp"

namespace convolume {

namespace {

// Returns the integer that is all of `text`, or nothing.
std::optional<index_t> whole_number(std::string_view text) {
    index_t value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) return {};
    return value;
}

}  // namespace

const char* to_string(FilterMethod method) {
    return name_of(method);
}

const char* to_string(PointPost post) {
    return name_of(post);
}

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

FilterMethod parse_filter_method(std::string_view text) {
    if (const auto method = value_named<FilterMethod>(text)) return *method;
    throw InvalidArgument(
        message("'", text, "' is no filter method: use one of ", list_of_names<FilterMethod>()));
}

const char* to_string(SampleStorage storage) {
    return name_of(storage);
}

SampleStorage parse_sample_storage(std::string_view text) {
    if (const auto storage = value_named<SampleStorage>(text)) return *storage;
    throw InvalidArgument(message("'", text, "' is no storage of samples: use one of ",
                                  list_of_names<SampleStorage>()));
}

PointPost parse_point_post(std::string_view text) {
    if (const auto post = value_named<PointPost>(text)) return *post;
    throw InvalidArgument(
        message("'", text, "' is no post-processing: use one of ", list_of_names<PointPost>()));
}

WindowPost parse_window_post(std::string_view text) {
    if (text == "none") return {};
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    if (colon != std::string_view::npos && (name == "decimate" || name == "peak")) {
        const auto length = whole_number(text.substr(colon + 1));
        if (length && *length >= 1)
            return {name == "peak" ? WindowPost::Kind::peak : WindowPost::Kind::decimate, *length};
    }
    throw InvalidArgument(message("'", text,
                                  "' is no window: write none, decimate:W or peak:W with a window "
                                  "of W samples, at least 1"));
}

FilterOrigin parse_filter_origin(std::string_view text) {
    if (const auto kind = value_named<FilterOrigin::Kind>(text)) return {*kind, 0};
    if (const auto index = whole_number(text)) return {FilterOrigin::Kind::explicit_, *index};
    throw InvalidArgument(message(
        "'", text, "' is no filter origin: write center, causal, anticausal or a tap's index"));
}

SampleRange parse_sample_range(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
        const auto begin = whole_number(text.substr(0, colon));
        const auto end = whole_number(text.substr(colon + 1));
        if (begin && end) return {*begin, *end};
    }
    throw InvalidArgument(
        message("'", text, "' is no range: write A:B for samples A to B-1 of the full result"));
}

}  // namespace convolume
