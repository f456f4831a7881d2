#pragma once
// How subcommands declare options: text, parsed on the spot by the library's own parsers.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "convolume/error.hpp"

namespace convolume::cli {

/// An option whose text is turned into `target` by `parse`; `target` keeps its value without it.
template <class T, class Parser>
CLI::Option* add_parsed(CLI::App& app, const std::string& names, T& target, Parser parse,
                        const std::string& choices, const std::string& help) {
    return app
        .add_option_function<std::string>(
            names, [&target, parse](const std::string& text) { target = parse(text); }, help)
        ->type_name(choices);
}

/// `text` as a positive whole number for `option`.
inline int parse_positive(std::string_view option, const std::string& text) {
    std::size_t used = 0;
    int value = 0;
    try {
        value = std::stoi(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || value < 1)
        throw InvalidArgument(
            message(option, " is a whole number from 1, not \"", text, "\"; correct it"));
    return value;
}

}  // namespace convolume::cli
