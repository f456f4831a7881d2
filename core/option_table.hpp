// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of options. Each struct of options has a table (core/option_tables.hpp, and files
// option_table.hpp of other folders). The options of commands, --help, JSON and the keywords of
// Python are made from it.

#include <charconv>
#include <concepts>
#include <tuple>
#include <type_traits>

#include "core/option_names.hpp"

namespace convolume {

/// The quantity that a number stands for.
enum class Quantity { number, bytes, length_um, wavelength_um };

/// Rare details of an option; empty if the option does not have them.
struct OptionNotes {
    /// Keyword in Python, if it differs from the name; null: no keyword.
    const char* keyword = "";
    const char* range = "";  ///< allowed values, such as "0 to 1"
    const char* unit = "";   ///< unit, such as "electrons"
    /// Default that --help shows if it is not a value, such as "never".
    const char* if_unset = "";
    const char* remark = "";      ///< text that --help shows after the default
    const char* unset_name = "";  ///< word for no value, such as "auto"
    const char* idle = "";        ///< value that asks for nothing, such as "none" or "0"
    bool hides_default = false;   ///< the option is required, or another option is its default
    Quantity quantity = Quantity::number;
};

/// Names, type and help of an option.
struct OptionText {
    const char* name;  ///< name of the member, and key in JSON
    /// Flags of commands, such as "--operation,--op"; empty: no command has the option.
    const char* flags;
    const char* type;  ///< type shown by --help, such as "N"; empty: the names of the values
    const char* help;  ///< sentence for --help, without a period
    OptionNotes notes = {};

    /// Returns true if a text is the word for no value. An empty text never is.
    bool is_unset_name(std::string_view text) const {
        return !text.empty() && text == notes.unset_name;
    }
    /// Returns true for the text of a value that asks for nothing: no value, "auto", or notes.idle.
    /// Such a value is accepted where the option is not used.
    bool asks_for_nothing(std::string_view value) const {
        return value.empty() || value == "auto" || value == notes.idle;
    }
    std::string_view keyword() const {
        return notes.keyword == nullptr ? "" : *notes.keyword == '\0' ? name : notes.keyword;
    }
};

template <class Struct_, class Value_>
struct OptionField {
    using Struct = Struct_;
    using Value = Value_;

