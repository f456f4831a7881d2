// SPDX-License-Identifier: Apache-2.0
#pragma once
// How subcommands declare options: text that is parsed at once, so that mistakes are found before
// anything is opened.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "convolume/error.hpp"

namespace convolume::cli {

/// An option whose text is turned into `target` by `parse(text)` or, for messages that name the
/// option, `parse(name, text)`. Without the option `target` keeps its value.
template <class T, class Parser>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, T& target, Parser parse,
                        const std::string& choices, const std::string& help) {
    return app
        .add_option_function<std::string>(
            name,
            [&target, name, parse](const std::string& text) {
                if constexpr (std::is_invocable_v<Parser, std::string_view, const std::string&>)
                    target = parse(name, text);
                else
                    target = parse(text);
            },
            help)
        ->type_name(choices);
}

/// `text` as a positive whole number for `option`.
template <class Integer = int>
Integer parse_positive(std::string_view option, const std::string& text) {
    Integer value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 1)
        throw InvalidArgument(
            message(option, " is a whole number from 1, not \"", text, "\"; correct it"));
    return value;
}

/// `text` as a number for `option`.
double parse_number(std::string_view option, const std::string& text);

/// `text` as a seed of random numbers for `option`.
std::uint64_t parse_seed(std::string_view option, const std::string& text);

}  // namespace convolume::cli
