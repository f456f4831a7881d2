// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares the options of subcommands. Their text is parsed at once, so that mistakes are found
// before anything is opened. Options of the library come from its tables (core/option_tables.hpp).

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/text/command_tree.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "core/option_tables.hpp"
#include "core/text.hpp"
#include "deconvolve/option_table.hpp"
#include "deskew/option_table.hpp"
#include "optics/option_table.hpp"
#include "signals/option_table.hpp"

namespace convolume::cli {

/// Adds an option that sets `target` to its value. Without the option `target` keeps its value.
template <class T>
CLI::Option* add_value(CLI::App& app, const std::string& flags, T& target,
                       const std::string& placeholder, const std::string& help) {
    return app.add_option(flags, target, help)->type_name(placeholder);
}

/// Adds an option that calls `take(text)`.
template <class Take>
CLI::Option* add_taken(CLI::App& app, const std::string& flags, Take take,
                       const std::string& placeholder, const std::string& help) {
    return app.add_option_function<std::string>(flags, take, help)->type_name(placeholder);
}

/// Parses a text by `parse(option, text)`, for messages that name the option, or by `parse(text)`.
template <class Parser>
auto parse_by(const Parser& parse, std::string_view option, const std::string& text) {
    if constexpr (std::is_invocable_v<const Parser&, std::string_view, const std::string&>)
        return parse(option, text);
    else
        return parse(text);
}

/// Adds an option that sets `target` to what parse_by() returns.
template <class T, class Parser>
CLI::Option* add_parsed(CLI::App& app, const std::string& flags, T& target, Parser parse,
                        const std::string& placeholder, const std::string& help) {
    return add_taken(
        app, flags,
        [&target, flags, parse](const std::string& text) { target = parse_by(parse, flags, text); },
        placeholder, help);
}

/// Words that an option takes, and the value that each stands for.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

/// Returns a text such as "auto, never or off", with `last` before the last word.
template <class T>
std::string words_in(const Choices<T>& choices, const char* separator, const char* last) {
    std::vector<std::string> words;
    for (const auto& choice : choices) words.push_back(choice.first);
    return joined(words, separator, last);
}

/// Adds an option that takes one of some words.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flags, T& target,
                        const Choices<std::type_identity_t<T>>& choices, const std::string& help) {
    const auto parse = [choices](std::string_view option, const std::string& text) {
        for (const auto& [word, value] : choices)
            if (text == word) return value;
        throw InvalidArgument(message(option, " is ", words_in(choices, ", ", " or "), ", not \"",
                                      text, "\"; choose one of these"));
    };
    return add_parsed(app, flags, target, parse, words_in(choices, "|", "|"), help);
}

/// Parses `text` as a positive whole number for `option`.
template <class Integer = int>
Integer parse_positive(std::string_view option, const std::string& text) {
    const auto value = number_in<Integer>(text);
    if (!value && text.find_first_not_of("0123456789") == std::string::npos && !text.empty())
        throw InvalidArgument(message(option, " is a whole number from 1 to ",
                                      std::numeric_limits<Integer>::max(), ", not \"", text,
                                      "\"; correct it"));
    if (!value || *value < 1)
        throw InvalidArgument(
            message(option, " is a whole number from 1, not \"", text, "\"; correct it"));
    return *value;
}

/// Parses `text` as a number for `option`.
double parse_number(std::string_view option, const std::string& text);
/// The same for numbers above 0.
double parse_above_zero(std::string_view option, const std::string& text);
/// As parse_number() for an option that also takes a word, which the caller has compared; messages
/// name it.
double parse_number_or(std::string_view word, std::string_view option, const std::string& text);

/// Parses `text` as a seed of random numbers for `option`.
std::uint64_t parse_seed(std::string_view option, const std::string& text);

/// Parses `text` as a value of a type without named values, for the option that `option` describes.
template <class Value>
Value parse_plain(const OptionText& option, const std::string& text) {
    if constexpr (Worded<Value>) {
        if (const auto word = value_of_word<Value>(text)) return *word;
        return {false, parse_number_or(list_of_words<Value>(), option.flags, text)};
    } else if constexpr (std::is_same_v<Value, VoxelSize>) {
        const auto lengths = parse_lengths_um(option.flags, text);
        return {lengths[0], lengths[1], lengths[2]};
    } else if constexpr (std::is_same_v<Value, Shape3>) {
        return parse_extents(option.flags, text);
    } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
        return parse_seed(option.flags, text);
    } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
        if (option.notes.quantity == Quantity::bytes)
            return static_cast<Value>(parse_byte_size(text));
        return parse_positive<Value>(option.flags, text);
    } else if constexpr (std::is_same_v<Value, double>) {
        switch (option.notes.quantity) {
            case Quantity::length_um:
                return parse_length_um(option.flags, text);
            case Quantity::wavelength_um:
                return parse_wavelength_um(option.flags, text);
            default:
                return parse_number_or(option.notes.unset_name, option.flags, text);
        }
    } else {
        throw InternalError(message("the option ", option.name, " is not read from text"));
    }
}

/// Parses `text` as a value of `field`, for its option.
template <class Field>
auto parse_option(const Field& field, const std::string& text) -> typename Field::Value {
    using Value = typename Field::Value;
    if (field.parse != nullptr) return field.parse(text);
    if constexpr (detail::is_optional<Value>) {
        if (field.text.is_unset_name(text)) return {};
        return parse_plain<typename Value::value_type>(field.text, text);
    } else {
        return parse_plain<Value>(field.text, text);
    }
}

/// Adds the options of these names in the table of `Struct`, which set members of `target`. The
/// values of the members are shown as defaults.
template <class Struct>
void add_options(CLI::App& app, Struct& target, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        with_option<Struct>(name, [&](const auto& field) {
            add_taken(
                app, field.text.flags,
                [&target, &field](const std::string& text) {
                    field.set(target, parse_option(field, text));
                },
                option_type(field), option_help(field, target));
        });
}

/// Adds the option of one name, parsed by parse_by().
template <class Struct, class Parser>
CLI::Option* add_option_parsed_by(CLI::App& app, Struct& target, std::string_view name,
                                  Parser parse) {
    CLI::Option* option = nullptr;
    with_option<Struct>(name, [&](const auto& field) {
        using Value = typename std::remove_cvref_t<decltype(field)>::Value;
        if constexpr (std::is_invocable_r_v<Value, Parser, std::string_view, std::string> ||
                      std::is_invocable_r_v<Value, Parser, std::string_view>) {
            const auto parse_and_set = [&target, &field, parse](const std::string& text) {
                field.set(target, static_cast<Value>(parse_by(parse, field.text.flags, text)));
            };
            option = add_taken(app, field.text.flags, parse_and_set, option_type(field),
                               option_help(field, target));
        }
    });
    return option;
}

}  // namespace convolume::cli