    OptionText text;
    Value (*get)(const Struct&);
    void (*set)(Struct&, Value);
    Value (*parse)(std::string_view) = nullptr;  ///< parser of values that have names
};

namespace detail {

template <class Struct, class Value>
Value member_type(Value Struct::*);
template <class Struct, class Value>
Struct member_owner(Value Struct::*);

template <class Value>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;

}  // namespace detail

/// Describes the option in a member of a struct. Named values are parsed by `parse`.
template <auto member>
constexpr auto option(const char* name, const char* flags, const char* type, const char* help,
                      const OptionNotes& notes = {},
                      decltype(detail::member_type(member)) (*parse)(std::string_view) = nullptr) {
    using Struct = decltype(detail::member_owner(member));
    using Value = decltype(detail::member_type(member));
    return OptionField<Struct, Value>{
        {name, flags, type, help, notes},
        [](const Struct& options) { return options.*member; },
        [](Struct& options, Value value) { options.*member = std::move(value); },
        parse};
}

/// Describes the option in a member of a member. Named values are parsed by `parse`.
template <auto outer, auto member>
constexpr auto nested_option(
    const char* name, const char* flags, const char* type, const char* help,
    const OptionNotes& notes = {},
    decltype(detail::member_type(member)) (*parse)(std::string_view) = nullptr) {
    using Struct = decltype(detail::member_owner(outer));
    using Value = decltype(detail::member_type(member));
    return OptionField<Struct, Value>{
        {name, flags, type, help, notes},
        [](const Struct& options) { return options.*outer.*member; },
        [](Struct& options, Value value) { options.*outer.*member = value; },
        parse};
}

/// The words of an option that is a word or a number. Specializations are arrays of NamedValue of a
/// struct that compares as equal, and that {false, number} makes of a number.
template <class Value>
inline constexpr auto words_of = nullptr;

template <class Value>
concept Worded = requires {
    words_of<Value>.size();
};

template <Worded Value>
std::optional<Value> value_of_word(std::string_view text) {
    for (const NamedValue<Value>& word : words_of<Value>)
        if (text == word.name) return word.value;
    return {};
}

/// Returns the words as in "auto or smooth", or with quotes as in "'auto' or 'smooth'".
template <Worded Value>
std::string list_of_words(const char* quote = "") {
    std::vector<std::string> words;
    for (const NamedValue<Value>& word : words_of<Value>)
        words.push_back(message(quote, word.name, quote));
    return joined(words, " or ", " or ");
}

/// The table of options of a struct. Specializations are tuples of OptionField.
template <class Struct>
inline constexpr auto option_table = nullptr;

/// Calls `use(field)` for every option of a struct.
template <class Struct, class Use>
void for_each_option(const Use& use) {
    std::apply([&](const auto&... field) { (use(field), ...); }, option_table<Struct>);
}

/// Calls `use(field)` for the option named `name`. Throws InternalError if there is none.
template <class Struct, class Use>
void with_option(std::string_view name, const Use& use) {
    bool found = false;
    for_each_option<Struct>([&](const auto& field) {
        if (field.text.name != name) return;
        found = true;
        use(field);
    });
    if (!found) throw InternalError(message("no option is called ", name));
}

// Returns a value as --help shows it; empty if it has no text.

inline std::string option_value_text(bool value) {
    return value ? "true" : "false";
}
template <class Number>
requires std::integral<Number> || std::floating_point<Number> std::string option_value_text(
    Number value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}
inline std::string option_value_text(const std::string& value) {
    return value;
}
inline std::string option_value_text(const VoxelSize& voxel) {
    const bool in_nm = voxel.z_um < 1;
    const double units = in_nm ? 1000 : 1;
    return message(voxel.z_um * units, ",", voxel.y_um * units, ",", voxel.x_um * units,
                   in_nm ? "nm" : "um");
}
inline std::string option_value_text(const Shape3& shape) {
    return to_string(shape, ",");
}
template <Worded Value>
std::string option_value_text(const Value& value) {
    for (const NamedValue<Value>& word : words_of<Value>)
        if (value == word.value) return word.name;
    const auto& [found, number] = value;
    return number ? option_value_text(*number) : "";
}
/// Returns nothing: --help does not show the default.
inline std::string option_value_text(const std::vector<int>&) {
    return "";
}
template <class Value>
requires requires(const Value& value) {
    to_string(value);
}
std::string option_value_text(const Value& value) {
    return to_string(value);
}
template <class Value>
std::string option_value_text(const std::optional<Value>& value) {
    return value ? option_value_text(*value) : "";
}

inline const char* option_unit(const OptionText& option) {
    switch (option.notes.quantity) {
        case Quantity::bytes:
            return "bytes";
        case Quantity::length_um:
        case Quantity::wavelength_um:
            return "µm";
        default:
            return option.notes.unit;
    }
}

/// Returns a text such as "rl|rl-tv|shb" for a list of names.
template <Named Value>
std::string option_choices() {
    return list_of_names<Value>("|", "|");
}

/// Returns the placeholder of a value in help, such as "N".
template <class Field>
std::string option_type(const Field& field) {
    using Value = typename Field::Value;
    if (*field.text.type != '\0') return field.text.type;
    if constexpr (Named<Value>)
        return option_choices<Value>();
    else
        throw InternalError(message("the option ", field.text.name, " has no type"));
}

/// Returns the names of an option's values with their help, such as "Richardson-Lucy (rl, the
/// default), … or least squares (wiener)".
template <Named Value, class Names = decltype(names_of<Value>)>
std::string help_of_names(Value preset, const Names& names = names_of<Value>) {
    std::string text;
    for (const NamedValue<Value>& one : names) {
        if (!text.empty()) text += &one == &names.back() ? ", or " : ", ";
        text += message(one.help, " (", one.name, one.value == preset ? ", the default)" : ")");
    }
    return text;
}

/// Returns the line of --help, with the default in `options`.
template <class Field>
std::string option_help(const Field& field, const typename Field::Struct& options) {
    const OptionText& text = field.text;
    const auto value = field.get(options);
    if constexpr (Named<typename Field::Value>)
        if (*text.help == '\0') return help_of_names(value);
    std::string preset = text.notes.hides_default ? "" : option_value_text(value);
    const bool is_unset =
        preset.empty() || (std::is_integral_v<typename Field::Value> && preset == "0");
    if (is_unset && *text.notes.if_unset != '\0')
        return message(text.help, " (default: ", text.notes.if_unset, ")");
    if (is_unset && *text.notes.unset_name != '\0') preset = text.notes.unset_name;
    if (preset.empty()) return text.help;
    return message(text.help, " (default ", preset, text.notes.remark, ")");
}

}  // namespace convolume
