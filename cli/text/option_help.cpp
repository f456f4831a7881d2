// SPDX-License-Identifier: Apache-2.0
#include "cli/text/option_help.hpp"

#include <cmath>

namespace convolume::cli {

double parse_number(std::string_view option, const std::string& text) {
    return parse_number_or("", option, text);
}

double parse_above_zero(std::string_view option, const std::string& text) {
    const double value = parse_number(option, text);
    if (!(value > 0) || std::isinf(value))
        throw InvalidArgument(
            message(option, " is a number above 0, not \"", text, "\"; correct it"));
    return value;
}

double parse_number_or(std::string_view word, std::string_view option, const std::string& text) {
    const auto value = number_in<double>(text);
    if (!value || std::isnan(*value))
        throw InvalidArgument(message(option, " is a number", word.empty() ? "" : " or ", word,
                                      ", not \"", text, "\"; correct it"));
    return *value;
}

std::uint64_t parse_seed(std::string_view option, const std::string& text) {
    const auto value = number_in<std::uint64_t>(text);
    if (!value)
        throw InvalidArgument(message(option, " is a whole number from 0 to 2^64 - 1, not \"", text,
                                      "\"; correct it"));
    return *value;
}

}  // namespace convolume::cli
